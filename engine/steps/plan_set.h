// PlanSet: the plans of the kernels that programs launch, each with its workspace. Equal calls
// share a plan. It owns them; the context must outlive it. One thread at a time.

#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "core/status.h"
#include "mgruntime/mgruntime.h"
#include "steps/kernel_call.h"

namespace mgtune::engine {

// A plan for the shape of one call, with its workspace.
struct ShapePlan {
  const mgr_plan_t* plan = nullptr;
  void* workspace = nullptr;
};

class PlanSet {
 public:
  explicit PlanSet(mgr_context_t* context) : context_(context) {}

  // Builds and loads the kernels of all calls, with a thread per CPU. Fails as mgr_prepare() does.
  Status add(std::span<const KernelCall> calls);

  // From now on, find() of this call returns a plan that has only this variant; with "", the plan
  // that add() made. The call must have been added. All plans stay valid. It fails as mgr_plan()
  // does, and then nothing changes.
  Status choose(const KernelCall& call, const std::string& variant);

  ShapePlan find(const KernelCall& call) const;  // the call must have been added

 private:
  struct FreePlan {
    void operator()(mgr_plan_t* plan) const { mgr_plan_free(plan); }
  };
  struct FreeMemory {
    mgr_context_t* context;
    void operator()(void* memory) const { mgr_free(context, memory); }
  };
  // Each plan has its own workspace. Launches that run one after the other could share one, but
  // every plan initializes its workspace in its own way.
  struct Owned {
    std::unique_ptr<mgr_plan_t, FreePlan> plan;
    std::unique_ptr<void, FreeMemory> workspace;
  };

  Status add_workspace(Owned& owned);

  mgr_context_t* context_;
  std::map<std::string, Owned> plans_;  // by the text of operator, assignments and dims
  // By that text and the variant; chosen_ has the plan that choose() has set for a text.
  std::map<std::string, Owned> variant_plans_;
  std::map<std::string, const Owned*> chosen_;
};

}  // namespace mgtune::engine
