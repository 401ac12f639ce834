// Finals: the fastest variants of a problem timed in turn, with every sample.

#include <charconv>
#include <map>
#include <system_error>

#include "store/database.h"
#include "store/row.h"
#include "store/store.h"
#include "store/write.h"

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
  row.read(read.id);
  FinalRecord& final = read.view.final;
  row.read(final.sweep, final.gpu, final.problem, final, read.view.op, read.view.problem,
           read.view.gpu);
  return read;
}

struct FinalistRow {
  std::int64_t final_id = 0;
  FinalistRecord finalist;
};

FinalistRow read_finalist(Row& row) {
  FinalistRow read;
  row.read(read.final_id);
  FinalistRecord& finalist = read.finalist;
  row.read(finalist.variant, finalist.build_sha256, finalist.launch_hash, finalist);
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
  MGTUNE_TRY(TableRow({{"sweep", final.sweep}, {"gpu", final.gpu}, {"problem", final.problem}})
                 .add(final)
                 .insert(*database_, "INSERT OR REPLACE INTO finals"));
  const std::int64_t id = database_->last_insert_id();
  std::int64_t place = 0;
  for (const FinalistRecord& finalist : final.finalists) {
    MGTUNE_ASSIGN(const std::int64_t variant, variant_id(*database_, op, finalist.variant));
    MGTUNE_TRY(TableRow({{"final", id},
                         {"place", place++},
                         {"variant", variant},
                         {"build_sha256", finalist.build_sha256},
                         {"launch_hash", finalist.launch_hash},
                         {"samples_ns", samples_text(finalist.samples_ns)}})
                   .add(finalist)
                   .insert(*database_, "INSERT INTO finalists"));
  }
  return transaction.commit();
}

// Two SELECTs see two states of the file: finalists of a final that came between them are left out.
Result<std::vector<FinalView>> Store::finals(const std::string& op) {
  MGTUNE_ASSIGN(const std::vector<FinalRow> finals,
                read_all(*database_, read_final,
                         "SELECT f.id, f.sweep, f.gpu, f.problem, " + columns_of<FinalRecord>("f") +
                             ", o.name, p.text, " + columns_of<GpuRecord>("g") +
                             " FROM finals f JOIN gpus g ON g.id = f.gpu"
                             " JOIN problems p ON p.id = f.problem"
                             " JOIN operators o ON o.id = p.operator WHERE" +
                             kNewest + " ORDER BY o.name, f.problem, f.gpu, f.method",
                         op));
  MGTUNE_ASSIGN(const std::vector<FinalistRow> finalists,
                read_all(*database_, read_finalist,
                         "SELECT l.final, v.text, l.build_sha256, l.launch_hash, " +
                             columns_of<FinalistRecord>("l") +
                             ", l.samples_ns"
                             " FROM finalists l JOIN finals f ON f.id = l.final"
                             " JOIN problems p ON p.id = f.problem"
                             " JOIN operators o ON o.id = p.operator"
                             " JOIN variants v ON v.id = l.variant WHERE" +
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
