// MgrPlanOptions: the options of mgr_plan for an operator, with the arrays that they point to.
// Names and values are string literals, or outlive it.

#pragma once

#include <mgruntime/mgruntime.h>

#include <utility>
#include <vector>

namespace mgtune {

class MgrPlanOptions {
 public:
  MgrPlanOptions(const char* op, std::vector<mgr_assignment_t> assignments,
                 std::vector<mgr_range_t> ranges)
      : assignments_(std::move(assignments)), ranges_(std::move(ranges)) {
    options_.struct_size = sizeof(options_);
    options_.operator_name = op;
    options_.assignments = assignments_.data();
    options_.assignment_count = assignments_.size();
    options_.ranges = ranges_.data();
    options_.range_count = ranges_.size();
  }
  MgrPlanOptions(const MgrPlanOptions&) = delete;
  MgrPlanOptions& operator=(const MgrPlanOptions&) = delete;

  const mgr_plan_options_t* get() const { return &options_; }

 private:
  const std::vector<mgr_assignment_t> assignments_;
  const std::vector<mgr_range_t> ranges_;
  mgr_plan_options_t options_{};
};

}  // namespace mgtune
