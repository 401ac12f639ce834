// Writes and reads spaces: how many points of each design a sweep could use, and how many points
// each rule excluded.

#include "store/database.h"
#include "store/row.h"
#include "store/store.h"
#include "store/write.h"

namespace mgtune {
namespace {

// A space and one of the rules that exclude points of it.
SpaceView read_space(Row& row) {
  SpaceView view;
  std::optional<PrunedRecord> pruned;
  row.read(view.sweep, view.gpu_id, view.op, view.problem, view.space, pruned);
  if (pruned) view.space.pruned.push_back(*pruned);
  return view;
}

Status insert_space(Database& database, std::int64_t sweep, std::int64_t problem,
                    const SpaceRecord& space) {
  MGTUNE_ASSIGN(const std::int64_t id, TableRow({{"sweep", sweep}, {"problem", problem}})
                                           .add(space)
                                           .insert(database, "INSERT INTO spaces"));
  for (const PrunedRecord& pruned : space.pruned) {
    MGTUNE_TRY(
        TableRow({{"space", id}}).add(pruned).insert(database, "INSERT INTO pruned").status());
  }
  return {};
}

}  // namespace

Status Store::record_spaces(std::int64_t sweep, std::int64_t problem,
                            std::span<const SpaceRecord> spaces) {
  MGTUNE_ASSIGN(Transaction transaction, Transaction::begin(*database_));
  MGTUNE_TRY(TableRow({{"sweep", sweep}, {"problem", problem}}).erase(*database_, "spaces"));
  for (const SpaceRecord& space : spaces) {
    MGTUNE_TRY(insert_space(*database_, sweep, problem, space));
  }
  return transaction.commit();
}

Result<std::vector<SpaceView>> Store::spaces(const std::string& op) {
  return read_groups(
      *database_, read_space, [](SpaceView & view) -> auto& { return view.space.pruned; },
      "SELECT x.id, x.sweep, s.gpu, o.name, p.text, " + columns_of<SpaceRecord>("x") + ", " +
          columns_of<PrunedRecord>("r") +
          " FROM spaces x JOIN sweeps s ON s.id = x.sweep JOIN problems p ON p.id = x.problem"
          " JOIN operators o ON o.id = p.operator LEFT JOIN pruned r ON r.space = x.id"
          " WHERE (?1 = '' OR o.name = ?1) AND x.sweep = (SELECT max(n.sweep) FROM spaces n"
          " JOIN sweeps t ON t.id = n.sweep WHERE n.problem = x.problem AND t.gpu = s.gpu)"
          " ORDER BY o.name, x.problem, s.gpu, x.id, r.rowid",
      op);
}

}  // namespace mgtune
