#include "steps/plan_set.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "steps/mgr_status.h"

namespace mgtune::engine {
namespace {

std::string text_of(const KernelCall& call) {
  std::string text = call.operator_name;
  for (const auto& [name, value] : call.assignments) text += fmt::format(" {}={}", name, value);
  for (const auto& [name, value] : call.dims) text += fmt::format(" {}={}", name, value);
  return text;
}

}  // namespace

Result<ShapePlan> PlanSet::plan(const KernelCall& call) {
  const std::string text = text_of(call);
  auto place = plans_.find(text);
  if (place == plans_.end()) {
    std::vector<mgr_assignment_t> assignments;
    for (const auto& [name, value] : call.assignments) {
      assignments.push_back({name.c_str(), value.c_str()});
    }
    std::vector<mgr_range_t> ranges;
    for (const auto& [name, value] : call.dims) {
      if (value >= 0) ranges.push_back({name.c_str(), value, value});
    }
    const mgr_plan_options_t options{sizeof(options),    call.operator_name.c_str(),
                                     assignments.data(), assignments.size(),
                                     ranges.data(),      ranges.size()};
    mgr_plan_t* plan = nullptr;
    MGTUNE_TRY(from_mgr(mgr_plan(context_, &options, &plan)));
    Owned owned{std::unique_ptr<mgr_plan_t, FreePlan>(plan), {nullptr, FreeMemory{context_}}};
    if (const std::size_t bytes = mgr_workspace_bytes(plan); bytes != 0) {
      void* workspace = nullptr;
      MGTUNE_TRY(from_mgr(mgr_allocate(context_, bytes, &workspace)));
      owned.workspace.reset(workspace);
      MGTUNE_TRY(from_mgr(mgr_workspace_init(plan, workspace, nullptr)));
    }
    place = plans_.emplace(text, std::move(owned)).first;
  }
  return ShapePlan{place->second.plan.get(), place->second.workspace.get()};
}

}  // namespace mgtune::engine
