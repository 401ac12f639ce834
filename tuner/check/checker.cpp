#include "check/checker.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "check/compare.h"
#include "check/device_compare.h"
#include "check/failure_outcome.h"
#include "check/reference.h"
#include "check/thread_orders.h"
#include "tensors/seeded_inputs.h"
#include "tensors/tensor_layout.h"
#include "tensors/timed_sets.h"
#include "tensors/workspace_buffer.h"

namespace mgtune {
namespace {

// The result of one launch.
struct Run {
  Outcome outcome = Outcome::ok;
  std::string message;
  std::vector<Bytes> outputs;  // per tensor; empty for inputs, and unless ok or wrong

  bool ok() const { return outcome == Outcome::ok; }
};

// A failure of the variant is a result. Any other failure, and a device that is lost with it, is
// not.
Result<Run> failed_run(Status failure) {
  const std::optional<Outcome> outcome = outcome_of(failure);
  if (!outcome || failure.code() == StatusCode::device_lost) return failure;
  return Run{*outcome, failure.message(), {}};
}

class ReferenceChecker final : public Checker {
 public:
  ReferenceChecker(Device& device, Builder& builder, const Problem& problem)
      : device_(device), builder_(builder), problem_(problem), timed_sets_(device, layouts_) {}

  Status prepare(Compare compare);
  Result<CheckRecord> check(const LoadedVariant& variant) override;
  std::int64_t set_bytes() const override;
  Result<std::vector<std::vector<LaunchArguments>>> launch_arguments(
      std::span<const LoadedVariant* const> variants, std::int64_t own_sets) override;

 private:
  bool can_compare_on_device() const;

  Result<Run> launch(const LoadedVariant& variant, SeededInputs& inputs);
  Result<bool> passes_on_device(const SeededInputs& inputs, CheckRecord& record) const;
  Result<Run> read(const SeededInputs& inputs) const;
  Result<Run> launch_and_read(const LoadedVariant& variant, SeededInputs& inputs);
  Status prepare_workspace(const LoadedVariant& variant, Placement placement);
  Result<WorkspaceBuffer> make_workspace(const LoadedVariant& variant, Placement placement) const;
  LaunchArguments arguments(const ProblemTensors& tensors, const WorkspaceBuffer& workspace) const;

  std::string first_order_difference(const Run& forward, const Run& other) const;
  Result<Run> try_other_orders(const LoadedVariant& variant, const Run& forward,
                               CheckRecord& record);
  Result<std::string> race_note(const LoadedVariant& variant);

  Device& device_;
  Builder& builder_;
  Problem problem_;
  std::vector<TensorLayout> layouts_;
  std::vector<std::int64_t> dims_;  // dynamic and hint ones
  std::vector<ScalarValue> scalars_;
  std::optional<DeviceCompare> device_compare_;
  std::vector<SeededInputs> inputs_;
  WorkspaceBuffer workspace_;  // of the variant that is checked
  TimedSets timed_sets_;
  std::vector<WorkspaceBuffer> timed_workspaces_;  // of the variants being timed
};

Status ReferenceChecker::prepare(Compare compare) {
  MGTUNE_ASSIGN(layouts_, tensor_layouts(problem_));
  for (const Dim& dim : problem_.op->dims) {
    if (dim.kind == DimKind::fixed) continue;
    dims_.push_back(problem_.slots[static_cast<std::size_t>(dim.slot)]);
  }
  MGTUNE_ASSIGN(const Reference reference, Reference::make(device_, builder_, problem_, layouts_));
  scalars_ = reference.scalars();
  if (compare == Compare::on_device && can_compare_on_device()) {
    MGTUNE_ASSIGN(device_compare_,
                  DeviceCompare::make(device_, builder_, layouts_, is_by_baseline(problem_)));
  }
  const SeededInputs::Parts parts{device_, builder_, problem_, layouts_,
                                  device_compare_ ? &*device_compare_ : nullptr};
  const bool is_cpu = device_.info().kind == DeviceKind::cpu;
  const Placement second = is_cpu ? Placement::exact : Placement::guarded;
  for (const auto& [seed, placement] : {std::pair(1, Placement::guarded), std::pair(2, second)}) {
    MGTUNE_ASSIGN(SeededInputs inputs, SeededInputs::make(parts, reference, seed, placement));
    inputs_.push_back(std::move(inputs));
  }
  return {};
}

// The references of both seeds, and for a while the results of a baseline, take at most a quarter
// of the device's memory: variants need the rest.
bool ReferenceChecker::can_compare_on_device() const {
  std::int64_t bytes = 0;
  for (const TensorLayout& layout : layouts_) {
    if (!layout.present || !layout.is_output()) continue;
    if (!DeviceCompare::serves(layout)) return false;
    bytes += (is_by_baseline(problem_) ? 3 : 2) * layout.count *
             static_cast<std::int64_t>(sizeof(double));
  }
  const std::int64_t memory = device_.info().memory_bytes;
  return memory == 0 || bytes <= memory / 4;
}

Result<WorkspaceBuffer> ReferenceChecker::make_workspace(const LoadedVariant& variant,
                                                         Placement placement) const {
  MGTUNE_ASSIGN(const LoadedVariant::WorkspaceSize size, variant.workspace_size(dims_));
  return WorkspaceBuffer::allocate(device_, size, set_bytes(), placement);
}

// The workspaces of the previous variants are freed first.
Status ReferenceChecker::prepare_workspace(const LoadedVariant& variant, Placement placement) {
  timed_workspaces_.clear();
  workspace_ = WorkspaceBuffer();
  MGTUNE_ASSIGN(workspace_, make_workspace(variant, placement));
  return {};
}

LaunchArguments ReferenceChecker::arguments(const ProblemTensors& tensors,
                                            const WorkspaceBuffer& workspace) const {
  LaunchArguments arguments;
  arguments.dims = dims_;
  arguments.tensors = tensors.pointers();
  arguments.scalars = scalars_;
  arguments.workspace = workspace.data();
  return arguments;
}

Result<Run> ReferenceChecker::launch(const LoadedVariant& variant, SeededInputs& inputs) {
  MGTUNE_TRY(inputs.prepare());
  Status status = prepare_workspace(variant, inputs.placement());
  if (status.ok()) status = variant.launch(arguments(inputs.tensors(), workspace_));
  if (status.ok()) status = device_.synchronize(nullptr);
  if (!status.ok()) return failed_run(launch_failure(std::move(status)));
  return Run{};
}

// The outputs of a launch, and what it changed but must not change.
Result<Run> ReferenceChecker::read(const SeededInputs& inputs) const {
  Run run;
  MGTUNE_ASSIGN(run.outputs, inputs.tensors().read_outputs());
  MGTUNE_ASSIGN(run.message, inputs.tensors().damage(run.outputs));
  if (run.message.empty()) {
    MGTUNE_ASSIGN(run.message, workspace_.damage());
  }
  if (!run.message.empty()) run.outcome = Outcome::wrong;
  return run;
}

Result<Run> ReferenceChecker::launch_and_read(const LoadedVariant& variant, SeededInputs& inputs) {
  MGTUNE_ASSIGN(Run run, launch(variant, inputs));
  if (!run.ok()) return run;
  return read(inputs);
}

Result<bool> ReferenceChecker::passes_on_device(const SeededInputs& inputs,
                                                CheckRecord& record) const {
  MGTUNE_ASSIGN(const std::string damage, workspace_.damage());
  if (!damage.empty()) return false;
  return inputs.passes_on_device(record);
}

std::string ReferenceChecker::first_order_difference(const Run& forward, const Run& other) const {
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    std::string place = first_difference(layouts_[i], forward.outputs[i], other.outputs[i]);
    if (!place.empty()) return place;
  }
  return {};
}

Result<std::string> ReferenceChecker::race_note(const LoadedVariant& variant) {
  SeededInputs& inputs = inputs_.front();
  MGTUNE_TRY(device_.set_thread_order({}));
  MGTUNE_TRY(inputs.tensors().prepare());
  MGTUNE_TRY(prepare_workspace(variant, inputs.placement()));
  Result<std::string> report = race_report(device_, builder_, problem_.binding(), variant.variant(),
                                           arguments(inputs.tensors(), workspace_));
  // The difference between the orders is reported even without it.
  if (!report.ok()) return " (the race checker failed: " + report.status().message() + ")";
  return report->empty() ? std::string() : " " + *report;
}

Result<Run> ReferenceChecker::try_other_orders(const LoadedVariant& variant, const Run& forward,
                                               CheckRecord& record) {
  const Design& design = problem_.op->designs[static_cast<std::size_t>(variant.variant().design)];
  const ThreadOrderGuard guard(device_);
  for (const NamedOrder& named : other_thread_orders()) {
    MGTUNE_TRY(device_.set_thread_order(named.order));
    MGTUNE_ASSIGN(Run run, launch_and_read(variant, inputs_.front()));
    const std::string prefix = fmt::format("in thread order {}: ", named.name);
    if (!run.ok()) {
      run.message = prefix + run.message;
      return run;
    }
    if (design.order_dependent) {
      MGTUNE_ASSIGN(const std::string message, inputs_.front().compare(run.outputs, record));
      if (!message.empty()) return Run{Outcome::wrong, prefix + message, {}};
      continue;
    }
    const std::string place = first_order_difference(forward, run);
    if (place.empty()) continue;
    MGTUNE_ASSIGN(const std::string note, race_note(variant));
    return Run{Outcome::wrong,
               fmt::format("outputs differ between thread orders forward and {}, first at {}: a "
                           "barrier is missing?{}",
                           named.name, place, note),
               {}};
  }
  return Run{};
}

Result<CheckRecord> ReferenceChecker::check(const LoadedVariant& variant) {
  CheckRecord record;
  const bool is_cpu = device_.info().kind == DeviceKind::cpu;
  for (SeededInputs& inputs : inputs_) {
    MGTUNE_ASSIGN(Run run, launch(variant, inputs));
    if (run.ok() && device_compare_) {
      MGTUNE_ASSIGN(const bool passes, passes_on_device(inputs, record));
      if (passes) continue;
    }
    if (run.ok()) {
      MGTUNE_ASSIGN(run, read(inputs));
    }
    if (run.ok()) {
      MGTUNE_ASSIGN(run.message, inputs.compare(run.outputs, record));
      if (!run.message.empty()) run.outcome = Outcome::wrong;
      // This is done after a wrong result too, because different results of the orders explain why
      // it is wrong.
      if (is_cpu && &inputs == &inputs_.front()) {
        MGTUNE_ASSIGN(Run other, try_other_orders(variant, run, record));
        if (!other.ok()) {
          if (!run.ok()) other.message += "; in order forward " + run.message;
          run = std::move(other);
        }
      }
    }
    if (run.ok()) continue;
    record.outcome = run.outcome;
    record.message = std::move(run.message);
    return record;
  }
  return record;
}

std::int64_t ReferenceChecker::set_bytes() const {
  std::int64_t bytes = 0;
  for (const TensorLayout& layout : layouts_) {
    if (layout.present) bytes += static_cast<std::int64_t>(layout.bytes());
  }
  return bytes;
}

Result<std::vector<std::vector<LaunchArguments>>> ReferenceChecker::launch_arguments(
    std::span<const LoadedVariant* const> variants, std::int64_t own_sets) {
  ProblemTensors& checked = inputs_.front().tensors();
  MGTUNE_TRY(timed_sets_.provide(own_sets, checked));
  workspace_ = WorkspaceBuffer();
  timed_workspaces_.clear();
  std::vector<std::vector<LaunchArguments>> all;
  for (const LoadedVariant* const variant : variants) {
    MGTUNE_ASSIGN(WorkspaceBuffer workspace, make_workspace(*variant, Placement::guarded));
    std::vector<LaunchArguments>& of_variant = all.emplace_back();
    if (own_sets == 0) of_variant.push_back(arguments(checked, workspace));
    for (std::int64_t i = 0; i < own_sets; ++i) {
      of_variant.push_back(arguments(timed_sets_[i], workspace));
    }
    timed_workspaces_.push_back(std::move(workspace));
  }
  return all;
}

}  // namespace

Result<std::unique_ptr<Checker>> Checker::make(Device& device, Builder& builder,
                                               const Problem& problem,
                                               std::optional<Compare> compare) {
  const bool is_cpu = device.info().kind == DeviceKind::cpu;
  auto checker = std::make_unique<ReferenceChecker>(device, builder, problem);
  MGTUNE_TRY(checker->prepare(compare.value_or(is_cpu ? Compare::on_host : Compare::on_device)));
  return std::unique_ptr<Checker>(std::move(checker));
}

}  // namespace mgtune
