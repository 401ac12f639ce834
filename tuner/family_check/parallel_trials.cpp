#include "family_check/parallel_trials.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>

#include "system/cores.h"

namespace mgtune {

Result<std::vector<std::vector<TrialResult>>> run_in_parallel(
    const std::string& program, const std::vector<TrialRequest>& requests) {
  std::vector<std::vector<TrialResult>> results(requests.size());
  std::vector<Status> failures(requests.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < requests.size(); i = next++) {
      Result<std::vector<TrialResult>> result = run_trials(program, requests[i]);
      failures[i] = result.status();
      if (result.ok()) results[i] = *std::move(result);
    }
  };
  {
    const std::size_t processors = own_core_count();
    std::vector<std::jthread> threads;  // the end of this block waits for them
    for (std::size_t i = 1; i < std::min(processors, requests.size()); ++i) {
      threads.emplace_back(work);
    }
    work();
  }
  for (Status& failure : failures) MGTUNE_TRY(std::move(failure));
  return results;
}

}  // namespace mgtune
