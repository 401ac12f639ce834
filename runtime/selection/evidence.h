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

  // Those that may serve problems of the binding on the GPU, as Picks::usable(); of two picks of
  // one problem only that in `tuned`.
  std::vector<const TunedEntry*> usable_picks(const Binding& binding, const GpuRecord& gpu) const;

  Picks tuned;
  std::shared_ptr<const Picks> more;  // picks that `tuned` does not have; may be null
  FailedVariants failed;
  std::vector<std::shared_ptr<const Rules>> rules;  // at most one of each GPU
};

// The method of picks that `mgengine tune` decided by the times of whole tokens of a model.
inline constexpr std::string_view kTokenMethod = "token";

// A pick of which it is not decided yet whether it is the one of its problem that counts.
struct DecodedPick {
  TunedEntry entry;
  std::size_t method_rank;
  std::int64_t sweep;
};
// The problem of a row. invalid_argument if the operator does not offer it.
Result<Problem> decode_problem(const Operator& op, const std::string& text);

// nullopt if the row is of another operator, or if this one does not offer its problem or its
// variant.
std::optional<DecodedPick> decode_pick(const Operator& op, const TunedView& row);

// Of several picks of one problem on one GPU, one counts: `token`, because it was decided where the
// kernel runs; `graph` if it takes less than 20 us by it, because such short launches overlap in
// programs; otherwise the first of rotating, rotating_events, graph, cold, hot, emulation. Of one
// method, the pick of the newest sweep counts.
std::vector<TunedEntry> counted_picks(std::vector<DecodedPick> picks);

// The picks that count among the rows that decode_pick() decodes.
std::vector<TunedEntry> decode_tuned(const Operator& op, std::span<const TunedView> rows);

// How much a timing method counts by the order above: the smallest number counts.
std::size_t method_rank(const std::string& method, double fastest_ns);

// invalid_argument, with the row and the value, for the first row of the operator with a value or a
// problem that the operator does not offer. A row with a design or parameter that the operator does
// not have is from another version of the operator. Such a row is not an error; decode_tuned()
// leaves it out.
Status check_offered(const Operator& op, std::span<const TunedView> tuned);

}  // namespace mgtune
