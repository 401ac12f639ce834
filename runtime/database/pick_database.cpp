#include "database/pick_database.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "database/open_file.h"
#include "database/pick_queries.h"

namespace mgtune {
namespace {

// The tables that are read here, as a list in SQL. All formats from 1 on have them.
constexpr std::string_view kTables =
    "('gpus', 'operators', 'problems', 'variants', 'sweeps', 'outcomes', 'tuned')";
constexpr std::int64_t kTableCount = 7;

// `what` has words from the file. So it is cut off, and gets no control characters to the terminal.
Status strange(const std::string& path, const std::string& what) {
  std::string text = what.substr(0, 80);
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c >= 0x7f; }, '?');
  return corrupt(path + " is not as mgtune makes it: its " + text +
                 " is not mgtune's; remove that to use the file");
}

// Refuses everything but plain tables and indexes. SQLite builds what the SQL of a schema row says,
// whatever the type in the row is, so both are checked. A row without SQL is an index that SQLite
// made by itself.
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

// The row ids of the GPUs that count as this one. All rows of `gpus` are read, because there are
// few.
Result<std::vector<std::int64_t>> same_gpus(Database& database, const GpuRecord& gpu) {
  std::vector<std::int64_t> ids;
  const auto read_gpu = [&](Row& row) {
    const std::int64_t id = row.integer();
    if (is_same_gpu(read_record<GpuRecord>(row), gpu)) ids.push_back(id);
    return id;
  };
  MGTUNE_TRY(read_all(database, read_gpu,
                      "SELECT g.id, " + columns_of<GpuRecord>("g") + " FROM gpus g ORDER BY g.id")
                 .status());
  return ids;
}

// The device and the inode of the file at the path; zeros if there is none.
std::pair<std::uint64_t, std::uint64_t> file_at(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino};
}

// A walk along the index of picks, away from a size.
class Walk {
 public:
  static Result<Walk> begin(Database& database, const PickKey& key, std::int64_t gpu,
                            bool upwards) {
    MGTUNE_ASSIGN(Statement statement,
                  database.query(picks_by_size_sql(upwards), key.kind, gpu, key.size));
    Walk walk(std::move(statement), key.size);
    MGTUNE_TRY(walk.advance());
    return walk;
  }

  bool is_over() const { return !pick_.has_value(); }
  TunedView& pick() { return *pick_; }
  double distance() const {
    return pick_ ? std::abs(pick_->tuned.key.size - from_)
                 : std::numeric_limits<double>::infinity();
  }

  Status advance() {
    pick_.reset();
    MGTUNE_ASSIGN(const bool is_at_row, statement_.step());
    if (!is_at_row) return {};
    Row row(statement_);
    pick_ = read_pick_by_size(row);
    return {};
  }

 private:
  Walk(Statement statement, double from) : statement_(std::move(statement)), from_(from) {}

  Statement statement_;
  double from_;
  std::optional<TunedView> pick_;
};

// Walks away from the size of the key in both directions, the nearer pick first.
Result<std::vector<TunedView>> nearest_picks(Database& database, const PickKey& key,
                                             const GpuRecord& gpu, std::size_t most,
                                             const PickDatabase::Accepts& accepts) {
  MGTUNE_ASSIGN(const std::vector<std::int64_t> gpus, same_gpus(database, gpu));
  std::vector<Walk> walks;
  for (const std::int64_t id : gpus) {
    for (const bool upwards : {true, false}) {
      MGTUNE_ASSIGN(Walk walk, Walk::begin(database, key, id, upwards));
      walks.push_back(std::move(walk));
    }
  }
  std::vector<TunedView> picks;
  for (std::size_t looked = 0; looked < PickDatabase::kMostLooked && picks.size() < most;
       ++looked) {
    const auto nearest = std::ranges::min_element(walks, {}, &Walk::distance);
    if (nearest == walks.end() || nearest->is_over()) break;
    if (accepts(nearest->pick().problem)) picks.push_back(std::move(nearest->pick()));
    MGTUNE_TRY(nearest->advance());
  }
  return picks;
}

Result<std::int64_t> newest_outcome(Database& database) {
  return database.read_integer("SELECT ifnull(max(id), 0) FROM outcomes");
}

}  // namespace

Result<std::unique_ptr<PickDatabase>> PickDatabase::open(const std::string& path) {
  std::unique_ptr<PickDatabase> picks(new PickDatabase(path));
  MGTUNE_TRY(picks->connect());
  MGTUNE_TRY(picks->begin());
  if (picks->connection_.format > 0) MGTUNE_TRY(picks->read_content());
  MGTUNE_TRY(picks->disconnect());
  return picks;
}

Status PickDatabase::connect() {
  const auto file = file_at(path_);
  const bool is_same = file == std::exchange(file_, file);
  if (is_same && connection_.database != nullptr) return {};
  if (!is_same) newest_outcome_ = -1;
  connection_ = {};
  MGTUNE_ASSIGN(connection_.database, open_to_read(path_));
  return {};
}

// Begins a transaction, so that the schema that is checked is the one that is read. The schema
// changes only if somebody edits the file or brings it up to a newer format.
Status PickDatabase::begin() {
  Database& database = *connection_.database;
  MGTUNE_TRY(database.execute("BEGIN"));
  MGTUNE_ASSIGN(const std::int64_t version, database.read_integer("PRAGMA schema_version"));
  if (version != 0 && version == connection_.schema_version) return {};
  MGTUNE_TRY(check_plain(database));
  MGTUNE_ASSIGN(const std::int64_t tables,
                database.read_integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table'"
                                      " AND name IN " +
                                      std::string(kTables)));
  connection_.format = 0;
  if (tables == kTableCount) {
    MGTUNE_ASSIGN(connection_.format, database.read_integer("PRAGMA user_version"));
    MGTUNE_TRY(check_version(path_, connection_.format));
  }
  connection_.schema_version = version;
  return {};
}

Status PickDatabase::disconnect() {
  MGTUNE_TRY(connection_.database->execute("COMMIT"));
  MGTUNE_ASSIGN(const std::string mode, connection_.database->read_text("PRAGMA journal_mode"));
  if (mode == "wal") connection_ = {};
  return {};
}

Status PickDatabase::read_content() {
  Database& database = *connection_.database;
  const std::int64_t format = connection_.format;
  const bool has_keys = format >= kFormatWithKeys;
  MGTUNE_ASSIGN(content_.picks,
                read_all(database, read_pick, picks_sql(has_keys ? "t.kind = ''" : "1", format)));
  if (has_keys) {
    MGTUNE_ASSIGN(content_.keyed,
                  database.read_integer("SELECT count(*) FROM tuned WHERE kind <> ''"));
  }
  MGTUNE_ASSIGN(content_.failures, read_failures(database, "", format));
  MGTUNE_ASSIGN(newest_outcome_, newest_outcome(database));
  return {};
}

Result<std::vector<GpuRecord>> PickDatabase::gpus_with_picks(const std::string& op) {
  Result<std::vector<GpuRecord>> gpus = gpus_with_picks_now(op);
  if (!gpus.ok()) reset();
  return gpus;
}

Result<std::vector<GpuRecord>> PickDatabase::gpus_with_picks_now(const std::string& op) {
  MGTUNE_TRY(connect());
  MGTUNE_TRY(begin());
  std::vector<GpuRecord> gpus;
  if (connection_.format >= kFormatWithKeys) {
    MGTUNE_ASSIGN(
        gpus,
        read_all(*connection_.database, read_record<GpuRecord>,
                 "SELECT " + columns_of<GpuRecord>("g") +
                     " FROM gpus g WHERE EXISTS (SELECT 1 FROM tuned t JOIN problems p ON p.id ="
                     " t.problem JOIN operators o ON o.id = p.operator WHERE t.gpu = g.id AND"
                     " t.kind <> '' AND o.name = ?) ORDER BY g.id",
                 op));
  }
  MGTUNE_TRY(disconnect());
  return gpus;
}

void PickDatabase::reset() {
  connection_ = {};
  newest_outcome_ = -1;
}

Result<PickDatabase::Nearest> PickDatabase::find(const std::string& op, const PickKey& key,
                                                 const GpuRecord& gpu, std::size_t most,
                                                 const Accepts& accepts) {
  const bool was_open = connection_.database != nullptr;
  Result<Nearest> nearest = find_now(key, gpu, most, accepts);
  if (!nearest.ok()) reset();
  // A killed writer may have left something to roll back. Opening the file again does that.
  if (!nearest.ok() && was_open) nearest = find_now(key, gpu, most, accepts);
  if (nearest.status().code() == StatusCode::not_found) return Nearest();
  if (!nearest.ok()) {
    reset();
    return nearest;
  }
  for (TunedView& pick : nearest->picks) {
    pick.op = op;
    pick.gpu = gpu;
  }
  return nearest;
}

Result<PickDatabase::Nearest> PickDatabase::find_now(const PickKey& key, const GpuRecord& gpu,
                                                     std::size_t most, const Accepts& accepts) {
  MGTUNE_TRY(connect());
  MGTUNE_TRY(begin());
  Nearest nearest;
  if (connection_.format >= kFormatWithKeys) {
    Database& database = *connection_.database;
    MGTUNE_ASSIGN(nearest.picks, nearest_picks(database, key, gpu, most, accepts));
    MGTUNE_ASSIGN(const std::int64_t newest, newest_outcome(database));
    if (newest != newest_outcome_) {
      MGTUNE_ASSIGN(nearest.failures, read_failures(database, "", connection_.format));
      newest_outcome_ = newest;
    }
  }
  MGTUNE_TRY(disconnect());
  return nearest;
}

}  // namespace mgtune
