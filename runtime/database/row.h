// Row: one row of a SELECT, read from left to right, column by column or record by record.
// read_all() and read_first() read rows into values. If a column has a value that mgtune never
// writes, the result is corrupt. For this folder and store/. One thread.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/status.h"
#include "database/database.h"
#include "database/field.h"
#include "database/outcome.h"

namespace mgtune {

class Row {
 public:
  explicit Row(const Statement& statement) : statement_(statement) {}

  std::int64_t integer() { return statement_.integer(next_++); }
  double real() { return statement_.real(next_++); }
  std::string text() { return statement_.text(next_++); }

  // If the word is not an outcome, failure() says so afterwards.
  Outcome outcome() {
    const std::string word = text();
    const std::optional<Outcome> outcome = outcome_from_string(word);
    if (!outcome) fail("unknown outcome '" + word + "'");
    return outcome.value_or(Outcome::unsupported);
  }

  // Reads single columns, and records whose columns columns_of() selected. An optional record comes
  // from a LEFT JOIN: it has no value if its first column is NULL.
  template <typename... Values>
  void read(Values&... values) {
    (read_value(values), ...);
  }

  void fail(std::string what) { failure_ = std::move(what); }
  const std::string& failure() const { return failure_; }  // "" if there was none

 private:
  void read_value(std::int64_t& out) { out = integer(); }
  void read_value(int& out) { out = static_cast<int>(integer()); }
  void read_value(bool& out) { out = integer() != 0; }
  void read_value(double& out) { out = real(); }
  void read_value(std::string& out) { out = text(); }
  void read_value(Outcome& out) { out = outcome(); }
  template <HasFields Record>
  void read_value(Record& out) {
    for_each_column(out, [&](const auto&, auto& value) { read_value(value); });
  }
  template <HasFields Record>
  void read_value(std::optional<Record>& out) {
    if (!statement_.is_null(next_)) return read_value(out.emplace());
    const Record skipped;
    for_each_column(skipped, [&](const auto&, const auto&) { ++next_; });
  }

  const Statement& statement_;
  int next_ = 0;
  std::string failure_;
};

// "m.outcome, m.method, ...": the columns of a record in the table that the query calls `table`.
template <HasFields Record>
std::string columns_of(const std::string& table) {
  std::string columns;
  const Record record{};
  for_each_column(record, [&](const auto& field, const auto&) {
    if (!columns.empty()) columns += ", ";
    columns.append(table).append(".").append(field.name);
  });
  return columns;
}

template <HasFields Record>
Record read_record(Row& row) {
  Record record;
  row.read(record);
  return record;
}

// Every row of `sql` with these values bound. `read` gets a Row& and returns what it has read.
template <typename Read, typename... Values>
auto read_all(Database& database, const Read& read, const std::string& sql, const Values&... values)
    -> Result<std::vector<std::invoke_result_t<Read, Row&>>> {
  MGTUNE_ASSIGN(Statement rows, database.query(sql, values...));
  std::vector<std::invoke_result_t<Read, Row&>> records;
  while (true) {
    MGTUNE_ASSIGN(const bool at_row, rows.step());
    if (!at_row) return records;
    Row row(rows);
    records.push_back(std::invoke(read, row));
    if (!row.failure().empty()) return corrupt(database.path() + ": " + row.failure());
  }
}

template <typename Read, typename... Values>
auto read_first(Database& database, const Read& read, const std::string& sql,
                const Values&... values)
    -> Result<std::optional<std::invoke_result_t<Read, Row&>>> {
  MGTUNE_ASSIGN(auto records, read_all(database, read, sql, values...));
  if (records.empty()) return std::optional<std::invoke_result_t<Read, Row&>>();
  return std::optional(std::move(records.front()));
}

}  // namespace mgtune
