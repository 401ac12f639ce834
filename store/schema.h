// The tables of a store as migration steps. README.md describes them. One thread at
// a time per database object.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/status.h"
#include "database/database.h"
#include "database/open_file.h"
#include "store/write.h"

namespace mgtune {

// Step i is SQL that changes a file from user_version i to i + 1. A step that was released must
// never be edited. There are kNewestFormat steps (database/open_file.h).
std::span<const std::string> schema_steps();

// The SQL type of a column whose default is `value`, for example "REAL DEFAULT 0". In a REAL
// column, NULL means NaN.
std::string column_type(const SqlValue& value);

// The SQL that adds to `table` the fields of its record that this version of the format added. Rows
// that exist get the defaults of the struct.
template <HasFields Record>
std::string added_columns(const std::string& table, const Record& defaults, int version) {
  std::string sql;
  for_each_column(defaults, [&](const auto& field, const auto& value) {
    if (field.traits.added_in != version) return;
    sql += "ALTER TABLE " + table + " ADD COLUMN " + field.name + " " +
           column_type(sql_value(value)) + ";\n";
  });
  return sql;
}

// Calls visit(table, record) for each table of records, with a default record.
template <typename Visit>
void for_each_table(const Visit& visit) {
  visit("gpus", GpuRecord{});
  visit("environments", EnvironmentRecord{});
  visit("builds", BuildRecord{});
  visit("sweeps", SweepRecord{});
  visit("checks", CheckRecord{});
  visit("measurements", MeasurementRecord{});
  visit("ceilings", CeilingRecord{});
  visit("finals", FinalRecord{});
  visit("finalists", FinalistRecord{});
  visit("counters", CounterRecord{});
  visit("spaces", SpaceRecord{});
  visit("pruned", PrunedRecord{});
  visit("tuned", TunedRecord{});
  visit("peers", PeerRecord{});
  visit("metrics", MetricRecord{});
}

// Applies the steps that the file does not have yet, in one transaction, and writes kApplicationId
// into its header. Several processes may call it at the same time. A file that is newer than the
// steps is not changed.
Status migrate(Database& database, std::span<const std::string> steps);

}  // namespace mgtune
