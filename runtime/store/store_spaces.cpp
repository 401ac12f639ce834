// Spaces: how many points of each design a sweep had, and which rules took the others.

#include "store/database.h"
#include "store/row.h"
#include "store/store.h"
#include "store/write.h"

namespace mgtune {
namespace {

// One space with at most one rule; neighbors of the same space are one view.
struct SpaceRow {
  std::int64_t id = 0;
  SpaceView view;
};

SpaceRow read_space(Row& row) {
  SpaceRow read;
  row.read(read.id);
  SpaceView& view = read.view;
  row.read(view.sweep, view.gpu_id, view.op, view.problem, view.space);
  std::optional<PrunedRecord> pruned;
  row.read(pruned);
  if (pruned) view.space.pruned.push_back(*pruned);
  return read;
}

Status insert_space(Database& database, std::int64_t sweep, std::int64_t problem,
                    const SpaceRecord& space) {
  MGTUNE_TRY(TableRow({{"sweep", sweep}, {"problem", problem}})
                 .add(space)
                 .insert(database, "INSERT INTO spaces"));
  const std::int64_t id = database.last_insert_id();
  for (const PrunedRecord& pruned : space.pruned) {
    MGTUNE_TRY(TableRow({{"space", id}}).add(pruned).insert(database, "INSERT INTO pruned"));
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
      read_all(
          *database_, read_space,
          "SELECT x.id, x.sweep, s.gpu, o.name, p.text, " + columns_of<SpaceRecord>("x") + ", " +
              columns_of<PrunedRecord>("r") +
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
