// Merges stores: adds the rows of other stores that this store does not have, with ids of this
// store. Which tables there are, and which columns identify a row, is read from the schema.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "database/database.h"
#include "database/row.h"
#include "store/file/store_check.h"
#include "store/file/store_file.h"
#include "store/store.h"
#include "store/transaction.h"
#include "store/write.h"

namespace mgtune {
namespace {

struct Column {
  std::string name;
  std::string refers_to;  // the table whose ids it holds, or ""
  bool is_identity = false;
};

struct Table {
  std::string name;
  bool has_id = false;
  std::vector<Column> columns;  // besides the id
};

// The UNIQUE columns identify a row. If a table has none, all of its columns do, except the end of
// a sweep, because a sweep may have ended since the last merge.
Result<Table> describe(Database& database, const std::string& name) {
  Table table{name, false, {}};
  const auto read_column = [](Row& row) {
    Column column;
    row.read(column.name, column.refers_to);
    return column;
  };
  MGTUNE_ASSIGN(table.columns,
                read_all(database, read_column,
                         "SELECT c.name, ifnull(k.\"table\", '') FROM pragma_table_info(?1) c"
                         " LEFT JOIN pragma_foreign_key_list(?1) k ON k.\"from\" = c.name"
                         " ORDER BY c.cid",
                         name));
  table.has_id =
      std::erase_if(table.columns, [](const Column& column) { return column.name == "id"; }) > 0;
  MGTUNE_ASSIGN(const std::vector<std::string> unique,
                read_all(database, &Row::text,
                         "SELECT i.name FROM pragma_index_list(?) l, pragma_index_info(l.name) i"
                         " WHERE l.\"unique\" = 1 AND l.origin IN ('u', 'pk')",
                         name));
  for (Column& column : table.columns) {
    column.is_identity = unique.empty() ? column.name != "finished_at"
                                        : std::ranges::find(unique, column.name) != unique.end();
  }
  return table;
}

// All tables, each one after the tables that its rows refer to.
Result<std::vector<Table>> read_tables(Database& database) {
  MGTUNE_ASSIGN(std::vector<std::string> left,
                read_all(database, &Row::text,
                         "SELECT name FROM sqlite_schema WHERE type = 'table'"
                         " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid"));
  std::vector<Table> tables;
  std::set<std::string> done;
  while (!left.empty()) {
    const std::size_t before = left.size();
    for (auto name = left.begin(); name != left.end();) {
      MGTUNE_ASSIGN(Table table, describe(database, *name));
      const bool can_follow = std::ranges::all_of(table.columns, [&](const Column& column) {
        return column.refers_to.empty() || done.contains(column.refers_to);
      });
      if (!can_follow) {
        ++name;
        continue;
      }
      done.insert(*name);
      tables.push_back(std::move(table));
      name = left.erase(name);
    }
    if (left.size() == before) return internal_error("the store's tables refer to each other");
  }
  return tables;
}

// Whether the sweep of this id is a shard. Its command says so.
std::string is_shard(const std::string& sweep) {
  return "(SELECT command LIKE '% --shard%' FROM sweeps WHERE id = " + sweep + ")";
}

// Copies the rows of one source into `to`. It also notes the rows of `tuned` in `to` for which
// shards have different variants.
class Merger {
 public:
  Merger(Database& to, Database& from, MergeCounts& counts, std::set<std::int64_t>& contested)
      : to_(to), from_(from), counts_(counts), contested_(contested) {}

  Status copy(const Table& table) {
    if (table.name == "gpus") return copy_gpus();
    std::string columns;
    for (const Column& column : table.columns) columns += column.name + ", ";
    MGTUNE_ASSIGN(Statement rows, from_.query("SELECT " + columns + "rowid FROM " + table.name +
                                              " ORDER BY rowid"));
    while (true) {
      MGTUNE_ASSIGN(const bool at_row, rows.step());
      if (!at_row) return {};
      MGTUNE_ASSIGN(const std::int64_t id, copy_row(table, rows));
      if (table.has_id) ids_[table.name][rows.integer(int(table.columns.size()))] = id;
    }
  }

 private:
  // The same GPU may have a row here already whose memory differs a little.
  Status copy_gpus() {
    using Gpu = std::pair<std::int64_t, GpuRecord>;
    const auto read_gpu = [](Row& row) {
      Gpu gpu;
      row.read(gpu.first, gpu.second);
      return gpu;
    };
    MGTUNE_ASSIGN(
        const std::vector<Gpu> gpus,
        read_all(from_, read_gpu,
                 "SELECT g.id, " + columns_of<GpuRecord>("g") + " FROM gpus g ORDER BY g.id"));
    for (const auto& [there, gpu] : gpus) {
      MGTUNE_ASSIGN(ids_["gpus"][there], id_of_gpu(to_, gpu));
    }
    return {};
  }

  // The id of the row here: found, or inserted.
  Result<std::int64_t> copy_row(const Table& table, const Statement& source) {
    TableRow row, identity;
    int place = 0;
    for (const Column& column : table.columns) {
      MGTUNE_ASSIGN(const SqlValue value, translated(table, column, source.value(place++)));
      row.add(TableRow({{column.name, value}}));
      if (column.is_identity) identity.add(TableRow({{column.name, value}}));
    }
    MGTUNE_ASSIGN(const std::optional<std::int64_t> known, identity.find(to_, table.name));
    std::int64_t id = known.value_or(0);
    if (known) {
      MGTUNE_TRY(refresh(table, id, row));
    } else {
      MGTUNE_ASSIGN(id, row.insert(to_, "INSERT INTO " + table.name));
      count(table);
    }
    if (table.name == "tuned") {
      MGTUNE_TRY(share_key(to_, std::get<std::int64_t>(row.value("gpu")),
                           std::get<std::int64_t>(row.value("problem"))));
    }
    return id;
  }

  // Translates the id of a row of the source to the id of the same row in `to`.
  Result<SqlValue> translated(const Table& table, const Column& column, SqlValue value) {
    const auto* const id = std::get_if<std::int64_t>(&value);
    if (id == nullptr || column.refers_to.empty()) return value;
    const std::map<std::int64_t, std::int64_t>& ids = ids_[column.refers_to];
    const auto here = ids.find(*id);
    if (here != ids.end()) return SqlValue(here->second);
    return corrupt(from_.path() + ": a row of " + table.name + " refers to no row of " +
                   column.refers_to);
  }

  // Updates a row that both stores have. A sweep that was running at the last merge may have ended.
  // Of two picks, the one of the sweep that began last is kept, a pick of a sweep is kept over an
  // imported one, and of two picks of shards the faster one is kept.
  Status refresh(const Table& table, std::int64_t id, const TableRow& row) {
    if (table.name == "sweeps") {
      MGTUNE_ASSIGN(Statement update, to_.query("UPDATE sweeps SET finished_at = ?"
                                                " WHERE finished_at = '' AND id = ?",
                                                row.value("finished_at"), id));
      return update.run();
    }
    if (table.name != "tuned") return {};
    MGTUNE_TRY(note_contest(id, row));
    const auto read_key = [](Row& found) {
      PickKey key;
      found.read(key.kind, key.size);
      return key;
    };
    MGTUNE_ASSIGN(const std::optional<PickKey> key,
                  read_first(to_, read_key, "SELECT kind, size FROM tuned WHERE id = ?", id));
    MGTUNE_ASSIGN(
        Statement update,
        to_.query("UPDATE tuned SET " + row.list("", " = ?") +
                      " WHERE id = ? AND CASE"
                      " WHEN sweep <> ? AND " +
                      is_shard("sweep") + " AND " + is_shard("?") +
                      " THEN median_ns > ?"
                      " ELSE (SELECT strategy <> ?, started_at FROM sweeps WHERE id = sweep)"
                      " < (SELECT strategy <> ?, started_at FROM sweeps WHERE id = ?) END",
                  row, id, row.value("sweep"), row.value("sweep"), row.value("median_ns"),
                  kImportStrategy, kImportStrategy, row.value("sweep")));
    MGTUNE_TRY(update.run());
    if (to_.changed_rows() > 0) count(table);
    return keep_key(id, key.value_or(PickKey()));
  }

  // A pick of an older file has no key, and may have replaced one that has.
  Status keep_key(std::int64_t id, const PickKey& key) {
    MGTUNE_ASSIGN(Statement update,
                  to_.query("UPDATE tuned SET kind = ?, size = ? WHERE id = ? AND kind = ''",
                            key.kind, key.size, id));
    return update.run();
  }

  Status note_contest(std::int64_t id, const TableRow& row) {
    MGTUNE_ASSIGN(
        Statement other,
        to_.query("SELECT 1 FROM tuned WHERE id = ? AND variant <> ? AND " + is_shard("?"), id,
                  row.value("variant"), row.value("sweep")));
    MGTUNE_ASSIGN(const bool is_contested, other.step());
    if (is_contested) contested_.insert(id);
    return {};
  }

  void count(const Table& table) {
    if (table.name == "sweeps") ++counts_.sweeps;
    if (table.name == "outcomes") ++counts_.outcomes;
    if (table.name == "tuned") ++counts_.picks;
  }

  Database& to_;
  Database& from_;
  MergeCounts& counts_;
  std::set<std::int64_t>& contested_;
  // The ids in `to`, by table and id in the source.
  std::map<std::string, std::map<std::int64_t, std::int64_t>> ids_;
};

// The environment in which results of a GPU were measured, and the file that says so.
struct Environment {
  GpuRecord gpu;
  EnvironmentRecord environment;
  std::string file;
};

// The environments of the sweeps of a file, the newest of each GPU first. Imports are left out,
// because their rows say themselves that they are from elsewhere.
Result<std::vector<Environment>> environments(Database& database) {
  const auto read = [&](Row& row) {
    Environment found{{}, {}, database.path()};
    row.read(found.gpu, found.environment);
    return found;
  };
  return read_all(database, read,
                  "SELECT " + columns_of<GpuRecord>("g") + ", " +
                      columns_of<EnvironmentRecord>("e") +
                      " FROM sweeps s"
                      " JOIN gpus g ON g.id = s.gpu JOIN environments e ON e.id = s.environment"
                      " WHERE s.strategy <> ? ORDER BY s.started_at DESC, s.id DESC",
                  kImportStrategy);
}

Status check_same_environment(const Environment& a, const Environment& b) {
  struct Part {
    const char* name;
    std::string EnvironmentRecord::*member;
  };
  for (const Part& part :
       {Part{"driver", &EnvironmentRecord::driver}, Part{"compiler", &EnvironmentRecord::compiler},
        Part{"mgtune", &EnvironmentRecord::mgtune_version}}) {
    const std::string& value_a = a.environment.*part.member;
    const std::string& value_b = b.environment.*part.member;
    if (value_a == value_b) continue;
    return incompatible(fmt::format(
        "results of {} by different environments are not mixed: {} '{}' in {}, '{}' in {}; merge "
        "those of each into a file of their own",
        a.gpu.model, part.name, value_a, a.file, value_b, b.file));
  }
  return {};
}

// Checks that all files have measured in one environment per GPU. Of the store that is merged into,
// only the newest environment of each GPU counts; its older ones are history.
class EnvironmentCheck {
 public:
  Status begin(Database& to) {
    MGTUNE_ASSIGN(const std::vector<Environment> here, environments(to));
    for (const Environment& found : here) {
      if (find(found.gpu) == known_.end()) known_.push_back(found);
    }
    return {};
  }

  Status add(Database& from) {
    MGTUNE_ASSIGN(const std::vector<Environment> there, environments(from));
    for (const Environment& found : there) {
      const auto same = find(found.gpu);
      if (same == known_.end()) {
        known_.push_back(found);
      } else {
        MGTUNE_TRY(check_same_environment(*same, found));
      }
    }
    return {};
  }

 private:
  std::vector<Environment>::iterator find(const GpuRecord& gpu) {
    return std::ranges::find_if(
        known_, [&](const Environment& other) { return is_same_gpu(other.gpu, gpu); });
  }

  std::vector<Environment> known_;  // one per GPU
};

// How many of these rows of `tuned` no final has decided.
Result<std::int64_t> count_undecided(Database& database, const std::set<std::int64_t>& tuned) {
  std::int64_t count = 0;
  for (const std::int64_t id : tuned) {
    MGTUNE_ASSIGN(Statement decided,
                  database.query("SELECT 1 FROM tuned t JOIN sweeps s ON s.id = t.sweep"
                                 " WHERE t.id = ? AND s.strategy = ?",
                                 id, kFinalsStrategy));
    MGTUNE_ASSIGN(const bool is_decided, decided.step());
    count += is_decided ? 0 : 1;
  }
  return count;
}

}  // namespace

Result<MergeCounts> Store::merge(const std::vector<std::string>& files) {
  const auto open_file = [](const std::string& path) {
    return open_store_file(path, Mode::read_only);
  };
  MGTUNE_ASSIGN(Transaction transaction, Transaction::begin(*database_));
  EnvironmentCheck environment_check;
  MGTUNE_TRY(environment_check.begin(*database_));
  std::multimap<std::string, std::string> by_age;  // paths
  for (const std::string& path : files) {
    MGTUNE_ASSIGN(const std::unique_ptr<Database> source, open_file(path));
    MGTUNE_TRY(check_rows(*source));  // rows that nobody can read would spoil this store
    MGTUNE_TRY(environment_check.add(*source));
    MGTUNE_ASSIGN(const std::string started,
                  source->read_text("SELECT min(started_at) FROM sweeps"));
    by_age.emplace(started, path);
  }

  MergeCounts counts;
  std::set<std::int64_t> contested;
  MGTUNE_ASSIGN(const std::vector<Table> tables, read_tables(*database_));
  for (const auto& [started, path] : by_age) {
    MGTUNE_ASSIGN(const std::unique_ptr<Database> source, open_file(path));
    Merger merger(*database_, *source, counts, contested);
    for (const Table& table : tables) MGTUNE_TRY(merger.copy(table));
  }
  MGTUNE_ASSIGN(counts.undecided, count_undecided(*database_, contested));
  MGTUNE_TRY(transaction.commit());
  return counts;
}

}  // namespace mgtune
