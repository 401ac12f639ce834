// Selection: which variants to try for a problem, best first. It is a look-up, in this order:
//
//   1. the pick of this very problem on this GPU;
//   2. the pick of a problem of this GPU that is near enough in every dim (is_near());
//   3. the rules of this GPU (selection/rules.h);
//   4. the rules of the most similar GPU, with the figures of this one;
//   5. the default ladder.
//
// Only picks with the same dtypes, flags and static dims count, and emulated picks count on the cpu
// device alone. A variant that failed on this GPU at any problem is passed over. Pure functions.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "family/problem.h"
#include "family/variant.h"
#include "selection/evidence.h"
#include "selection/gpu_similarity.h"

namespace mgtune {

enum class SelectionStep : std::uint8_t {
  exact,
  near_problem,
  rules,
  rules_of_other_gpu,
  default_ladder,
  named  // the caller of mgr_plan named the variant
};
std::string_view to_string(SelectionStep step);  // "exact problem", "near problem", "rules", ...

struct SelectedVariant {
  Variant variant;
  SelectionStep step;
  std::string reason;  // "tuned for rows=4096 hidden=4096 T=bf16 on NVIDIA H200"
  // The time of a pick on the problem that `reason` names. 0: unknown.
  double expected_ns = 0;
};

// Every admissible candidate for `problem`, best first, each variant once, the whole ladder last.
// Empty only if no design of the operator runs on the device, or all variants that run there have
// failed on it.
std::vector<SelectedVariant> select_variants(const Problem& problem, const DeviceInfo& device,
                                             const Evidence& evidence);

// The bound of step 2: a dim may be this many times as large as that of the tuned problem, or this
// many times smaller. So problems that were tuned for each power of two cover all dims in between.
// Dims with a default, such as strides, do not count.
inline constexpr double kNearFactor = 1.5;
bool is_near(const Operator& op, const Slots& tuned, const Slots& problem);
bool is_near_extent(std::int64_t tuned, std::int64_t dim);  // of one dim

// Sum over dynamic and hint dims of |log2 a - log2 b|.
double dims_distance(const Operator& op, const Slots& a, const Slots& b);

// The rules of steps 3 and 4. Only rules for problems like the binding's (is_alike()) count: those
// of this GPU, otherwise those of the most similar one. Null if there are none.
std::shared_ptr<const Rules> rules_for(const Binding& binding, const DeviceInfo& device,
                                       const Evidence& evidence);

// The bandwidth that the conditions of `rules` read on the device: the one of the device's product,
// or, if the product is unknown, the one of the GPU of the rules.
std::int64_t bandwidth_for(const DeviceInfo& device, const Rules& rules);

// The places of the variants in the leaf's ranking that count on this device, best first: of those
// that can serve one of the problems. If the rules were made on a GPU of another generation, a
// place counts only if it would on a GPU of that generation with the figures of this one. So a
// variant that comes later because the first ones need that generation does not take their place:
// nobody compared it with the ladder. The ladder serves the problem instead.
std::vector<std::size_t> usable_ranking(const Rules& rules, const RuleNode& leaf,
                                        std::span<const Problem> problems,
                                        const DeviceInfo& device);

// Lines for explain and mgr_explain about a variant that rules chose or left to the ladder: the way
// through the tree, why the ladder serves the problem if it does, the loss to expect and how it was
// validated. If the ladder serves it and the rules are those of another GPU, the loss is not known.
std::vector<std::string> rules_lines(const Rules& rules, const Problem& problem,
                                     const DeviceInfo& device);

// What would improve the choice of this step: "sweep this problem: ...". "" if nothing would.
std::string improvement_text(SelectionStep step, const Problem& problem, const Rules* rules,
                             const DeviceInfo& device);

// Whether the rules, which must be those of rules_for(), leave the choice at this problem to the
// default ladder: the rule says so, or none of its variants can serve the problem on this device.
bool leave_it_to_the_ladder(const Rules& rules, const Problem& problem, const DeviceInfo& device);

// "tuned for rows=4096 hidden=4096 T=bf16 on NVIDIA H200"
std::string describe(const TunedEntry& entry);
// "rules of NVIDIA H200, fitted to 96 problems"
std::string describe(const Rules& rules);

}  // namespace mgtune
