// SameCode: finds variants of one problem that are the same for the GPU. The machine code of their
// builds is the same (worker/machine_code.h), and so is everything else in a launch: grid, block,
// cluster, dynamic shared memory, arguments, tensor maps, workspace. One of them is checked and
// measured, and the others take over its result. This happens if parameters do not change the code
// at this problem: an unroll factor larger than the length of a loop, a register limit that is not
// reached, a number of blocks that is larger than the number of rows.
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
// `slots` are the variant's compile_slots(). For an expression that depends on the loaded build
// (build.*), the text has the values that go into the expression, so some launches that are the
// same have different texts.
std::string launch_values(const Problem& problem, const Variant& variant, const Slots& slots);

// The variant whose result a measurement with this note took over; nullopt if it is its own.
std::optional<std::string> measured_variant(std::string_view note);

// The same for a record, which may have no measurement. If the record took nothing over, this is
// its own variant.
std::string measured_variant(const OutcomeRecord& record);

class SameCode {
 public:
  // Reads the machine_code_identity() of a build from an earlier sweep; "" if it cannot be read.
  using ReadCode = std::function<std::string(const BuildRecord&)>;

  explicit SameCode(ReadCode read_code) : read_code_(std::move(read_code)) {}

  // `state` has a build and will be measured in any case. Variants with the same code that come
  // later wait for its result.
  void announce(const VariantState& state);

  // `state` has a build and needs measuring. If a variant with the same code has a result, the
  // state is returned with this result and needs nothing. If such a variant is still waiting for
  // its result, the state is kept here until then, and nullopt is returned. Otherwise the state is
  // returned as it is.
  std::optional<VariantState> take_over(VariantState state);

  // `state` has its result. Returns the states that were kept for it, with the same result.
  std::vector<VariantState> add_result(const VariantState& state);

  std::size_t kept() const { return kept_; }

 private:
  // The result that other variants take over. A sweep keeps one for every variant, so it does not
  // include the build.
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
  // A result of an earlier sweep. Its build is read only if another variant may have the same code.
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
