// Row ids of what has a name: found, or inserted first. Private to store/.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"
#include "store/database.h"

namespace mgtune {

// The id of the row that `select` finds with these values, inserted first when there is none. Two
// processes may insert at once: the second finds the first one's row.
template <typename... Values>
Result<std::int64_t> id_of(Database& database, std::string_view select, std::string_view insert,
                           const Values&... values) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    MGTUNE_ASSIGN(Statement rows, database.query(select, values...));
    MGTUNE_ASSIGN(const bool found, rows.step());
    if (found) return rows.integer(0);
    MGTUNE_ASSIGN(Statement inserting, database.query(insert, values...));
    MGTUNE_TRY(inserting.run());
  }
  return internal_error(database.path() + ": a row that was inserted is not there");
}

inline Result<std::int64_t> operator_id(Database& database, const std::string& op) {
  return id_of(database, "SELECT id FROM operators WHERE name = ?",
               "INSERT OR IGNORE INTO operators (name) VALUES (?)", op);
}

inline Result<std::int64_t> variant_id(Database& database, std::int64_t op,
                                       const std::string& variant) {
  return id_of(database, "SELECT id FROM variants WHERE operator = ? AND text = ?",
               "INSERT OR IGNORE INTO variants (operator, text) VALUES (?, ?)", op, variant);
}

inline Result<std::int64_t> operator_of_problem(Database& database, std::int64_t problem) {
  MGTUNE_ASSIGN(Statement rows,
                database.query("SELECT operator FROM problems WHERE id = ?", problem));
  MGTUNE_ASSIGN(const bool found, rows.step());
  if (found) return rows.integer(0);
  return invalid_argument(database.path() + ": no problem has the id " + std::to_string(problem));
}

}  // namespace mgtune
