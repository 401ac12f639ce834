#include "final/count_finalists.h"

#include <vector>

namespace mgtune {
namespace {

// If the machine refuses one problem, the problem may be too large for the free memory. If it
// refuses two in a row, we assume that it always refuses.
constexpr int kRefusals = 2;

void add_reason(const std::string& what, std::string& text) {
  if (text.find(what) == std::string::npos) text += (text.empty() ? "" : "; ") + what;
}

}  // namespace

Result<std::string> count_finalists(SweepShared& shared, const TunedView& view,
                                    std::span<const OutcomeRecord> finalists) {
  std::string text;
  if (!shared.counter.has_value()) return text;
  for (const OutcomeRecord& finalist : finalists) {
    const ResultKey key{view.tuned.gpu, view.tuned.problem, finalist.build.sha256,
                        finalist.key.launch_hash, ""};
    MGTUNE_ASSIGN(const std::vector<CounterRecord> known, shared.store.counters(key));
    if (!known.empty()) continue;
    if (shared.counters_refused >= kRefusals) {
      add_reason("not counted: refused for the problems before", text);
      return text;
    }
    if (shared.should_stop()) return std::string("not counted: the sweep was stopped");
    const Result<WorkReply> reply = shared.counter->run(
        {shared.next_request++, CountRequest{{shared.named_problem(view), finalist.variant}, 1}});
    if (reply.ok() && reply->outcome == Outcome::ok) {
      shared.counters_refused = 0;
      MGTUNE_ASSIGN(const std::int64_t sweep, shared.journal.begin());
      MGTUNE_TRY(
          shared.store.record_counters(sweep, key, finalist.variant, reply->counters->values));
      if (!reply->counters->note.empty()) add_reason("counted with " + reply->counters->note, text);
      continue;
    }
    if (shared.should_stop()) return std::string("not counted: the sweep was stopped");
    add_reason("not counted: " + (reply.ok() ? finalist.variant + ": " + reply->message
                                             : reply.status().message()),
               text);
    if (reply.status().code() == StatusCode::environment) {
      ++shared.counters_refused;
      return text;
    }
  }
  return text;
}

}  // namespace mgtune
