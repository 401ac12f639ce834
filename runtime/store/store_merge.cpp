// Merging stores: the rows of others that this one has not, with the ids of this one. What the
// tables are, and by which columns a row is known, is asked of the schema itself.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/database.h"
#include "store/row.h"
#include "store/store.h"
#include "store/write.h"

namespace mgtune {
namespace {

struct Column {
  std::string name, type;
  std::string refers_to;  // the table whose ids it holds, or ""
  bool is_identity = false;
};

struct Table {
  std::string name;
  bool has_id = false;
  std::vector<Column> columns;  // besides the id
};

std::string read_text(Row& row) { return row.text(); }

// A row is known by its UNIQUE columns; where there are none, by all. A sweep's end comes after its
// start, so it is no part of what a sweep is known by.
Result<Table> describe(Database& database, const std::string& name) {
  Table table{name, false, {}};
  const auto read_column = [](Row& row) {
    Column column;
    row.read(column.name, column.type, column.refers_to);
    return column;
  };
  MGTUNE_ASSIGN(
      table.columns,
      read_all(database, read_column,
               "SELECT c.name, c.type, ifnull(k.\"table\", '') FROM pragma_table_info(?1) c"
               " LEFT JOIN pragma_foreign_key_list(?1) k ON k.\"from\" = c.name"
               " ORDER BY c.cid",
               name));
  table.has_id =
      std::erase_if(table.columns, [](const Column& column) { return column.name == "id"; }) > 0;
  MGTUNE_ASSIGN(const std::vector<std::string> unique,
                read_all(database, read_text,
                         "SELECT i.name FROM pragma_index_list(?) l, pragma_index_info(l.name) i"
                         " WHERE l.\"unique\" = 1 AND l.origin IN ('u', 'pk')",
                         name));
  for (Column& column : table.columns) {
    column.is_identity = unique.empty() ? column.name != "finished_at"
                                        : std::ranges::find(unique, column.name) != unique.end();
  }
  return table;
}

// Every table of results after those that its rows refer to.
Result<std::vector<Table>> read_tables(Database& database) {
  MGTUNE_ASSIGN(std::vector<std::string> left,
                read_all(database, read_text,
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

SqlValue read_value(const Statement& row, int at, const Column& column) {
  if (row.is_null(at)) return {};
  if (column.type == "INTEGER") return row.integer(at);
  if (column.type == "REAL") return row.real(at);
  return row.text(at);
}

// Copies the rows of one source into `to`.
class Merger {
 public:
  Merger(Database& to, Database& from, MergeCounts& counts)
      : to_(to), from_(from), counts_(counts) {}

  Status copy(const Table& table) {
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
  // The id of the row here: found, or inserted.
  Result<std::int64_t> copy_row(const Table& table, const Statement& source) {
    TableRow row, identity;
    int place = 0;
    for (const Column& column : table.columns) {
      MGTUNE_ASSIGN(const SqlValue value,
                    translated(table, column, read_value(source, place++, column)));
      row.add(TableRow({{column.name, value}}));
      if (column.is_identity) identity.add(TableRow({{column.name, value}}));
    }
    MGTUNE_ASSIGN(const std::optional<std::int64_t> known, identity.find(to_, table.name));
    if (known) {
      MGTUNE_TRY(refresh(table, *known, row));
      return *known;
    }
    MGTUNE_TRY(row.insert(to_, "INSERT INTO " + table.name));
    count(table);
    return to_.last_insert_id();
  }

  // An id of a row there becomes the id of the same row here.
  Result<SqlValue> translated(const Table& table, const Column& column, SqlValue value) {
    const auto* const id = std::get_if<std::int64_t>(&value);
    if (id == nullptr || column.refers_to.empty()) return value;
    const std::map<std::int64_t, std::int64_t>& ids = ids_[column.refers_to];
    const auto here = ids.find(*id);
    if (here != ids.end()) return SqlValue(here->second);
    return corrupt(from_.path() + ": a row of " + table.name + " refers to no row of " +
                   column.refers_to);
  }

  // A sweep that was running at the last merge may have ended. Of two picks, the one of the sweep
  // that began last holds, and a sweep's pick before an imported one.
  Status refresh(const Table& table, std::int64_t id, const TableRow& row) {
    if (table.name == "sweeps") {
      MGTUNE_ASSIGN(Statement update, to_.query("UPDATE sweeps SET finished_at = ?"
                                                " WHERE finished_at = '' AND id = ?"));
      bind_value(update, row.value("finished_at"));
      update.bind(id);
      return update.run();
    }
    if (table.name != "tuned") return {};
    MGTUNE_ASSIGN(Statement update,
                  to_.query("UPDATE tuned SET " + row.list("", " = ?") +
                            " WHERE id = ?"
                            " AND (SELECT strategy <> ?, started_at FROM sweeps WHERE id = sweep)"
                            " < (SELECT strategy <> ?, started_at FROM sweeps WHERE id = ?)"));
    row.bind(update);
    update.bind(id);
    update.bind(kImportStrategy);
    update.bind(kImportStrategy);
    bind_value(update, row.value("sweep"));
    MGTUNE_TRY(update.run());
    if (to_.changed_rows() > 0) count(table);
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
  std::map<std::string, std::map<std::int64_t, std::int64_t>> ids_;  // here, by table and id there
};

// What the sweeps of a file ran under, the newest of each GPU first. Imported rows say themselves
// that they are from elsewhere.
struct Environment {
  GpuRecord gpu;
  EnvironmentRecord environment;
};

Environment read_environment(Row& row) {
  Environment read;
  row.read(read.gpu, read.environment);
  return read;
}

Result<std::vector<Environment>> environments(Database& database) {
  return read_all(database, read_environment,
                  "SELECT " + columns_of<GpuRecord>("g") + ", " +
                      columns_of<EnvironmentRecord>("e") +
                      " FROM sweeps s"
                      " JOIN gpus g ON g.id = s.gpu JOIN environments e ON e.id = s.environment"
                      " WHERE s.strategy <> ? ORDER BY s.started_at DESC, s.id DESC",
                  kImportStrategy);
}

// One environment of each GPU, and the file that it is of.
class CommonEnvironment {
 public:
  Status add(const Environment& found, const std::string& file) {
    const auto known =
        std::ranges::find_if(known_, [&](const Known& other) { return other.of.gpu == found.gpu; });
    if (known == known_.end()) {
      known_.push_back({found, file});
      return {};
    }
    const EnvironmentRecord& a = known->of.environment;
    const EnvironmentRecord& b = found.environment;
    MGTUNE_TRY(compare("driver", a.driver, b.driver, *known, file));
    MGTUNE_TRY(compare("compiler", a.compiler, b.compiler, *known, file));
    return compare("mgtune", a.mgtune_version, b.mgtune_version, *known, file);
  }

  bool has(const GpuRecord& gpu) const {
    return std::ranges::any_of(known_, [&](const Known& known) { return known.of.gpu == gpu; });
  }

 private:
  struct Known {
    Environment of;
    std::string file;
  };

  static Status compare(const char* what, const std::string& a, const std::string& b,
                        const Known& known, const std::string& file) {
    if (a == b) return {};
    return incompatible("results of " + known.of.gpu.model + " by different environments are not " +
                        "mixed: " + what + " '" + a + "' in " + known.file + ", '" + b + "' in " +
                        file + "; merge those of each into a file of their own");
  }

  std::vector<Known> known_;
};

// Of this file the newest environment of a GPU counts, what it was before is its history.
Status check_environments(Database& to, const std::vector<Database*>& from) {
  CommonEnvironment common;
  MGTUNE_ASSIGN(const std::vector<Environment> here, environments(to));
  for (const Environment& found : here) {
    if (!common.has(found.gpu)) MGTUNE_TRY(common.add(found, to.path()));
  }
  for (Database* source : from) {
    MGTUNE_ASSIGN(const std::vector<Environment> there, environments(*source));
    for (const Environment& found : there) MGTUNE_TRY(common.add(found, source->path()));
  }
  return {};
}

}  // namespace

Result<MergeCounts> Store::merge(const std::vector<Store>& sources) {
  std::vector<std::pair<std::string, Database*>> by_age;
  for (const Store& source : sources) {
    MGTUNE_ASSIGN(const std::string started,
                  source.database_->read_text("SELECT min(started_at) FROM sweeps"));
    by_age.emplace_back(started, source.database_.get());
  }
  std::ranges::stable_sort(by_age, {}, &std::pair<std::string, Database*>::first);
  std::vector<Database*> from;
  from.reserve(by_age.size());
  for (const auto& [started, database] : by_age) from.push_back(database);

  MergeCounts counts;
  MGTUNE_ASSIGN(Transaction transaction, Transaction::begin(*database_));
  MGTUNE_TRY(check_environments(*database_, from));
  MGTUNE_ASSIGN(const std::vector<Table> tables, read_tables(*database_));
  for (Database* source : from) {
    Merger merger(*database_, *source, counts);
    for (const Table& table : tables) MGTUNE_TRY(merger.copy(table));
  }
  MGTUNE_TRY(transaction.commit());
  return counts;
}

}  // namespace mgtune
