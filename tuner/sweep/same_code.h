// SameCode: the variants of one problem that only differ in their texts. Their builds are the same
// bytes, and so is everything else that a launch consists of: grid, block, cluster, dynamic shared
// memory, arguments, workspace. One of them is checked and measured, and the others take its result
// over. This happens with parameters that are macros or options of the compiler, and that do not
// change the code: an unroll factor beyond the length of a loop, a limit of registers that is not
// reached. Template arguments are part of a kernel's name, so builds that differ in them are not
// the same bytes.
//
// One thread.

#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "family/variant.h"
#include "sweep/known_results.h"

namespace mgtune {

// A text that two variants of one problem share if their launches are the same apart from the code.
// `slots` are the variant's compile_slots().
std::string launch_values(const Operator& op, const Variant& variant, const Slots& slots);

class SameCode {
 public:
  // `state` has a build and needs measuring. If a variant with the same code has a result, the
  // state comes back with it and needs nothing. If one is on its way to a result, this one is kept
  // until then: nullopt. Otherwise it comes back as it is.
  std::optional<VariantState> take_over(VariantState state);

  // The state has its result. Returns those that were kept for it, with the same result.
  std::vector<VariantState> add_result(const VariantState& state);

  std::size_t kept() const { return kept_; }

 private:
  // What the others take over. A sweep keeps it of every variant, so the build is not part of it.
  struct Measured {
    std::string variant;
    Outcome outcome;
    std::string message;
    std::optional<CheckRecord> check;
    std::optional<MeasurementRecord> measurement;
  };
  struct Group {
    std::optional<Measured> measured;
    std::vector<VariantState> kept;
  };
  static void give(const Measured& measured, VariantState& state);

  std::map<std::string, Group> groups_;  // by the build and the launches
  std::size_t kept_ = 0;                 // in all groups
};

}  // namespace mgtune
