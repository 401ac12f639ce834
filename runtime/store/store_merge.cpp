// Merging stores: the rows of others that this one has not, with the ids of this one. What the
// tables are, and by which columns a row is known, is asked of the schema itself.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "store/database.h"
#include "store/row.h"
#include "store/store.h"

namespace mgtune {
namespace {

using Value = std::variant<std::monostate, std::int64_t, double, std::string>;  // as SQLite has it

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

std::string quoted(const std::string& name) { return '"' + name + '"'; }

// "a", "b" with `form` for each column that `wanted` holds of; `{}` in it is the name.
template <typename Wanted>
std::string list(const Table& table, const std::string& before, const std::string& after,
                 const std::string& between, const Wanted& wanted) {
  std::string text;
  for (const Column& column : table.columns) {
    if (!wanted(column)) continue;
    if (!text.empty()) text += between;
    text.append(before).append(quoted(column.name)).append(after);
  }
  return text;
}

bool any(const Column&) { return true; }
bool identity(const Column& column) { return column.is_identity; }

Result<std::vector<std::string>> names(Database& database, const std::string& sql,
                                       const std::string& table = "") {
  std::vector<std::string> found;
  MGTUNE_ASSIGN(Statement rows, database.query(sql));
  if (!table.empty()) rows.bind(std::string_view(table));
  while (true) {
    MGTUNE_ASSIGN(const bool at_row, rows.step());
    if (!at_row) return found;
    found.push_back(rows.text(0));
  }
}

// A row is known by its UNIQUE columns; where there are none, by all. A sweep's end comes after its
// start, so it is no part of what a sweep is known by.
Result<Table> describe(Database& database, const std::string& name) {
  Table table{name, false, {}};
  MGTUNE_ASSIGN(Statement rows,
                database.query("SELECT name, type FROM pragma_table_info(?) ORDER BY cid", name));
  while (true) {
    MGTUNE_ASSIGN(const bool at_row, rows.step());
    if (!at_row) break;
    if (rows.text(0) == "id") {
      table.has_id = true;
    } else {
      table.columns.push_back({rows.text(0), rows.text(1), "", false});
    }
  }
  MGTUNE_ASSIGN(const std::vector<std::string> unique,
                names(database,
                      "SELECT i.name FROM pragma_index_list(?) l, pragma_index_info(l.name) i"
                      " WHERE l.\"unique\" = 1 AND l.origin IN ('u', 'pk')",
                      name));
  MGTUNE_ASSIGN(Statement keys,
                database.query("SELECT \"from\", \"table\" FROM pragma_foreign_key_list(?)", name));
  while (true) {
    MGTUNE_ASSIGN(const bool at_row, keys.step());
    if (!at_row) break;
    const auto column = std::ranges::find(table.columns, keys.text(0), &Column::name);
    if (column != table.columns.end()) column->refers_to = keys.text(1);
  }
  for (Column& column : table.columns) {
    column.is_identity = unique.empty() ? column.name != "finished_at"
                                        : std::ranges::find(unique, column.name) != unique.end();
  }
  return table;
}

// Every table of results after those that its rows refer to.
Result<std::vector<Table>> read_tables(Database& database) {
  MGTUNE_ASSIGN(std::vector<std::string> left,
                names(database,
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

Value read_value(const Statement& row, int at, const Column& column) {
  if (row.is_null(at)) return {};
  if (column.type == "INTEGER") return row.integer(at);
  if (column.type == "REAL") return row.real(at);
  return row.text(at);
}

void bind_value(Statement& statement, const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return statement.bind(*integer);
  if (const auto* real = std::get_if<double>(&value)) return statement.bind(*real);
  if (const auto* text = std::get_if<std::string>(&value)) {
    return statement.bind(std::string_view(*text));
  }
  statement.bind(std::optional<std::int64_t>());
}

// One source's rows on their way into `to`.
class Merger {
 public:
  Merger(Database& to, Database& from, MergeCounts& counts)
      : to_(to), from_(from), counts_(counts) {}

  Status copy(const Table& table) {
    const std::string columns = list(table, "", "", ", ", any);
    MGTUNE_ASSIGN(Statement rows, from_.query("SELECT " + columns + (table.has_id ? ", id" : "") +
                                              " FROM " + quoted(table.name) + " ORDER BY rowid"));
    while (true) {
      MGTUNE_ASSIGN(const bool at_row, rows.step());
      if (!at_row) return {};
      MGTUNE_ASSIGN(const std::vector<Value> values, translated(table, rows));
      MGTUNE_ASSIGN(const std::int64_t id, put(table, values));
      if (table.has_id) ids_[table.name][rows.integer(int(table.columns.size()))] = id;
    }
  }

 private:
  // The row's values, with the ids that the rows it refers to have here.
  Result<std::vector<Value>> translated(const Table& table, const Statement& row) {
    std::vector<Value> values;
    for (const Column& column : table.columns) {
      Value value = read_value(row, int(values.size()), column);
      if (const auto* id = std::get_if<std::int64_t>(&value); id && !column.refers_to.empty()) {
        const std::map<std::int64_t, std::int64_t>& ids = ids_[column.refers_to];
        const auto here = ids.find(*id);
        if (here == ids.end()) {
          return corrupt(from_.path() + ": a row of " + table.name + " refers to no row of " +
                         column.refers_to);
        }
        value = here->second;
      }
      values.push_back(std::move(value));
    }
    return values;
  }

  // The id of the row here: found, or inserted.
  Result<std::int64_t> put(const Table& table, const std::vector<Value>& values) {
    MGTUNE_ASSIGN(const std::optional<std::int64_t> known, find(table, values));
    if (known) {
      MGTUNE_TRY(refresh(table, *known, values));
      return *known;
    }
    std::string places;
    for (std::size_t i = 0; i < values.size(); ++i) places += i == 0 ? "?" : ", ?";
    MGTUNE_ASSIGN(Statement insert,
                  to_.query("INSERT INTO " + quoted(table.name) + " (" +
                            list(table, "", "", ", ", any) + ") VALUES (" + places + ")"));
    for (const Value& value : values) bind_value(insert, value);
    MGTUNE_TRY(insert.run());
    count(table);
    return to_.last_insert_id();
  }

  Result<std::optional<std::int64_t>> find(const Table& table, const std::vector<Value>& values) {
    MGTUNE_ASSIGN(Statement rows,
                  to_.query("SELECT rowid FROM " + quoted(table.name) + " WHERE " +
                            list(table, "", " IS ?", " AND ", identity) + " ORDER BY rowid"));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (table.columns[i].is_identity) bind_value(rows, values[i]);
    }
    MGTUNE_ASSIGN(const bool found, rows.step());
    return found ? std::optional(rows.integer(0)) : std::nullopt;
  }

  // A sweep that ran when it was merged before may have ended. Of two picks that of the sweep which
  // began last holds, and one of a sweep before one that was imported.
  Status refresh(const Table& table, std::int64_t id, const std::vector<Value>& values) {
    if (table.name != "sweeps" && table.name != "tuned") return {};
    const auto value_of = [&](const char* column) {
      const auto found = std::ranges::find(table.columns, column, &Column::name);
      return values[static_cast<std::size_t>(found - table.columns.begin())];
    };
    if (table.name == "sweeps") {
      MGTUNE_ASSIGN(Statement update, to_.query("UPDATE sweeps SET finished_at = ?"
                                                " WHERE finished_at = '' AND id = ?"));
      bind_value(update, value_of("finished_at"));
      update.bind(id);
      return update.run();
    }
    MGTUNE_ASSIGN(Statement update,
                  to_.query("UPDATE tuned SET " + list(table, "", " = ?", ", ", any) +
                            " WHERE id = ?"
                            " AND (SELECT strategy <> ?, started_at FROM sweeps WHERE id = sweep)"
                            " < (SELECT strategy <> ?, started_at FROM sweeps WHERE id = ?)"));
    for (const Value& value : values) bind_value(update, value);
    update.bind(id);
    update.bind(kImportStrategy);
    update.bind(kImportStrategy);
    bind_value(update, value_of("sweep"));
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
  read.gpu = read_gpu(row);
  read.environment.mgtune_version = row.text();
  read.environment.compiler = row.text();
  read.environment.driver = row.text();
  return read;
}

Result<std::vector<Environment>> environments(Database& database) {
  return read_all(database, read_environment,
                  "SELECT " + std::string(kGpuColumns) +
                      ", e.mgtune_version, e.compiler, e.driver FROM sweeps s"
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
