#include "steps/plan_set.h"

#include <string>
#include <utility>
#include <vector>

#include "steps/mgr_status.h"

namespace mgtune::engine {
namespace {

// The options of a plan for the shape of a call, which must outlive it.
struct PlanRequest {
  std::vector<mgr_assignment_t> assignments;
  std::vector<mgr_range_t> ranges;
  mgr_plan_options_t options{};

  void set(const KernelCall& call) {
    for (const auto& [name, value] : call.assignments) {
      assignments.push_back({name.c_str(), value.c_str()});
    }
    for (const auto& [name, value] : call.dims) {
      if (value >= 0) ranges.push_back({name.c_str(), value, value});
    }
    options.struct_size = sizeof(options);
    options.operator_name = call.operator_name.c_str();
    options.assignments = assignments.data();
    options.assignment_count = assignments.size();
    options.ranges = ranges.data();
    options.range_count = ranges.size();
  }
};

}  // namespace

Status PlanSet::add(std::span<const KernelCall> calls) {
  std::map<std::string, const KernelCall*> missing;
  for (const KernelCall& call : calls) {
    std::string text = text_of(call);
    if (!plans_.contains(text)) missing.emplace(std::move(text), &call);
  }
  std::vector<PlanRequest> requests(missing.size());
  std::vector<const mgr_plan_options_t*> options;
  for (std::size_t i = 0; const auto& [text, call] : missing) {
    requests[i].set(*call);
    options.push_back(&requests[i++].options);
  }
  std::vector<mgr_plan_t*> plans(missing.size(), nullptr);
  Status status =
      from_mgr(mgr_prepare(context_, options.data(), options.size(), 0, plans.data(), nullptr));
  for (std::size_t i = 0; const auto& [text, call] : missing) {
    Owned owned{std::unique_ptr<mgr_plan_t, FreePlan>(plans[i++]), {nullptr, FreeMemory{context_}}};
    if (owned.plan != nullptr) plans_.emplace(text, std::move(owned));
  }
  MGTUNE_TRY(std::move(status));
  for (auto& [text, owned] : plans_) MGTUNE_TRY(add_workspace(owned));
  return {};
}

Status PlanSet::add_workspace(Owned& owned) {
  const std::size_t bytes = mgr_workspace_bytes(owned.plan.get());
  if (bytes == 0 || owned.workspace != nullptr) return {};
  void* workspace = nullptr;
  MGTUNE_TRY(from_mgr(mgr_allocate(context_, bytes, &workspace)));
  owned.workspace.reset(workspace);
  return from_mgr(mgr_workspace_init(owned.plan.get(), workspace, nullptr));
}

Status PlanSet::choose(const KernelCall& call, const std::string& variant) {
  const std::string text = text_of(call);
  if (variant.empty()) {
    chosen_.erase(text);
    return {};
  }
  const std::string key = text + " as " + variant;
  auto place = variant_plans_.find(key);
  if (place == variant_plans_.end()) {
    PlanRequest request;
    request.set(call);
    request.options.variant = variant.c_str();
    mgr_plan_t* plan = nullptr;
    MGTUNE_TRY(from_mgr(mgr_plan(context_, &request.options, &plan)));
    Owned owned{std::unique_ptr<mgr_plan_t, FreePlan>(plan), {nullptr, FreeMemory{context_}}};
    MGTUNE_TRY(add_workspace(owned));
    place = variant_plans_.emplace(key, std::move(owned)).first;
  }
  chosen_[text] = &place->second;
  return {};
}

ShapePlan PlanSet::find(const KernelCall& call) const {
  const std::string text = text_of(call);
  const auto chosen = chosen_.find(text);
  const Owned& owned = chosen == chosen_.end() ? plans_.at(text) : *chosen->second;
  return {owned.plan.get(), owned.workspace.get()};
}

}  // namespace mgtune::engine
