// Evidence: what is known of one operator when a variant is chosen: the picks of problems that were
// tuned, the variants that failed, and rules for other problems. Plain data and pure functions.

#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"
#include "family/problem.h"
#include "family/variant.h"
#include "selection/failed_variants.h"
#include "selection/rules.h"
#include "store/views.h"

namespace mgtune {

// A tuned row decoded against its operator.
struct TunedEntry {
  Problem problem;
  Variant variant;
  GpuRecord gpu;
  double median_ns = 0;
  std::string build_sha256 = {};  // of the build that was measured
  bool emulation() const { return gpu.emulation; }
};

struct Evidence {
  Evidence() = default;
  Evidence(
      std::vector<TunedEntry> picks)  // NOLINT(google-explicit-constructor): picks are evidence
      : tuned(std::move(picks)) {}

  std::vector<TunedEntry> tuned;
  FailedVariants failed;
  std::vector<std::shared_ptr<const Rules>> rules;  // at most one of each GPU
};

// The method of picks that `mgengine tune` decided by the times of whole tokens of a model.
inline constexpr std::string_view kTokenMethod = "token";

// The rows of the operator whose problem and variant it offers. Of several picks of one problem,
// one counts: `token`, because it was decided where the kernel runs; `graph` if it takes less than
// 20 us by it, because such short launches overlap in programs; otherwise the first of rotating,
// rotating_events, graph, cold, hot, emulation. Of one method, the pick of the newest sweep counts.
std::vector<TunedEntry> decode_tuned(const Operator& op, const std::vector<TunedView>& rows);

// How much a timing method counts by the order above: the smallest number counts.
std::size_t method_rank(const std::string& method, double fastest_ns);

// invalid_argument, with the row and the value, for the first row of the operator with a value or a
// problem that the operator does not offer. A row with a design or parameter that the operator does
// not have is from another version of the operator. Such a row is not an error; decode_tuned()
// leaves it out.
Status check_offered(const Operator& op, std::span<const TunedView> tuned);

// Whether two bindings or problems of an operator have the same dtypes and flags.
bool same_dtypes_and_flags(const Operator& op, const Slots& a, const Slots& b);

}  // namespace mgtune
