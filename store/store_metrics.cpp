// Writes and reads the metrics of problems.

#include <algorithm>

#include "database/database.h"
#include "database/row.h"
#include "store/row_groups.h"
#include "store/store.h"
#include "store/transaction.h"
#include "store/write.h"

namespace mgtune {
namespace {

MetricsView read_metrics(Row& row) {
  MetricsView view;
  row.read(view.op, view.problem, view.metrics.emplace_back());
  return view;
}

}  // namespace

Status Store::record_metrics(std::int64_t problem, std::span<const MetricRecord> metrics) {
  MGTUNE_ASSIGN(const std::vector<MetricRecord> stored,
                read_all(*database_, read_record<MetricRecord>,
                         "SELECT " + columns_of<MetricRecord>("m") +
                             " FROM metrics m WHERE m.problem = ? ORDER BY m.id",
                         problem));
  if (std::ranges::equal(stored, metrics)) return {};  // nearly always, and needs no lock
  MGTUNE_ASSIGN(Transaction transaction, Transaction::begin(*database_));
  MGTUNE_TRY(TableRow({{"problem", problem}}).erase(*database_, "metrics"));
  for (const MetricRecord& metric : metrics) {
    MGTUNE_TRY(TableRow({{"problem", problem}})
                   .add(metric)
                   .insert(*database_, "INSERT INTO metrics")
                   .status());
  }
  return transaction.commit();
}

Result<std::vector<MetricsView>> Store::metrics(const std::string& op) {
  return read_groups(
      *database_, read_metrics, [](MetricsView& view) { return &view.metrics; },
      "SELECT m.problem, o.name, p.text, " + columns_of<MetricRecord>("m") +
          " FROM metrics m JOIN problems p ON p.id = m.problem"
          " JOIN operators o ON o.id = p.operator WHERE ?1 = '' OR o.name = ?1"
          " ORDER BY o.name, m.problem, m.id",
      op);
}

}  // namespace mgtune
