// The structs behind the opaque handles of mgruntime.h.

#pragma once

#include <memory>
#include <string>

#include "api/context.h"
#include "api/extent_check.h"
#include "api/recorder.h"
#include "dispatch/plan.h"
#include "mgruntime/mgruntime.h"

// The Context is shared so that a plan can outlive the mgr_close() of its context.
struct mgr_context_s {
  std::shared_ptr<mgtune::Context> context;
};

struct mgr_plan_s {
  std::shared_ptr<mgtune::Context> context;
  std::unique_ptr<mgtune::Plan> plan;
  std::unique_ptr<mgtune::ExtentCheck> extents;
  std::string source_lines;                        // of Context, when the plan was made
  std::unique_ptr<mgtune::PlanRecorder> recorder;  // null unless MGTUNE_RECORD is set
};

namespace mgtune {

// The plan that the options describe. Thread-safe, as Context::plan().
Result<std::unique_ptr<mgr_plan_s>> make_plan(const std::shared_ptr<Context>& context,
                                              const mgr_plan_options_t* options);

}  // namespace mgtune
