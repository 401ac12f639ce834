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
#include "database/pick.h"
#include "family/problem.h"
#include "family/variant.h"
#include "selection/failed_variants.h"
#include "selection/picks.h"
#include "selection/rules.h"

namespace mgtune {

struct Evidence {
  Evidence() = default;
  Evidence(
      std::vector<TunedEntry> picks)  // NOLINT(google-explicit-constructor): picks are evidence
      : tuned(std::move(picks)) {}

  Picks tuned;
  FailedVariants failed;
  std::vector<std::shared_ptr<const Rules>> rules;  // at most one of each GPU
};

// The method of picks that `mgengine tune` decided by the times of whole tokens of a model.
inline constexpr std::string_view kTokenMethod = "token";

// The rows of the operator whose problem and variant it offers. Of several picks of one problem,
// one counts: `token`, because it was decided where the kernel runs; `graph` if it takes less than
// 20 us by it, because such short launches overlap in programs; otherwise the first of rotating,
// rotating_events, graph, cold, hot, emulation. Of one method, the pick of the newest sweep counts.
std::vector<TunedEntry> decode_tuned(const Operator& op, std::span<const TunedView> rows);

// How much a timing method counts by the order above: the smallest number counts.
std::size_t method_rank(const std::string& method, double fastest_ns);

// invalid_argument, with the row and the value, for the first row of the operator with a value or a
// problem that the operator does not offer. A row with a design or parameter that the operator does
// not have is from another version of the operator. Such a row is not an error; decode_tuned()
// leaves it out.
Status check_offered(const Operator& op, std::span<const TunedView> tuned);

}  // namespace mgtune
