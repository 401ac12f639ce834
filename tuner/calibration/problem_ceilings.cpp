#include "calibration/problem_ceilings.h"

#include "calibration/ceiling_source.h"
#include "ceilings/ceiling.h"
#include "sweep/sweep_shared.h"

namespace mgtune {
namespace {

// Operations per byte. Below this, no GPU since Turing is limited by arithmetic (an H200 reaches
// its fp32 peak at 14, a T4 at 25), so the arithmetic peaks are not measured for such a problem.
constexpr double kArithmeticIntensity = 4;

}  // namespace

Status ProblemCeilings::measure_once(TunedView& view) {
  const auto bytes = static_cast<std::int64_t>(view.bytes);
  if (tried_ || shared_.device.kind == DeviceKind::cpu || bytes <= 0) return {};
  tried_ = true;
  MGTUNE_ASSIGN(const double copy_rate, rate("copy", bytes, view));
  if (copy_rate > 0) view.copy_ns = view.bytes / copy_rate * 1e9;
  if (view.flops < kArithmeticIntensity * view.bytes) return {};
  for (const std::string& kind : ceiling_kinds()) {
    if (is_memory_ceiling(kind)) continue;
    MGTUNE_TRY(rate(kind, 0, view).status());
  }
  return {};
}

// From the store while it is fresh, otherwise measured. 0 if the device has no such ceiling or it
// could not be measured, which says nothing about the variants.
Result<double> ProblemCeilings::rate(const std::string& kind, std::int64_t bytes,
                                     const TunedView& view) {
  const CeilingNeed need{kind, shared_.options.method.name, bytes};
  MGTUNE_ASSIGN(const std::optional<CeilingRecord> known,
                find_fresh_ceiling(shared_.store, shared_.gpu_id, shared_.device.driver, need));
  if (known.has_value()) return known->rate;
  const Result<CeilingRecord> measured =
      request_ceiling(shared_.workers, shared_.next_request++, need);
  if (measured.ok()) {
    MGTUNE_ASSIGN(const std::int64_t sweep, shared_.journal.begin());
    MGTUNE_TRY(shared_.store.record_ceiling(sweep, shared_.gpu_id, *measured));
    return measured->rate;
  }
  if (!shared_.should_stop() && measured.status().code() != StatusCode::unsupported) {
    shared_.summary.skipped.push_back("the " + kind + " ceiling of " + view.problem + ": " +
                                      measured.status().message());
  }
  return 0.0;
}

}  // namespace mgtune
