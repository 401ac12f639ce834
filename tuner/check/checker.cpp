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

// The problem's tensors with the inputs of one seed, and what the reference makes of them.
struct SeededInputs {
  Placement placement;
  ProblemTensors tensors;
  std::vector<std::vector<double>> expected;  // per tensor; empty for inputs
};

// How one launch ended.
struct Run {
  Outcome outcome = Outcome::ok;
  std::string message;
  std::vector<Bytes> outputs;  // per tensor; empty for inputs, and unless ok or wrong

  bool ok() const { return outcome == Outcome::ok; }
};

// A failure of the variant is a result; any other, and a device that is lost with it, is not.
Result<Run> failed_run(Status failure) {
  const std::optional<Outcome> outcome = outcome_of(failure);
  if (!outcome || failure.code() == StatusCode::device_lost) return failure;
  return Run{*outcome, failure.message(), {}};
}

class ReferenceChecker final : public Checker {
 public:
  ReferenceChecker(Device& device, Builder& builder, const Problem& problem)
      : device_(device), builder_(builder), problem_(problem) {}

  Status prepare();
  Result<CheckRecord> check(const LoadedVariant& variant) override;
  std::int64_t set_bytes() const override;
  Result<std::vector<std::vector<LaunchArguments>>> launch_arguments(
      std::span<const LoadedVariant* const> variants, std::int64_t sets) override;

 private:
  Status add_inputs(const Reference& reference, std::uint64_t seed, Placement placement);
  double tolerance(const TensorLayout& layout) const;

  Result<Run> launch(const LoadedVariant& variant, SeededInputs& inputs);
  Status prepare_workspace(const LoadedVariant& variant, Placement placement);
  Result<std::optional<GuardedBuffer>> make_workspace(const LoadedVariant::WorkspaceSize& size,
                                                      Placement placement);
  Result<std::string> workspace_damage() const;
  LaunchArguments arguments(const ProblemTensors& tensors,
                            const std::optional<GuardedBuffer>& workspace) const;

  std::string compare(const SeededInputs& inputs, const std::vector<Bytes>& outputs,
                      CheckRecord& record);
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
  std::vector<SeededInputs> inputs_;
  std::vector<ProblemTensors> more_sets_;  // besides the first seed's, to be timed
  std::optional<GuardedBuffer> workspace_;
  LoadedVariant::WorkspaceSize workspace_size_;
  std::vector<std::optional<GuardedBuffer>> timed_workspaces_;  // of the variants being timed
};

Status ReferenceChecker::prepare() {
  MGTUNE_ASSIGN(layouts_, tensor_layouts(problem_));
  for (const Dim& dim : problem_.op->dims) {
    if (dim.kind == DimKind::fixed) continue;
    dims_.push_back(problem_.slots[static_cast<std::size_t>(dim.slot)]);
  }
  MGTUNE_ASSIGN(const Reference reference, Reference::make(device_, builder_, problem_, layouts_));
  scalars_ = reference.scalars();
  MGTUNE_TRY(add_inputs(reference, 1, Placement::guarded));
  const bool is_cpu = device_.info().kind == DeviceKind::cpu;
  return add_inputs(reference, 2, is_cpu ? Placement::exact : Placement::guarded);
}

Status ReferenceChecker::add_inputs(const Reference& reference, std::uint64_t seed,
                                    Placement placement) {
  MGTUNE_ASSIGN(ProblemTensors tensors, ProblemTensors::allocate(device_, layouts_, placement));
  MGTUNE_TRY(reference.fill(tensors, seed));
  MGTUNE_ASSIGN(auto results, reference.compute(tensors));
  inputs_.push_back({placement, std::move(tensors), std::move(results)});
  return {};
}

// Decoding sees to an entry for every output.
double ReferenceChecker::tolerance(const TensorLayout& layout) const {
  const auto found = problem_.op->check.tolerance.find(layout.dtype);
  return found == problem_.op->check.tolerance.end() ? 0 : found->second;
}

Status ReferenceChecker::prepare_workspace(const LoadedVariant& variant, Placement placement) {
  MGTUNE_ASSIGN(workspace_size_, variant.workspace_size(dims_));
  timed_workspaces_.clear();
  workspace_.reset();
  MGTUNE_ASSIGN(workspace_, make_workspace(workspace_size_, placement));
  return {};
}

// None for a size of 0.
Result<std::optional<GuardedBuffer>> ReferenceChecker::make_workspace(
    const LoadedVariant::WorkspaceSize& size, Placement placement) {
  if (size.bytes == 0) return std::optional<GuardedBuffer>();
  const auto bytes = static_cast<std::size_t>(size.bytes);
  const auto zeroed = static_cast<std::size_t>(size.zeroed_bytes);
  Result<GuardedBuffer> buffer =
      GuardedBuffer::allocate(device_, bytes, kWorkspaceAlignment, placement);
  if (!buffer.ok()) {
    const std::int64_t memory = device_.info().memory_bytes;
    if (memory > 0 && size.bytes + set_bytes() > memory) {
      return unsupported(fmt::format("its workspace of {} bytes does not fit into the device's {}",
                                     size.bytes, memory));
    }
    return std::move(buffer).take_status().with_context("workspace");
  }
  MGTUNE_TRY(device_.fill_bytes(buffer->data(), 0xff, bytes, nullptr));
  if (zeroed > 0) MGTUNE_TRY(device_.fill_bytes(buffer->data(), 0, zeroed, nullptr));
  MGTUNE_TRY(device_.synchronize(nullptr));
  return std::optional<GuardedBuffer>(*std::move(buffer));
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

LaunchArguments ReferenceChecker::arguments(const ProblemTensors& tensors,
                                            const std::optional<GuardedBuffer>& workspace) const {
  LaunchArguments arguments;
  arguments.dims = dims_;
  arguments.tensors = tensors.pointers();
  arguments.scalars = scalars_;
  arguments.workspace = workspace ? workspace->data() : nullptr;
  return arguments;
}

Result<Run> ReferenceChecker::launch(const LoadedVariant& variant, SeededInputs& inputs) {
  MGTUNE_TRY(inputs.tensors.prepare());
  Status status = prepare_workspace(variant, inputs.placement);
  if (status.ok()) status = variant.launch(arguments(inputs.tensors, workspace_));
  if (status.ok()) status = device_.synchronize(nullptr);
  if (!status.ok()) return failed_run(launch_failure(std::move(status)));

  Run run;
  MGTUNE_ASSIGN(run.outputs, inputs.tensors.read_outputs());
  MGTUNE_ASSIGN(run.message, inputs.tensors.damage(run.outputs));
  if (run.message.empty()) {
    MGTUNE_ASSIGN(run.message, workspace_damage());
  }
  if (!run.message.empty()) run.outcome = Outcome::wrong;
  return run;
}

// What is wrong with the outputs, "" when nothing is. The record keeps the worst error so far, as a
// share of its tolerance.
std::string ReferenceChecker::compare(const SeededInputs& inputs, const std::vector<Bytes>& outputs,
                                      CheckRecord& record) {
  std::string message;
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    const TensorLayout& layout = layouts_[i];
    if (!layout.is_output() || !layout.present) continue;
    const double allowed = tolerance(layout);
    const OutputComparison comparison = compare_with_reference(
        layout, outputs[i], inputs.expected[i], allowed, problem_.op->check.sample_rows);
    const bool is_first = record.error == 0 && record.tolerance == 0;
    if (is_first || comparison.error * record.tolerance > record.error * allowed) {
      record.error = comparison.error;
      record.tolerance = allowed;
    }
    if (message.empty() && !comparison.message.empty()) {
      message = is_untouched(layout, outputs[i]) ? layout.name + " was never written: " : "";
      message += comparison.message;
    }
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
  SeededInputs& inputs = inputs_.front();
  MGTUNE_TRY(device_.set_thread_order({}));
  MGTUNE_TRY(inputs.tensors.prepare());
  MGTUNE_TRY(prepare_workspace(variant, inputs.placement));
  Result<std::string> report = race_report(device_, builder_, problem_.binding(), variant.variant(),
                                           arguments(inputs.tensors, workspace_));
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
    MGTUNE_ASSIGN(Run run, launch(variant, inputs_.front()));
    const std::string prefix = fmt::format("in thread order {}: ", named.name);
    if (!run.ok()) {
      run.message = prefix + run.message;
      return run;
    }
    if (design.order_dependent) {
      const std::string message = compare(inputs_.front(), run.outputs, record);
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
    if (run.ok()) {
      run.message = compare(inputs, run.outputs, record);
      if (!run.message.empty()) run.outcome = Outcome::wrong;
      // After a wrong result too: that the orders differ says why it is wrong.
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
    std::span<const LoadedVariant* const> variants, std::int64_t sets) {
  ProblemTensors& first = inputs_.front().tensors;
  // A launch leaves an inout tensor changed, and on and on from there its values may overflow.
  const bool refresh = std::ranges::any_of(
      layouts_, [](const TensorLayout& layout) { return layout.role == Role::inout; });
  if (refresh) {
    MGTUNE_TRY(first.prepare());
    for (ProblemTensors& set : more_sets_) MGTUNE_TRY(set.prepare_as(first));
  }
  while (static_cast<std::int64_t>(more_sets_.size()) < sets - 1) {
    MGTUNE_ASSIGN(ProblemTensors set,
                  ProblemTensors::allocate(device_, layouts_, Placement::exact));
    MGTUNE_TRY(set.prepare_as(first));
    more_sets_.push_back(std::move(set));
  }
  workspace_.reset();
  timed_workspaces_.clear();
  std::vector<std::vector<LaunchArguments>> all;
  for (const LoadedVariant* const variant : variants) {
    MGTUNE_ASSIGN(const LoadedVariant::WorkspaceSize size, variant->workspace_size(dims_));
    MGTUNE_ASSIGN(std::optional<GuardedBuffer> workspace,
                  make_workspace(size, inputs_.front().placement));
    std::vector<LaunchArguments>& of_variant = all.emplace_back();
    of_variant.push_back(arguments(first, workspace));
    for (std::int64_t i = 1; i < sets; ++i) {
      of_variant.push_back(arguments(more_sets_[static_cast<std::size_t>(i - 1)], workspace));
    }
    timed_workspaces_.push_back(std::move(workspace));
  }
  return all;
}

}  // namespace

Result<std::unique_ptr<Checker>> Checker::make(Device& device, Builder& builder,
                                               const Problem& problem) {
  auto checker = std::make_unique<ReferenceChecker>(device, builder, problem);
  MGTUNE_TRY(checker->prepare());
  return std::unique_ptr<Checker>(std::move(checker));
}

std::optional<Outcome> outcome_of(const Status& failure) {
  switch (failure.code()) {
    case StatusCode::compile_failed:
      return Outcome::compile_failed;
    case StatusCode::launch_failed:
      return Outcome::launch_failed;
    case StatusCode::timeout:
      return Outcome::timeout;
    case StatusCode::unsupported:
      return Outcome::unsupported;
    case StatusCode::device_lost:  // an access out of bounds on a GPU ends its context
      return Outcome::crashed;
    case StatusCode::ok:
    case StatusCode::invalid_argument:
    case StatusCode::not_found:
    case StatusCode::environment:
    case StatusCode::corrupt:
    case StatusCode::incompatible:
    case StatusCode::io:
    case StatusCode::internal:
      return std::nullopt;
  }
  return std::nullopt;
}

Status launch_failure(Status status) {
  if (status.code() != StatusCode::invalid_argument) return status;
  return {StatusCode::launch_failed, status.message()};
}

}  // namespace mgtune
