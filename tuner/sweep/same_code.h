// SameCode: the variants of one problem that differ in nothing that a GPU is told. The machine code
// of their builds is the same (worker/machine_code.h), and so is all else that a launch consists
// of: grid, block, cluster, dynamic shared memory, arguments, tensor maps, workspace. One of them
// is checked and measured, and the others take its result over. This happens with parameters that
// do not change the code at this problem: an unroll factor beyond the length of a loop, a limit of
// registers that is not reached, a number of blocks that is larger than the number of rows.
//
// One thread.

#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "family/problem.h"
#include "family/variant.h"
#include "sweep/known_results.h"

namespace mgtune {

// A text that two variants of the problem share if their launches are the same apart from the code.
// `slots` are the variant's compile_slots(). What depends on the loaded build (build.*) is compared
// by the values that go into it, so some launches that are the same have different texts.
std::string launch_values(const Problem& problem, const Variant& variant, const Slots& slots);

// The variant whose result a measurement with this note took over; nullopt if it is its own.
std::optional<std::string> measured_variant(std::string_view note);

// The same of a record with or without a measurement: its own variant if it took nothing over.
std::string measured_variant(const OutcomeRecord& record);

class SameCode {
 public:
  // The machine_code_identity() of a build that the sweep has not read; "" if it cannot be read.
  using ReadCode = std::function<std::string(const BuildRecord&)>;

  explicit SameCode(ReadCode read_code) : read_code_(std::move(read_code)) {}

  // `state` has a build and is measured whatever others have. Those with the same code that come
  // later wait for its result.
  void announce(const VariantState& state);

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
  // A result of an earlier sweep. Its build is read only if another one may have the same code.
  struct Recalled {
    BuildRecord build;
    Measured measured;
  };
  void read_recalled(const VariantState& state);
  static void give(const Measured& measured, VariantState& state);

  ReadCode read_code_;
  std::map<std::string, Group> groups_;                    // by the code and the launches
  std::map<std::string, std::vector<Recalled>> recalled_;  // by the resources and the launches
  std::size_t kept_ = 0;                                   // in all groups
};

}  // namespace mgtune
