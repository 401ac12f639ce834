#include "check/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "check/compare.h"
#include "check/guarded_buffer.h"
#include "check/problem_tensors.h"
#include "check/reference.h"
#include "check/tensor_layout.h"
#include "check/thread_orders.h"

namespace mgtune {
namespace {

// One seed's data.
struct Trial {
  Placement placement;
  ProblemTensors tensors;
  std::vector<std::vector<double>> reference;  // per tensor; empty for inputs
};

// How one launch ended.
struct Run {
  Outcome outcome = Outcome::ok;
  std::string message;
  std::vector<Bytes> outputs;  // per tensor; empty for inputs, and unless ok or wrong

  bool ok() const { return outcome == Outcome::ok; }
};

// A failure of the variant is a result; the device's is not.
Result<Run> failed_run(Status failure) {
  if (failure.code() == StatusCode::device_lost || failure.code() == StatusCode::internal) {
    return failure;
  }
  return Run{outcome_of(failure), failure.message(), {}};
}

class ReferenceChecker final : public Checker {
 public:
  ReferenceChecker(Device& device, Builder& builder, const Problem& problem)
      : device_(device), builder_(builder), problem_(problem) {}

  Status prepare();
  Result<CheckRecord> check(const LoadedVariant& variant) override;
  Result<LaunchArguments> launch_arguments(const LoadedVariant& variant) override;

 private:
  Status add_trial(const Reference& reference, std::uint64_t seed, Placement placement);
  double tolerance(const TensorLayout& layout) const;

  Result<Run> launch(const LoadedVariant& variant, Trial& trial);
  Status prepare_workspace(const LoadedVariant& variant, Placement placement);
  Result<std::string> workspace_damage() const;
  LaunchArguments arguments(const Trial& trial) const;

  std::string compare(const Trial& trial, const std::vector<Bytes>& outputs, CheckRecord& record);
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
  std::vector<Trial> trials_;
  std::optional<GuardedBuffer> workspace_;
  LoadedVariant::WorkspaceSize workspace_size_;
};

Status ReferenceChecker::prepare() {
  MGTUNE_ASSIGN(layouts_, tensor_layouts(problem_));
  for (const Dim& dim : problem_.op->dims) {
    if (dim.kind == DimKind::fixed) continue;
    dims_.push_back(problem_.slots[static_cast<std::size_t>(dim.slot)]);
  }
  MGTUNE_ASSIGN(const Reference reference, Reference::make(device_, builder_, problem_, layouts_));
  scalars_ = reference.scalars();
  MGTUNE_TRY(add_trial(reference, 1, Placement::guarded));
  const bool is_cpu = device_.info().kind == DeviceKind::cpu;
  return add_trial(reference, 2, is_cpu ? Placement::exact : Placement::guarded);
}

Status ReferenceChecker::add_trial(const Reference& reference, std::uint64_t seed,
                                   Placement placement) {
  MGTUNE_ASSIGN(ProblemTensors tensors, ProblemTensors::allocate(device_, layouts_, placement));
  MGTUNE_TRY(reference.fill(tensors, seed));
  MGTUNE_ASSIGN(auto results, reference.compute(tensors));
  trials_.push_back({placement, std::move(tensors), std::move(results)});
  return {};
}

// Decoding sees to an entry for every output.
double ReferenceChecker::tolerance(const TensorLayout& layout) const {
  const auto found = problem_.op->check.tolerance.find(layout.dtype);
  return found == problem_.op->check.tolerance.end() ? 0 : found->second;
}

Status ReferenceChecker::prepare_workspace(const LoadedVariant& variant, Placement placement) {
  MGTUNE_ASSIGN(workspace_size_, variant.workspace_size(dims_));
  workspace_.reset();
  if (workspace_size_.bytes == 0) return {};
  const auto bytes = static_cast<std::size_t>(workspace_size_.bytes);
  const auto zeroed = static_cast<std::size_t>(workspace_size_.zeroed_bytes);
  Result<GuardedBuffer> buffer =
      GuardedBuffer::allocate(device_, bytes, kWorkspaceAlignment, placement);
  if (!buffer.ok()) return std::move(buffer).take_status().with_context("workspace");
  workspace_.emplace(std::move(*buffer));
  MGTUNE_TRY(device_.fill_bytes(workspace_->data(), 0xff, bytes, nullptr));
  if (zeroed > 0) MGTUNE_TRY(device_.fill_bytes(workspace_->data(), 0, zeroed, nullptr));
  return device_.synchronize(nullptr);
}

Result<std::string> ReferenceChecker::workspace_damage() const {
  if (!workspace_) return std::string();
  MGTUNE_ASSIGN(const std::string outside, workspace_->damage());
  if (!outside.empty()) return "workspace: " + outside;
  Bytes zeroed(static_cast<std::size_t>(workspace_size_.zeroed_bytes));
  if (zeroed.empty()) return std::string();
  MGTUNE_TRY(device_.copy_to_host(zeroed.data(), workspace_->data(), zeroed.size()));
  const auto left = std::ranges::find_if(zeroed, [](unsigned char byte) { return byte != 0; });
  if (left == zeroed.end()) return std::string();
  return fmt::format(
      "workspace: byte {} is not zero after the launch, and the next one relies on it",
      left - zeroed.begin());
}

LaunchArguments ReferenceChecker::arguments(const Trial& trial) const {
  LaunchArguments arguments;
  arguments.dims = dims_;
  arguments.tensors = trial.tensors.pointers();
  arguments.scalars = scalars_;
  arguments.workspace = workspace_ ? workspace_->data() : nullptr;
  return arguments;
}

Result<Run> ReferenceChecker::launch(const LoadedVariant& variant, Trial& trial) {
  MGTUNE_TRY(trial.tensors.prepare());
  Status status = prepare_workspace(variant, trial.placement);
  if (status.ok()) status = variant.launch(arguments(trial));
  if (status.ok()) status = device_.synchronize(nullptr);
  if (!status.ok()) return failed_run(std::move(status));

  Run run;
  MGTUNE_ASSIGN(run.outputs, trial.tensors.read_outputs());
  MGTUNE_ASSIGN(run.message, trial.tensors.damage(run.outputs));
  if (run.message.empty()) {
    MGTUNE_ASSIGN(run.message, workspace_damage());
  }
  if (!run.message.empty()) run.outcome = Outcome::wrong;
  return run;
}

// What is wrong with the outputs, "" when nothing is. The record keeps the worst error so far, as a
// share of its tolerance.
std::string ReferenceChecker::compare(const Trial& trial, const std::vector<Bytes>& outputs,
                                      CheckRecord& record) {
  std::string message;
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    const TensorLayout& layout = layouts_[i];
    if (!layout.is_output() || !layout.present) continue;
    const double allowed = tolerance(layout);
    const OutputComparison comparison = compare_with_reference(
        layout, outputs[i], trial.reference[i], allowed, problem_.op->check.sample_rows);
    const bool is_first = record.error == 0 && record.tolerance == 0;
    if (is_first || comparison.error * record.tolerance > record.error * allowed) {
      record.error = comparison.error;
      record.tolerance = allowed;
    }
    if (message.empty()) message = comparison.message;
  }
  return message;
}

std::string ReferenceChecker::first_order_difference(const Run& forward, const Run& other) const {
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    std::string place = first_difference(layouts_[i], forward.outputs[i], other.outputs[i]);
    if (!place.empty()) return place;
  }
  return {};
}

Result<std::string> ReferenceChecker::race_note(const LoadedVariant& variant) {
  Trial& trial = trials_.front();
  MGTUNE_TRY(device_.set_thread_order({}));
  MGTUNE_TRY(trial.tensors.prepare());
  MGTUNE_TRY(prepare_workspace(variant, trial.placement));
  Result<std::string> report =
      race_report(device_, builder_, problem_.binding(), variant.variant(), arguments(trial));
  // The difference between the orders stands without it.
  if (!report.ok()) return " (the race checker failed: " + report.status().message() + ")";
  return report->empty() ? std::string() : " " + *report;
}

Result<Run> ReferenceChecker::try_other_orders(const LoadedVariant& variant, const Run& forward,
                                               CheckRecord& record) {
  const Design& design = problem_.op->designs[static_cast<std::size_t>(variant.variant().design)];
  const ThreadOrderGuard guard(device_);
  for (const NamedOrder& named : other_thread_orders()) {
    MGTUNE_TRY(device_.set_thread_order(named.order));
    MGTUNE_ASSIGN(Run run, launch(variant, trials_.front()));
    const std::string prefix = fmt::format("in thread order {}: ", named.name);
    if (!run.ok()) {
      run.message = prefix + run.message;
      return run;
    }
    if (design.order_dependent) {
      const std::string message = compare(trials_.front(), run.outputs, record);
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
  for (Trial& trial : trials_) {
    MGTUNE_ASSIGN(Run run, launch(variant, trial));
    if (run.ok()) {
      run.message = compare(trial, run.outputs, record);
      if (!run.message.empty()) run.outcome = Outcome::wrong;
      // After a wrong result too: that the orders differ says why it is wrong.
      if (is_cpu && &trial == &trials_.front()) {
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

Result<LaunchArguments> ReferenceChecker::launch_arguments(const LoadedVariant& variant) {
  MGTUNE_TRY(trials_.front().tensors.prepare());
  MGTUNE_TRY(prepare_workspace(variant, trials_.front().placement));
  return arguments(trials_.front());
}

}  // namespace

Result<std::unique_ptr<Checker>> Checker::make(Device& device, Builder& builder,
                                               const Problem& problem) {
  auto checker = std::make_unique<ReferenceChecker>(device, builder, problem);
  MGTUNE_TRY(checker->prepare());
  return std::unique_ptr<Checker>(std::move(checker));
}

Outcome outcome_of(const Status& failure) {
  switch (failure.code()) {
    case StatusCode::compile_failed:
      return Outcome::compile_failed;
    case StatusCode::environment:  // more memory than the device has
    case StatusCode::launch_failed:
      return Outcome::launch_failed;
    case StatusCode::timeout:
      return Outcome::timeout;
    case StatusCode::unsupported:
      return Outcome::unsupported;
    default:
      return Outcome::crashed;
  }
}

}  // namespace mgtune
