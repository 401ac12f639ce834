// Store::measured() reads the results of every variant on every problem, for selection. It does not
// read the texts of single rows, so 100,000 rows take a fraction of a second.

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "database/database.h"
#include "database/row.h"
#include "store/store.h"

namespace mgtune {
namespace {

using Places = std::unordered_map<std::int64_t, std::uint32_t>;  // of row ids

// All rows of a table with the id in front, and the place of each id.
template <typename Record, typename Read>
Result<Places> read_table(Database& database, const std::string& sql, const std::string& op,
                          const Read& read, std::vector<Record>& records) {
  Places places;
  const auto read_row = [&](Row& row) {
    places.emplace(row.integer(), static_cast<std::uint32_t>(places.size()));
    return std::invoke(read, row);
  };
  MGTUNE_ASSIGN(records, read_all(database, read_row, sql, op));
  return places;
}

// A file may have several rows of one GPU, because a row was added for every size of memory that
// its drivers reported. Each GPU is in the list once.
Result<Places> read_gpus(Database& database, const std::string& op, std::vector<GpuRecord>& gpus) {
  std::vector<GpuRecord> stored;
  MGTUNE_ASSIGN(Places places, read_table(database,
                                          "SELECT id, " + columns_of<GpuRecord>("g") +
                                              " FROM gpus g WHERE ?1 = ?1 ORDER BY id",
                                          op, read_record<GpuRecord>, stored));
  std::vector<std::uint32_t> place_in_list;
  for (const GpuRecord& gpu : stored) {
    const std::size_t place = find_same_gpu(gpus, gpu);
    if (place == gpus.size()) gpus.push_back(gpu);
    place_in_list.push_back(static_cast<std::uint32_t>(place));
  }
  for (auto& [id, place] : places) place = place_in_list[place];
  return places;
}

std::uint32_t place_of(const std::string& word, std::vector<std::string>& words) {
  const auto place = std::find(words.begin(), words.end(), word) - words.begin();
  if (static_cast<std::size_t>(place) == words.size()) words.push_back(word);
  return static_cast<std::uint32_t>(place);
}

bool has_time(Outcome outcome) { return outcome == Outcome::ok || outcome == Outcome::raced_out; }

// Keeps the newest row of each GPU, problem, variant and method. A newer row without a time
// replaces the rows of all methods. add() gets the rows from the oldest to the newest.
class Newest {
 public:
  explicit Newest(std::vector<MeasuredRows::Row>& rows) : rows_(rows) {}

  void add(const MeasuredRows::Row& row) {
    std::vector<std::size_t>& known = of_[key(row)];
    if (row.method == 0) {
      for (const std::size_t place : known) rows_[place].variant = kDropped;
      known.clear();
    }
    for (const std::size_t place : known) {
      if (rows_[place].method != row.method && rows_[place].method != 0) continue;
      rows_[place] = row;
      return;
    }
    known.push_back(rows_.size());
    rows_.push_back(row);
  }

  void finish() {
    std::erase_if(rows_, [](const MeasuredRows::Row& row) { return row.variant == kDropped; });
  }

 private:
  static constexpr std::uint32_t kDropped = ~std::uint32_t{0};

  static std::uint64_t key(const MeasuredRows::Row& row) {
    return (std::uint64_t{row.problem} << 40) ^ (std::uint64_t{row.variant} << 12) ^ row.gpu;
  }

  std::vector<MeasuredRows::Row>& rows_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> of_;
};

Result<MeasuredRows> read_measured(Database& database, const std::string& op) {
  const auto read_problem = [](Row& row) {
    MeasuredRows::ProblemText problem;
    row.read(problem.op, problem.text);
    return problem;
  };
  MeasuredRows all;
  MGTUNE_ASSIGN(const Places gpus, read_gpus(database, op, all.gpus));
  MGTUNE_ASSIGN(const Places problems,
                read_table(database,
                           "SELECT p.id, o.name, p.text FROM problems p"
                           " JOIN operators o ON o.id = p.operator WHERE ?1 = '' OR o.name = ?1",
                           op, read_problem, all.problems));
  MGTUNE_ASSIGN(const Places variants,
                read_table(database,
                           "SELECT v.id, v.text FROM variants v"
                           " JOIN operators o ON o.id = v.operator WHERE ?1 = '' OR o.name = ?1",
                           op, &Row::text, all.variants));
  MGTUNE_ASSIGN(const Places drivers,
                read_table(database, "SELECT id, driver FROM environments WHERE ?1 = ?1", op,
                           &Row::text, all.drivers));
  Newest newest(all.rows);
  const auto add_row = [&](Row& row) {
    const auto gpu = gpus.find(row.integer());
    const auto problem = problems.find(row.integer());
    const auto variant = variants.find(row.integer());
    const auto driver = drivers.find(row.integer());
    if (problem == problems.end() || variant == variants.end()) return false;  // another operator's
    if (gpu == gpus.end() || driver == drivers.end()) {
      row.fail("an outcome refers to rows that are not there");
      return false;
    }
    MeasuredRows::Row measured{gpu->second, problem->second, variant->second, 0, driver->second};
    std::string method;
    double median_ns = 0;
    row.read(measured.outcome, method, median_ns);
    if (has_time(measured.outcome) && median_ns > 0) {
      measured.method = place_of(method, all.methods);
      measured.median_ns = median_ns;
    }
    newest.add(measured);
    return true;
  };
  MGTUNE_TRY(read_all(database, add_row,
                      "SELECT s.gpu, r.problem, r.variant, s.environment, r.outcome,"
                      " ifnull(m.method, ''), m.median_ns FROM outcomes r"
                      " JOIN sweeps s ON s.id = r.sweep"
                      " LEFT JOIN measurements m ON m.id = r.measurement ORDER BY r.id")
                 .status());
  newest.finish();
  return all;
}

}  // namespace

Result<MeasuredRows> Store::measured(const std::string& op) {
  // One transaction: the lists and the rows that point into them are of one state of the file.
  MGTUNE_TRY(database_->execute("BEGIN"));
  Result<MeasuredRows> found = read_measured(*database_, op);
  const Status ended = database_->execute("COMMIT");
  if (found.ok() && !ended.ok()) return ended;
  return found;
}

}  // namespace mgtune
