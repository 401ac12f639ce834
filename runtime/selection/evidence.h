// Evidence: what is known about one operator when a variant is chosen: the picks of problems that
// were tuned, the variants that failed, and rules for other problems. Plain data and pure
// functions.

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

  // The picks that may serve problems of the binding on the GPU, as in Picks::usable(). If both
  // `tuned` and `more` have a pick of a problem, only the one in `tuned` counts.
  std::vector<const TunedEntry*> usable_picks(const Binding& binding, const GpuRecord& gpu) const;

  Picks tuned;
  std::shared_ptr<const Picks> more;  // picks that `tuned` does not have; may be null
  FailedVariants failed;
  std::vector<std::shared_ptr<const Rules>> rules;  // at most one per GPU
};

// Whether the environment sets MGTUNE_STRICT, to anything but 0. Then rules of other GPUs do
// not count, and a tuned variant runs only with the build that was measured.
bool is_strict();

// The method of picks that `mgengine tune` decided by the times of whole tokens of a model.
inline constexpr std::string_view kTokenMethod = "token";

// A pick, before counted_picks() decides which of the picks of its problem counts.
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

// If there are several picks of one problem on one GPU, only one counts. The method decides:
// `token` comes first, because it was decided where the kernel runs; then `graph` if its time is
// below 20 us, because such short launches overlap in programs; then the first of rotating,
// rotating_events, graph, cold, hot, emulation. Of several picks by this method, the pick of the
// newest sweep counts.
std::vector<TunedEntry> counted_picks(std::vector<DecodedPick> picks);

// The picks that count among the rows that decode_pick() decodes.
std::vector<TunedEntry> decode_tuned(const Operator& op, std::span<const TunedView> rows);

// The place of a timing method in the order above: the pick with the smallest number counts.
std::size_t method_rank(const std::string& method, double fastest_ns);

// invalid_argument, with the row and the value, for the first row of the operator with a value or a
// problem that the operator does not offer. A row with a design or parameter that the operator does
// not have is from another version of the operator. Such a row is not an error; decode_tuned()
// leaves it out.
Status check_offered(const Operator& op, std::span<const TunedView> tuned);

}  // namespace mgtune
