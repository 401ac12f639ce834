// PlanSet: the plans of the kernels that programs launch, each with its workspace. Equal calls
// share a plan. It owns them; the context must outlive it. One thread at a time.

#pragma once

#include <map>
#include <memory>
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

  // What mgr_plan() says. Builds and loads kernels, unless the set has the plan already.
  Result<ShapePlan> plan(const KernelCall& call);

  std::size_t size() const { return plans_.size(); }

 private:
  struct FreePlan {
    void operator()(mgr_plan_t* plan) const { mgr_plan_free(plan); }
  };
  struct FreeMemory {
    mgr_context_t* context;
    void operator()(void* memory) const { mgr_free(context, memory); }
  };
  struct Owned {
    std::unique_ptr<mgr_plan_t, FreePlan> plan;
    std::unique_ptr<void, FreeMemory> workspace;
  };

  mgr_context_t* context_;
  std::map<std::string, Owned> plans_;  // by the text of operator, assignments and dims
};

}  // namespace mgtune::engine
