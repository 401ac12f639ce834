#include "store/file/store_check.h"

#include <algorithm>
#include <cctype>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "database/row.h"
#include "store/row_groups.h"
#include "store/schema.h"

namespace mgtune {
namespace {

// A table or an index, or something that is not ours.
struct SchemaObject {
  std::string type, name, table, sql;                     // sql is without white space
  auto operator<=>(const SchemaObject&) const = default;  // NOLINT(modernize-use-nullptr)
};

bool is_same(const SchemaObject& a, const SchemaObject& b) {
  return a.type == b.type && a.name == b.name;
}

// Versions of SQLite may differ in the white space that ALTER TABLE leaves.
void remove_white_space(std::string& sql) {
  std::erase_if(sql, [](unsigned char c) { return std::isspace(c) != 0; });
}

Result<std::vector<SchemaObject>> read_schema(Database& database) {
  const auto read = [](Row& row) {
    SchemaObject object;
    row.read(object.type, object.name, object.table, object.sql);
    remove_white_space(object.sql);
    return object;
  };
  MGTUNE_ASSIGN(auto objects, read_all(database, read,
                                       "SELECT type, name, tbl_name, ifnull(sql, '')"
                                       " FROM sqlite_schema"
                                       " WHERE type <> 'table' OR name <> 'sqlite_stat1'"));
  std::ranges::sort(objects);
  return objects;
}

// "view 'tuned'", for messages. The words are the file's: no control characters for the terminal,
// and not too long.
std::string printable(const SchemaObject& object) {
  std::string text = (object.type + " '" + object.name).substr(0, 80) + "'";
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c >= 0x7f; }, '?');
  return text;
}

Status compare_schemas(const std::string& path, const std::vector<SchemaObject>& found,
                       const std::vector<SchemaObject>& ours) {
  const std::string start = path + " is not as mgtune makes it: ";
  for (const SchemaObject& object : found) {
    if (std::ranges::binary_search(ours, object)) continue;
    const bool has_our_name =
        std::ranges::any_of(ours, [&](const auto& own) { return is_same(own, object); });
    if (has_our_name) return corrupt(start + "its " + printable(object) + " was changed");
    return corrupt(start + "its " + printable(object) +
                   " is not mgtune's; remove that to use the file");
  }
  for (auto own = ours.rbegin(); own != ours.rend(); ++own) {  // a table before its indexes
    if (!std::ranges::binary_search(found, *own)) {
      return corrupt(start + "it has no " + printable(*own));
    }
  }
  if (found.size() == ours.size()) return {};
  return corrupt(start + "it lists a table or an index twice");
}

// In one transaction: another process may bring the file up to date meanwhile.
Result<std::vector<SchemaObject>> read_with_version(Database& database, std::int64_t& version) {
  MGTUNE_TRY(database.execute("BEGIN"));
  MGTUNE_ASSIGN(version, database.read_integer("PRAGMA user_version"));
  MGTUNE_ASSIGN(auto found, read_schema(database));
  MGTUNE_TRY(database.execute("COMMIT"));
  return found;
}

Status check_words(Database& database, const std::string& table) {
  const auto read = [](Row& row) { return row.outcome(); };  // fails if the word is unknown
  return read_all(database, read, "SELECT DISTINCT outcome FROM " + table).status();
}

Status check_samples(Database& database) {
  const auto read = [](Row& row) { return read_samples(row).size(); };
  return read_all(database, read, "SELECT samples_ns FROM finalists").status();
}

}  // namespace

Status check_schema(Database& database) {
  std::int64_t version = 0;
  MGTUNE_ASSIGN(const std::vector<SchemaObject> found, read_with_version(database, version));
  const std::span<const std::string> steps = schema_steps();
  if (version < 0 || version > std::ssize(steps)) {
    return incompatible(database.path() + " got another format while it was opened");
  }
  MGTUNE_ASSIGN(const auto expected, Database::in_memory(database.path()));
  MGTUNE_TRY(migrate(*expected, steps.first(static_cast<std::size_t>(version))));
  MGTUNE_ASSIGN(const std::vector<SchemaObject> ours, read_schema(*expected));
  return compare_schemas(database.path(), found, ours);
}

Status check_rows(Database& database) {
  MGTUNE_ASSIGN(const std::int64_t version, database.read_integer("PRAGMA user_version"));
  if (version == 0) return {};  // the maker of the file was killed before it made the tables
  for (const char* table : {"builds", "checks", "measurements", "outcomes"}) {
    MGTUNE_TRY(check_words(database, table));
  }
  MGTUNE_ASSIGN(
      const std::int64_t has_finals,
      database.read_integer("SELECT count(*) FROM sqlite_schema WHERE name = 'finalists'"));
  if (has_finals != 0) MGTUNE_TRY(check_samples(database));
  MGTUNE_ASSIGN(const std::string table,
                database.read_text("SELECT \"table\" FROM pragma_foreign_key_check LIMIT 1"));
  if (table.empty()) return {};
  return corrupt(database.path() + ": a row of " + table + " refers to a row that is not there");
}

}  // namespace mgtune
