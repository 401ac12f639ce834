#include "database/pick_queries.h"

namespace mgtune {
namespace {

std::string key_columns(std::int64_t format) {
  return format < kFormatWithKeys ? "'', 0.0" : "t.kind, t.size";
}

}  // namespace

std::string picks_sql(const std::string& where, std::int64_t format) {
  return "SELECT t.sweep, t.gpu, t.problem, v.text, ifnull(d.text, ''), " + key_columns(format) +
         ", " + columns_of<TunedRecord>("t") + ", o.name, p.text, p.bytes, p.flops, " +
         columns_of<GpuRecord>("g") +
         " FROM tuned t JOIN gpus g ON g.id = t.gpu JOIN problems p ON p.id = t.problem"
         " JOIN operators o ON o.id = p.operator JOIN variants v ON v.id = t.variant"
         " LEFT JOIN variants d ON d.id = t.default_variant WHERE " +
         where + " ORDER BY o.name, t.problem, t.gpu, t.method";
}

TunedView read_pick(Row& row) {
  TunedView view;
  TunedRecord& tuned = view.tuned;
  row.read(tuned.sweep, tuned.gpu, tuned.problem, tuned.variant, tuned.default_variant,
           tuned.key.kind, tuned.key.size, tuned, view.op, view.problem, view.bytes, view.flops,
           view.gpu);
  return view;
}

std::string picks_by_size_sql(bool upwards) {
  return "SELECT t.sweep, t.problem, p.text, v.text, t.method, t.build_sha256, t.median_ns, t.size"
         " FROM tuned t INDEXED BY tuned_by_kind CROSS JOIN problems p ON p.id = t.problem"
         " CROSS JOIN variants v ON v.id = t.variant WHERE t.kind = ?1 AND t.gpu = ?2 AND t.size " +
         std::string(upwards ? ">= ?3 ORDER BY t.size" : "< ?3 ORDER BY t.size DESC");
}

TunedView read_pick_by_size(Row& row) {
  TunedView view;
  TunedRecord& tuned = view.tuned;
  row.read(tuned.sweep, tuned.problem, view.problem, tuned.variant, tuned.method,
           tuned.build_sha256, tuned.median_ns, tuned.key.size);
  return view;
}

Result<std::vector<FailureView>> read_failures(Database& database, const std::string& op,
                                               std::int64_t format) {
  const auto read_failure = [](Row& row) {
    FailureView view;
    row.read(view.op, view.variant, view.outcome, view.gpu);
    return view;
  };
  const std::string by_index = format < kFormatWithKeys ? "" : " INDEXED BY outcomes_that_failed";
  // Drivers report different sizes of one GPU's memory, so the newer result may be of another row
  // of `gpus`.
  return read_all(database, read_failure,
                  "SELECT o.name, v.text, r.outcome, " + columns_of<GpuRecord>("g") +
                      " FROM outcomes r" + by_index +
                      " CROSS JOIN sweeps s ON s.id = r.sweep JOIN gpus g ON g.id = s.gpu"
                      " JOIN variants v ON v.id = r.variant JOIN operators o ON o.id = v.operator"
                      " WHERE r.outcome IN ('wrong', 'crashed', 'timeout', 'launch_failed')"
                      " AND (?1 = '' OR o.name = ?1)"
                      " AND NOT EXISTS (SELECT 1 FROM outcomes n JOIN sweeps t ON t.id = n.sweep"
                      " JOIN gpus h ON h.id = t.gpu WHERE n.problem = r.problem"
                      " AND n.variant = r.variant AND n.id > r.id AND h.model = g.model"
                      " AND h.sm_count = g.sm_count AND h.mig_profile = g.mig_profile)"
                      " ORDER BY r.id",
                  op);
}

}  // namespace mgtune
