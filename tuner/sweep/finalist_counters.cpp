#include "sweep/finalist_counters.h"

#include <utility>
#include <vector>

#include "dispatch/loaded_variant.h"
#include "family/variant.h"

namespace mgtune {

Result<std::string> count_finalists(SweepShared& shared, const Problem& problem,
                                    const TunedRecord& tuned,
                                    std::span<const Contender> finalists) {
  if (!shared.counter.has_value()) return std::string();
  const Operator& op = *problem.op;
  std::string missing;
  for (const Contender& finalist : finalists) {
    if (!shared.counters_refused.empty()) return shared.counters_refused;
    if (shared.should_stop()) return std::string("not counted: stopped");
    MGTUNE_ASSIGN(const Variant variant, parse_variant(op, finalist.variant));
    const ResultKey key{tuned.gpu, tuned.problem, finalist.build_sha256, launch_hash(op, variant),
                        ""};
    MGTUNE_ASSIGN(const std::vector<CounterRecord> known, shared.store.counters(key));
    if (!known.empty()) continue;
    const Result<std::vector<CounterRecord>> counters = shared.counter->count(
        {shared.options.kernel, op.full_name(), problem.text(), finalist.variant, 1});
    if (counters.ok()) {
      MGTUNE_ASSIGN(const std::int64_t sweep, shared.journal.begin());
      MGTUNE_TRY(shared.store.record_counters(sweep, key, finalist.variant, *counters));
      continue;
    }
    missing = "not counted: " + counters.status().message();
    if (counters.status().code() == StatusCode::environment) shared.counters_refused = missing;
  }
  return missing;
}

}  // namespace mgtune
