// Functions that write rows. A TableRow is a row that is about to be written, or the values by
// which a row is searched. id_of() and variant_id() find or add a row and return its id.
// id_of_gpu() does so for a GPU. write_outcome() and write_tuned() write the rows that record() and
// import_results() have in common. The caller begins and commits the transaction. Private to
// store/. One thread at a time per database object.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "database/database.h"
#include "store/records.h"

namespace mgtune {

inline SqlValue sql_value(Outcome value) { return std::string(to_string(value)); }

// A column of a row that is about to be written.
struct SqlColumn {
  template <typename Value>
  SqlColumn(std::string_view column, const Value& content)
      : name(column), value(sql_value(content)) {}

  std::string name;
  SqlValue value;
};

class TableRow {
 public:
  TableRow() = default;
  TableRow(std::initializer_list<SqlColumn> columns) : columns_(columns) {}

  TableRow& add(const TableRow& other);
  // All fields of a record.
  template <HasFields Record>
  TableRow& add(const Record& record) {
    for_each_column(record, [&](const auto& field, const auto& value) {
      columns_.emplace_back(field.name, value);
    });
    return *this;
  }

  const SqlValue& value(std::string_view column) const;  // the row must have the column

  // "a = ?, b = ?": the name of each column, with `before` in front of it and `after` behind it,
  // and with `between` between two columns.
  std::string list(std::string_view before, std::string_view after,
                   std::string_view between = ", ") const;
  // " WHERE a IS ? AND b IS ?"
  std::string where() const { return " WHERE " + list("", " IS ?", " AND "); }
  // "INSERT INTO tuned (a, b) VALUES (?, ?)", where `into` is "INSERT INTO tuned".
  std::string insert_text(const std::string& into) const;
  void bind_to(Statement& statement) const;

  // Inserts the row and returns its id.
  Result<std::int64_t> insert(Database& database, const std::string& into) const;
  // The id of the first row of `table` that has these values.
  Result<std::optional<std::int64_t>> find(Database& database, const std::string& table) const;
  // Deletes every row of `table` that has these values.
  Status erase(Database& database, const std::string& table) const;

 private:
  std::vector<SqlColumn> columns_;
};

// The columns of `key` that checks, measurements and counters have.
TableRow key_row(const ResultKey& key);

// The id of the row of `table` that has the values of `row`. A missing row is inserted with the
// values of `rest` too. Two processes may insert it at once: the second finds the first one's row.
Result<std::int64_t> id_of(Database& database, const std::string& table, const TableRow& row,
                           const TableRow& rest = {});
// The id of the row of this GPU: of an equal row, otherwise of one that is_same_gpu() finds. If
// there is neither, a row is inserted.
Result<std::int64_t> id_of_gpu(Database& database, const GpuRecord& gpu);
// The id of the variant `text` of the problem's operator. invalid_argument if no problem has the id
// `problem`.
Result<std::int64_t> variant_id(Database& database, std::int64_t problem, const std::string& text);

// These write the rows of Store::record() and Store::record_tuned(). `recorded_at` is "" for
// results that were measured elsewhere.
Status write_outcome(Database& database, const OutcomeRecord& outcome,
                     const std::string& recorded_at);
Status write_tuned(Database& database, const TunedRecord& tuned);

// A problem may have several picks on a GPU, by different timing methods, and some may have no key,
// for example those from older formats. Each pick without a key gets the key of another one, if
// there is one. So a plan finds all of them, and the best method counts.
Status share_key(Database& database, std::int64_t gpu, std::int64_t problem);

}  // namespace mgtune
