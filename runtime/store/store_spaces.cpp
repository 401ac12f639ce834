// Spaces: how many points of each design a sweep had, and which rules took the others.

#include "store/database.h"
#include "store/row.h"
#include "store/store.h"

namespace mgtune {
namespace {

// One space with at most one rule; neighbors of the same space are one view.
struct SpaceRow {
  std::int64_t id = 0;
  SpaceView view;
};

SpaceRow read_space(Row& row) {
  SpaceRow read;
  read.id = row.integer();
  SpaceView& view = read.view;
  view.sweep = row.integer();
  view.gpu_id = row.integer();
  view.op = row.text();
  view.problem = row.text();
  view.space.design = row.text();
  view.space.points = row.integer();
  view.space.admissible = row.integer();
  view.space.counted = row.integer() != 0;
  view.space.unavailable = row.text();
  if (row.is_null()) return read;
  PrunedRecord& pruned = view.space.pruned.emplace_back();
  pruned.rule = row.text();
  pruned.points = row.integer();
  return read;
}

Status insert_space(Database& database, std::int64_t sweep, std::int64_t problem,
                    const SpaceRecord& space) {
  MGTUNE_ASSIGN(Statement insert,
                database.query("INSERT INTO spaces (sweep, problem, design, points, admissible,"
                               " counted, unavailable) VALUES (?, ?, ?, ?, ?, ?, ?)",
                               sweep, problem, space.design, space.points, space.admissible,
                               std::int64_t{space.counted}, space.unavailable));
  MGTUNE_TRY(insert.run());
  const std::int64_t id = database.last_insert_id();
  for (const PrunedRecord& pruned : space.pruned) {
    MGTUNE_ASSIGN(Statement rule,
                  database.query("INSERT INTO pruned (space, rule, points) VALUES (?, ?, ?)", id,
                                 pruned.rule, pruned.points));
    MGTUNE_TRY(rule.run());
  }
  return {};
}

}  // namespace

Status Store::record_spaces(std::int64_t sweep, std::int64_t problem,
                            std::span<const SpaceRecord> spaces) {
  MGTUNE_ASSIGN(Transaction transaction, Transaction::begin(*database_));
  MGTUNE_ASSIGN(
      Statement remove,
      database_->query("DELETE FROM spaces WHERE sweep = ? AND problem = ?", sweep, problem));
  MGTUNE_TRY(remove.run());
  for (const SpaceRecord& space : spaces) {
    MGTUNE_TRY(insert_space(*database_, sweep, problem, space));
  }
  return transaction.commit();
}

Result<std::vector<SpaceView>> Store::spaces(const std::string& op) {
  MGTUNE_ASSIGN(
      std::vector<SpaceRow> rows,
      read_all(*database_, read_space,
               "SELECT x.id, x.sweep, s.gpu, o.name, p.text, x.design, x.points, x.admissible,"
               " x.counted, x.unavailable, r.rule, r.points"
               " FROM spaces x JOIN sweeps s ON s.id = x.sweep JOIN problems p ON p.id = x.problem"
               " JOIN operators o ON o.id = p.operator LEFT JOIN pruned r ON r.space = x.id"
               " WHERE (?1 = '' OR o.name = ?1) AND x.sweep = (SELECT max(n.sweep) FROM spaces n"
               " JOIN sweeps t ON t.id = n.sweep WHERE n.problem = x.problem AND t.gpu = s.gpu)"
               " ORDER BY o.name, x.problem, s.gpu, x.id, r.rowid",
               op));
  std::vector<SpaceView> views;
  std::int64_t last = 0;
  for (SpaceRow& row : rows) {
    if (row.id != last) {
      views.push_back(std::move(row.view));
    } else {
      views.back().space.pruned.push_back(std::move(row.view.space.pruned.front()));
    }
    last = row.id;
  }
  return views;
}

}  // namespace mgtune
