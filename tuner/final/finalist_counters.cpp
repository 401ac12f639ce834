#include "final/finalist_counters.h"

#include <vector>

namespace mgtune {
namespace {

// One problem may be too large for the memory that is left. Two in a row mean that the machine
// refuses.
constexpr int kRefusals = 2;

void add(const std::string& what, std::string& text) {
  if (text.find(what) == std::string::npos) text += (text.empty() ? "" : "; ") + what;
}

}  // namespace

Result<std::string> count_finalists(SweepShared& shared, const Problem& problem,
                                    const TunedRecord& tuned,
                                    std::span<const Contender> finalists) {
  std::string text;
  if (!shared.counter.has_value()) return text;
  const Operator& op = *problem.op;
  for (const Contender& finalist : finalists) {
    const ResultKey key{tuned.gpu, tuned.problem, finalist.build_sha256, finalist.launch_hash, ""};
    MGTUNE_ASSIGN(const std::vector<CounterRecord> known, shared.store.counters(key));
    if (!known.empty()) continue;
    if (shared.counters_refused >= kRefusals) {
      add("not counted: refused for the problems before", text);
      return text;
    }
    if (shared.should_stop()) return std::string("not counted: the sweep was stopped");
    const Result<WorkReply> reply = shared.counter->run(
        {{{shared.options.kernel_of(op.full_name()), op.full_name(), problem.text()},
          finalist.variant},
         1});
    if (reply.ok() && reply->outcome == Outcome::ok) {
      shared.counters_refused = 0;
      MGTUNE_ASSIGN(const std::int64_t sweep, shared.journal.begin());
      MGTUNE_TRY(
          shared.store.record_counters(sweep, key, finalist.variant, reply->counters->values));
      if (!reply->counters->note.empty()) add("counted with " + reply->counters->note, text);
      continue;
    }
    if (shared.should_stop()) return std::string("not counted: the sweep was stopped");
    add("not counted: " +
            (reply.ok() ? finalist.variant + ": " + reply->message : reply.status().message()),
        text);
    if (reply.status().code() == StatusCode::environment) {
      ++shared.counters_refused;
      return text;
    }
  }
  return text;
}

}  // namespace mgtune
