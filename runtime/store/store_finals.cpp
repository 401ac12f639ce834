// Finals: the fastest variants of a problem timed in turn, with every sample.

#include <charconv>
#include <map>
#include <system_error>

#include "store/database.h"
#include "store/ids.h"
#include "store/row.h"
#include "store/store.h"

namespace mgtune {
namespace {

// A JSON array, so that SQLite's own functions can read it.
std::string samples_text(const std::vector<double>& samples) {
  std::string text = "[";
  for (const double sample : samples) {
    if (text.size() > 1) text += ',';
    char digits[32];
    const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), sample);
    if (error == std::errc()) text.append(digits, end);
  }
  return text + "]";
}

// Numbers alone, separated by commas, in brackets; nullopt for anything else.
std::optional<std::vector<double>> parse_samples(const std::string& text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  std::vector<double> samples;
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size() - 1;
  while (at != end) {
    double sample = 0;
    const auto [rest, error] = std::from_chars(at, end, sample);
    if (error != std::errc()) return std::nullopt;
    samples.push_back(sample);
    if (rest == end) return samples;
    if (*rest != ',' || rest + 1 == end) return std::nullopt;
    at = rest + 1;
  }
  return samples;
}

// A final without its finalists, and its row id.
struct FinalRow {
  std::int64_t id = 0;
  FinalView view;
};

FinalRow read_final(Row& row) {
  FinalRow read;
  read.id = row.integer();
  FinalRecord& final = read.view.final;
  final.sweep = row.integer();
  final.gpu = row.integer();
  final.problem = row.integer();
  final.method = row.text();
  final.noise_floor = row.real();
  final.note = row.text();
  final.not_counted = row.text();
  final.clocks = read_clocks(row);
  read.view.op = row.text();
  read.view.problem = row.text();
  read.view.gpu = read_gpu(row);
  return read;
}

struct FinalistRow {
  std::int64_t final_id = 0;
  FinalistRecord finalist;
};

FinalistRow read_finalist(Row& row) {
  FinalistRow read;
  read.final_id = row.integer();
  FinalistRecord& finalist = read.finalist;
  finalist.variant = row.text();
  finalist.build_sha256 = row.text();
  finalist.launch_hash = row.text();
  finalist.median_ns = row.real();
  finalist.median_low_ns = row.real();
  finalist.median_high_ns = row.real();
  finalist.ratio = row.real();
  finalist.ratio_low = row.real();
  finalist.ratio_high = row.real();
  finalist.tied = row.integer() != 0;
  const std::string samples = row.text();
  if (std::optional<std::vector<double>> parsed = parse_samples(samples)) {
    finalist.samples_ns = *std::move(parsed);
  } else {
    row.fail("samples that are no array of numbers: " + samples.substr(0, 60));
  }
  return read;
}

// The newest of each gpu, problem and method, of one operator or of all.
constexpr char kNewest[] =
    " f.id IN (SELECT max(n.id) FROM finals n GROUP BY n.gpu, n.problem, n.method)"
    " AND (?1 = '' OR o.name = ?1)";

}  // namespace

Status Store::record_final(const FinalRecord& final) {
  MGTUNE_ASSIGN(Transaction transaction, Transaction::begin(*database_));
  MGTUNE_ASSIGN(const std::int64_t op, operator_of_problem(*database_, final.problem));
  const ClockRecord& clocks = final.clocks;
  MGTUNE_ASSIGN(
      Statement insert,
      database_->query(
          "INSERT OR REPLACE INTO finals (sweep, gpu, problem, method, noise_floor,"
          " note, not_counted, sm_mhz, memory_mhz, power_w, temperature_c, throttle_reasons,"
          " throttled_samples) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
          final.sweep, final.gpu, final.problem, final.method, final.noise_floor, final.note,
          final.not_counted, clocks.sm_mhz, clocks.memory_mhz, clocks.power_w, clocks.temperature_c,
          clocks.throttle_reasons, clocks.throttled_samples));
  MGTUNE_TRY(insert.run());
  const std::int64_t id = database_->last_insert_id();
  std::int64_t place = 0;
  for (const FinalistRecord& finalist : final.finalists) {
    MGTUNE_ASSIGN(const std::int64_t variant, variant_id(*database_, op, finalist.variant));
    MGTUNE_ASSIGN(
        Statement row,
        database_->query("INSERT INTO finalists (final, place, variant, build_sha256,"
                         " launch_hash, median_ns, median_low_ns, median_high_ns, ratio, ratio_low,"
                         " ratio_high, tied, samples_ns)"
                         " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                         id, place++, variant, finalist.build_sha256, finalist.launch_hash,
                         finalist.median_ns, finalist.median_low_ns, finalist.median_high_ns,
                         finalist.ratio, finalist.ratio_low, finalist.ratio_high, finalist.tied,
                         samples_text(finalist.samples_ns)));
    MGTUNE_TRY(row.run());
  }
  return transaction.commit();
}

// Two SELECTs see two states of the file: finalists of a final that came between them are left out.
Result<std::vector<FinalView>> Store::finals(const std::string& op) {
  MGTUNE_ASSIGN(
      const std::vector<FinalRow> finals,
      read_all(
          *database_, read_final,
          "SELECT f.id, f.sweep, f.gpu, f.problem, f.method, f.noise_floor, f.note, f.not_counted,"
          " f.sm_mhz, f.memory_mhz, f.power_w, f.temperature_c,"
          " f.throttle_reasons, f.throttled_samples, o.name, p.text, " +
              std::string(kGpuColumns) +
              " FROM finals f JOIN gpus g ON g.id = f.gpu"
              " JOIN problems p ON p.id = f.problem"
              " JOIN operators o ON o.id = p.operator WHERE" +
              kNewest + " ORDER BY o.name, f.problem, f.gpu, f.method",
          op));
  MGTUNE_ASSIGN(
      const std::vector<FinalistRow> finalists,
      read_all(*database_, read_finalist,
               std::string("SELECT l.final, v.text, l.build_sha256, l.launch_hash, l.median_ns,"
                           " l.median_low_ns, l.median_high_ns,"
                           " l.ratio, l.ratio_low, l.ratio_high, l.tied, l.samples_ns"
                           " FROM finalists l JOIN finals f ON f.id = l.final"
                           " JOIN problems p ON p.id = f.problem"
                           " JOIN operators o ON o.id = p.operator"
                           " JOIN variants v ON v.id = l.variant WHERE") +
                   kNewest + " ORDER BY l.final, l.place",
               op));
  std::map<std::int64_t, std::vector<FinalistRecord>> by_final;
  for (const FinalistRow& row : finalists) by_final[row.final_id].push_back(row.finalist);
  std::vector<FinalView> views;
  for (const FinalRow& row : finals) {
    views.push_back(row.view);
    views.back().final.finalists = by_final[row.id];
  }
  return views;
}

}  // namespace mgtune
