#include "calibration/ceiling_source.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "system/utc_now.h"

namespace mgtune {
namespace {

// Memory wears out and fans clog, but not in a month.
constexpr std::chrono::hours kFresh{30 * 24};

StatusCode code_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::unsupported:
      return StatusCode::unsupported;
    case Outcome::timeout:
      return StatusCode::timeout;
    case Outcome::compile_failed:
      return StatusCode::compile_failed;
    default:
      return StatusCode::launch_failed;
  }
}

}  // namespace

Result<std::optional<CeilingRecord>> find_fresh_ceiling(Store& store, std::int64_t gpu,
                                                        const std::string& driver,
                                                        const CeilingNeed& need) {
  const std::string oldest = utc_text(std::chrono::system_clock::now() - kFresh);
  MGTUNE_ASSIGN(const std::vector<CeilingView> ceilings, store.ceilings(gpu));
  const auto found = std::ranges::find_if(ceilings, [&](const CeilingView& view) {
    const CeilingRecord& ceiling = view.ceiling;
    return ceiling.kind == need.kind && ceiling.method == need.method &&
           ceiling.bytes == need.bytes && ceiling.rate > 0 && view.driver == driver &&
           ceiling.clocks.throttled_samples == 0 && ceiling.measured_at >= oldest;
  });
  if (found == ceilings.end()) return std::optional<CeilingRecord>();
  return std::optional(found->ceiling);
}

Result<CeilingRecord> request_ceiling(MeasurePool& workers, std::int64_t request_id,
                                      const CeilingNeed& need) {
  MGTUNE_ASSIGN(WorkReply reply,
                workers.measure({request_id, CeilingRequest{need.kind, need.bytes}}));
  if (reply.ceiling.has_value()) return *std::move(reply.ceiling);
  return Status(code_of(reply.outcome), reply.message);
}

}  // namespace mgtune
