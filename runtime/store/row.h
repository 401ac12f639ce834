// Row: one row of a SELECT, read from left to right; read_all: all of them, as records. Private to
// store/. A column that says what no format of ours does makes the file corrupt.

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "store/database.h"
#include "store/records.h"

namespace mgtune {

class Row {
 public:
  explicit Row(const Statement& statement) : statement_(statement) {}

  std::int64_t integer() { return statement_.integer(next_++); }
  int narrow() { return static_cast<int>(integer()); }
  double real() { return statement_.real(next_++); }
  std::string text() { return statement_.text(next_++); }
  bool is_null() const { return statement_.is_null(next_); }
  void skip(int columns) { next_ += columns; }

  // A word that is no outcome is remembered, see failure().
  Outcome outcome() {
    const std::string word = text();
    const std::optional<Outcome> outcome = outcome_from_string(word);
    if (!outcome) fail("unknown outcome '" + word + "'");
    return outcome.value_or(Outcome::unsupported);
  }

  void fail(std::string what) { failure_ = std::move(what); }
  const std::string& failure() const { return failure_; }  // "" when every column made sense

 private:
  const Statement& statement_;
  int next_ = 0;
  std::string failure_;
};

inline constexpr std::string_view kGpuColumns =
    "g.model, g.arch, g.sm_count, g.l2_bytes, g.memory_bytes, g.max_shared_bytes, g.mig_profile,"
    " g.emulation";

inline GpuRecord read_gpu(Row& row) {
  GpuRecord gpu;
  gpu.model = row.text();
  gpu.arch = row.text();
  gpu.sm_count = row.integer();
  gpu.l2_bytes = row.integer();
  gpu.memory_bytes = row.integer();
  gpu.max_shared_bytes = row.integer();
  gpu.mig_profile = row.text();
  gpu.emulation = row.integer() != 0;
  return gpu;
}

// The columns sm_mhz to throttled_samples.
inline ClockRecord read_clocks(Row& row) {
  ClockRecord clocks;
  clocks.sm_mhz = row.real();
  clocks.memory_mhz = row.real();
  clocks.power_w = row.real();
  clocks.temperature_c = row.real();
  clocks.throttle_reasons = row.text();
  clocks.throttled_samples = row.integer();
  return clocks;
}

// Every row of `sql` with these values bound, each read by `read`.
template <typename Record, typename... Values>
Result<std::vector<Record>> read_all(Database& database, Record (*read)(Row&),
                                     const std::string& sql, const Values&... values) {
  MGTUNE_ASSIGN(Statement rows, database.query(sql, values...));
  std::vector<Record> records;
  while (true) {
    MGTUNE_ASSIGN(const bool at_row, rows.step());
    if (!at_row) return records;
    Row row(rows);
    records.push_back(read(row));
    if (!row.failure().empty()) return corrupt(database.path() + ": " + row.failure());
  }
}

template <typename Record, typename... Values>
Result<std::optional<Record>> read_first(Database& database, Record (*read)(Row&),
                                         const std::string& sql, const Values&... values) {
  MGTUNE_ASSIGN(std::vector<Record> records, read_all(database, read, sql, values...));
  if (records.empty()) return std::optional<Record>();
  return std::optional<Record>(std::move(records.front()));
}

}  // namespace mgtune
