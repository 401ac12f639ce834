#include "family_check/trial.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>

#include "family_check/trial_text.h"
#include "worker/child_process.h"
#include "worker/worker_failure.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;

// The deadline for one stage of an item. Kernels that never end are stopped earlier, after
// kKernelDeadlineS of trial_worker.cpp, so only a compiler or a GPU that hangs takes this long.
constexpr std::chrono::seconds kStageDeadline{60};

// The next line that the worker itself wrote. Other lines are skipped, because kernels may print
// too.
Result<TrialLine> next_line(ChildProcess& child) {
  const auto deadline = Clock::now() + kStageDeadline;
  for (;;) {
    MGTUNE_ASSIGN(const std::string text, child.read_line(deadline));
    if (!text.starts_with("{\"trial\":")) continue;
    Result<TrialLine> line = decode_trial_line(text);
    if (line.ok()) return line;
  }
}

// The result of the item during which the process ended.
TrialResult lost(ChildProcess& child, const Status& why, TrialResult begun) {
  if (why.code() == StatusCode::timeout) {
    child.kill();
    begun.failure = StatusCode::timeout;
    begun.message = fmt::format("not done within {}", kStageDeadline);
    return begun;
  }
  const std::string end = child.end_description();
  begun.failure = child.ended_from_outside() ? StatusCode::environment : StatusCode::launch_failed;
  begun.message = crash_message(end, child.read_error_output());
  return begun;
}

}  // namespace

Result<std::vector<TrialResult>> run_trials(const std::string& program,
                                            const TrialRequest& request) {
  std::vector<TrialResult> results;
  while (results.size() < request.items.size()) {
    TrialRequest rest = request;
    const auto done = static_cast<std::ptrdiff_t>(results.size());
    rest.items.erase(rest.items.begin(), rest.items.begin() + done);
    MGTUNE_ASSIGN(ChildProcess child,
                  ChildProcess::start({program, "worker", "trial", encode(rest)}));
    TrialResult begun;
    for (std::size_t left = rest.items.size(); left > 0;) {
      Result<TrialLine> line = next_line(child);
      if (!line.ok()) {
        results.push_back(lost(child, line.status(), begun));
        break;
      }
      begun = line->result;
      if (!line->is_done) continue;
      results.push_back(std::move(line->result));
      begun = TrialResult();
      --left;
    }
  }
  return results;
}

}  // namespace mgtune
