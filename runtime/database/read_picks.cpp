#include "database/read_picks.h"

#include <algorithm>
#include <string_view>

#include "database/open_file.h"

namespace mgtune {
namespace {

// What is read here, as a list in SQL. All formats from 1 on have these tables.
constexpr std::string_view kTables =
    "('gpus', 'operators', 'problems', 'variants', 'sweeps', 'outcomes', 'tuned')";
constexpr std::int64_t kTableCount = 7;

// The words are the file's: no control characters for the terminal, and not too long.
Status strange(const std::string& path, const std::string& what) {
  std::string text = what.substr(0, 80);
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c >= 0x7f; }, '?');
  return corrupt(path + " is not as mgtune makes it: its " + text +
                 " is not mgtune's; remove that to use the file");
}

// SQLite makes of a row of the schema what its SQL says, whatever the type in the row is. A row
// without SQL is an index that SQLite made by itself.
Status check_plain(Database& database) {
  MGTUNE_ASSIGN(const std::string other,
                database.read_text("SELECT type || ' ''' || name || '''' FROM sqlite_schema"
                                   " WHERE type NOT IN ('table', 'index') OR rootpage <= 0"
                                   " OR (sql NOT LIKE 'CREATE TABLE %' AND sql NOT LIKE"
                                   " 'CREATE INDEX %' AND sql NOT LIKE 'CREATE UNIQUE INDEX %')"
                                   " LIMIT 1"));
  if (!other.empty()) return strange(database.path(), other);
  MGTUNE_ASSIGN(const std::string computed,
                database.read_text("SELECT 'column ''' || x.name || ''' of ' || s.name"
                                   " FROM sqlite_schema s, pragma_table_xinfo(s.name) x"
                                   " WHERE s.type = 'table' AND x.hidden <> 0 LIMIT 1"));
  return computed.empty() ? Status() : strange(database.path(), computed);
}

}  // namespace

Result<StoredPicks> read_picks(const std::string& path) {
  MGTUNE_ASSIGN(const auto database, open_to_read(path));
  // One state of the file: what was checked is what is read.
  MGTUNE_TRY(database->execute("BEGIN"));
  MGTUNE_TRY(check_plain(*database));
  MGTUNE_ASSIGN(const std::int64_t tables,
                database->read_integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table'"
                                       " AND name IN " +
                                       std::string(kTables)));
  StoredPicks stored;
  if (tables < kTableCount) return stored;
  MGTUNE_ASSIGN(stored.picks, read_all(*database, read_pick, picks_sql("1")));
  MGTUNE_ASSIGN(stored.failures, read_failures(*database));
  return stored;
}

std::string picks_sql(const std::string& where) {
  return "SELECT t.sweep, t.gpu, t.problem, v.text, ifnull(d.text, ''), " +
         columns_of<TunedRecord>("t") + ", o.name, p.text, p.bytes, p.flops, " +
         columns_of<GpuRecord>("g") +
         " FROM tuned t JOIN gpus g ON g.id = t.gpu JOIN problems p ON p.id = t.problem"
         " JOIN operators o ON o.id = p.operator JOIN variants v ON v.id = t.variant"
         " LEFT JOIN variants d ON d.id = t.default_variant WHERE " +
         where + " ORDER BY o.name, t.problem, t.gpu, t.method";
}

TunedView read_pick(Row& row) {
  TunedView view;
  TunedRecord& tuned = view.tuned;
  row.read(tuned.sweep, tuned.gpu, tuned.problem, tuned.variant, tuned.default_variant, tuned,
           view.op, view.problem, view.bytes, view.flops, view.gpu);
  return view;
}

Result<std::vector<FailureView>> read_failures(Database& database, const std::string& op) {
  const auto read_failure = [](Row& row) {
    FailureView view;
    row.read(view.op, view.variant, view.outcome, view.gpu);
    return view;
  };
  // Drivers report different sizes of one GPU's memory, so the newer result may be of another row
  // of `gpus`.
  return read_all(database, read_failure,
                  "SELECT o.name, v.text, r.outcome, " + columns_of<GpuRecord>("g") +
                      " FROM outcomes r JOIN sweeps s ON s.id = r.sweep JOIN gpus g ON g.id = s.gpu"
                      " JOIN variants v ON v.id = r.variant JOIN operators o ON o.id = v.operator"
                      " WHERE r.outcome IN ('wrong', 'crashed', 'timeout', 'launch_failed')"
                      " AND (?1 = '' OR o.name = ?1)"
                      " AND NOT EXISTS (SELECT 1 FROM outcomes n JOIN sweeps t ON t.id = n.sweep"
                      " JOIN gpus h ON h.id = t.gpu WHERE n.problem = r.problem"
                      " AND n.variant = r.variant AND n.id > r.id AND h.model = g.model"
                      " AND h.sm_count = g.sm_count AND h.mig_profile = g.mig_profile)"
                      " ORDER BY r.id",
                  op);
}

}  // namespace mgtune
