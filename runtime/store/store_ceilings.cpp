// Ceilings: what a GPU can do at most, as sweeps and calibrations measured it.

#include "store/database.h"
#include "store/row.h"
#include "store/store.h"

namespace mgtune {
namespace {

CeilingView read_ceiling(Row& row) {
  CeilingView view;
  view.sweep = row.integer();
  view.gpu_id = row.integer();
  view.driver = row.text();
  CeilingRecord& ceiling = view.ceiling;
  ceiling.kind = row.text();
  ceiling.method = row.text();
  ceiling.bytes = row.integer();
  ceiling.rate = row.real();
  ceiling.measured_at = row.text();
  ceiling.clocks = read_clocks(row);
  return view;
}

}  // namespace

Status Store::record_ceiling(std::int64_t sweep, std::int64_t gpu, const CeilingRecord& ceiling) {
  const ClockRecord& clocks = ceiling.clocks;
  MGTUNE_ASSIGN(
      Statement insert,
      database_->query("INSERT OR REPLACE INTO ceilings (sweep, gpu, kind, method, bytes, rate,"
                       " measured_at, sm_mhz, memory_mhz, power_w, temperature_c,"
                       " throttle_reasons, throttled_samples)"
                       " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                       sweep, gpu, ceiling.kind, ceiling.method, ceiling.bytes, ceiling.rate,
                       ceiling.measured_at, clocks.sm_mhz, clocks.memory_mhz, clocks.power_w,
                       clocks.temperature_c, clocks.throttle_reasons, clocks.throttled_samples));
  return insert.run();
}

Result<std::vector<CeilingView>> Store::ceilings(std::int64_t gpu) {
  return read_all(*database_, read_ceiling,
                  "SELECT c.sweep, c.gpu, e.driver, c.kind, c.method, c.bytes, c.rate,"
                  " c.measured_at, c.sm_mhz, c.memory_mhz, c.power_w, c.temperature_c,"
                  " c.throttle_reasons, c.throttled_samples"
                  " FROM ceilings c JOIN sweeps s ON s.id = c.sweep"
                  " JOIN environments e ON e.id = s.environment"
                  " WHERE c.id IN (SELECT max(id) FROM ceilings WHERE gpu = ?"
                  " GROUP BY kind, method, bytes) ORDER BY c.kind, c.method, c.bytes",
                  gpu);
}

}  // namespace mgtune
