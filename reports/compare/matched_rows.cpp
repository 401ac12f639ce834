#include "compare/matched_rows.h"

#include <algorithm>
#include <map>

#include "compare/comparison.h"

namespace mgtune {
namespace {

using NameIndex = std::map<RowName, const MeasuredRow*>;

NameIndex index_by_name(const MeasuredTable& table) {
  NameIndex index;
  for (const MeasuredRow& row : table.rows) index.try_emplace(row.name, &row);
  return index;
}

const MeasuredRow* find_row(const NameIndex& index, const RowName& name) {
  const auto found = index.find(name);
  return found != index.end() ? found->second : nullptr;
}

// The problem, GPU and method of a row. A benchmark is a place of its own.
RowName place_of(RowName name) {
  if (!name.op.empty()) name.variant.clear();
  return name;
}

NameIndex picks_by_place(const MeasuredTable& table) {
  NameIndex picks;
  for (const MeasuredRow& row : table.rows) {
    if (row.is_pick) picks.try_emplace(place_of(row.name), &row);
  }
  return picks;
}

bool has_failed(const MeasuredTable& table, const RowName& name) {
  return std::ranges::any_of(table.untimed, [&](const UntimedRow& row) {
    return row.name.op == name.op && row.name.problem == name.problem &&
           row.name.variant == name.variant && row.name.device == name.device &&
           is_failure_reason(row.reason);
  });
}

}  // namespace

MatchedRows match_variants(const MeasuredTable& a, const MeasuredTable& b) {
  const NameIndex rows_a = index_by_name(a), rows_b = index_by_name(b);
  MatchedRows matched;
  for (const MeasuredRow& row : a.rows) {
    if (rows_a.at(row.name) != &row) continue;
    if (const MeasuredRow* const other = find_row(rows_b, row.name)) {
      matched.pairs.emplace_back(&row, other);
    } else {
      matched.rest_a.push_back(&row);
    }
  }
  for (const MeasuredRow& row : b.rows) {
    if (rows_b.at(row.name) == &row && !rows_a.contains(row.name)) matched.rest_b.push_back(&row);
  }
  return matched;
}

MatchedRows match_picks(const MeasuredTable& a, const MeasuredTable& b) {
  const NameIndex rows_b = index_by_name(b);
  const NameIndex picks_a = picks_by_place(a), picks_b = picks_by_place(b);
  MatchedRows matched;
  for (const auto& [place, pick] : picks_a) {
    const MeasuredRow* const again = find_row(rows_b, pick->name);
    const MeasuredRow* const other = find_row(picks_b, place);
    if (again != nullptr) matched.pairs.emplace_back(pick, again);
    if (other != nullptr && other != again) matched.pairs.emplace_back(pick, other);
    const bool is_lost = again == nullptr && (other == nullptr || has_failed(b, pick->name));
    if (is_lost) matched.rest_a.push_back(pick);
  }
  for (const auto& [place, pick] : picks_b) {
    if (!picks_a.contains(place)) matched.rest_b.push_back(pick);
  }
  return matched;
}

}  // namespace mgtune
