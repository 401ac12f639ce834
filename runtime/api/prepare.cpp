// mgr_prepare: plans by several threads.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/boundary.h"
#include "api/handles.h"
#include "system/cores.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxThreads = 64;

struct Prepared {
  std::unique_ptr<mgr_plan_s> plan;
  mgr_status_t status = MGR_OK;
  std::string message;
};

void prepare(const std::shared_ptr<Context>& context, const mgr_plan_options_t* options,
             Prepared& prepared) {
  prepared.status = guarded([&]() -> Status {
    MGTUNE_ASSIGN(prepared.plan, make_plan(context, options));
    return {};
  });
  if (prepared.status != MGR_OK) prepared.message = mgr_last_error();
}

std::vector<Prepared> prepare_all(const std::shared_ptr<Context>& context,
                                  std::span<const mgr_plan_options_t* const> problems,
                                  std::size_t threads) {
  if (threads == 0) threads = own_core_count();
  threads = std::min({threads, problems.size(), kMaxThreads});
  std::vector<Prepared> all(problems.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < problems.size(); i = next++) {
      prepare(context, problems[i], all[i]);
    }
  };
  // The calling thread is one of them. If a thread does not start, the others do its work.
  std::vector<std::jthread> helpers;
  helpers.reserve(kMaxThreads);
  try {
    while (helpers.size() + 1 < threads) helpers.emplace_back(work);
  } catch (const std::system_error&) {
  }
  work();
  helpers.clear();
  return all;
}

}  // namespace
}  // namespace mgtune

mgr_status_t mgr_prepare(mgr_context_t* context, const mgr_plan_options_t* const* problems,
                         size_t problem_count, size_t threads, mgr_plan_t** plans,
                         mgr_status_t* statuses) {
  using mgtune::Prepared;
  mgr_status_t first = MGR_OK;
  std::string failures;
  const mgr_status_t status = mgtune::guarded([&]() -> mgtune::Status {
    if (context == nullptr) return mgtune::invalid_argument("context is null");
    if (problems == nullptr && problem_count > 0) {
      return mgtune::invalid_argument("problems is null, but its count is not 0");
    }
    std::vector<Prepared> all =
        mgtune::prepare_all(context->context, {problems, problem_count}, threads);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (statuses != nullptr) statuses[i] = all[i].status;
      if (all[i].status == MGR_OK) {
        if (plans != nullptr) plans[i] = all[i].plan.release();
        continue;
      }
      if (plans != nullptr) plans[i] = nullptr;
      if (first == MGR_OK) first = all[i].status;
      failures += fmt::format("{}problem {}: {}", failures.empty() ? "" : "\n", i, all[i].message);
    }
    return {};
  });
  if (status != MGR_OK || first == MGR_OK) return status;
  return mgtune::fail(first, failures.c_str());
}
