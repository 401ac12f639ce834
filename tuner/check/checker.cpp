#include "check/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "check/compare.h"
#include "check/device_compare.h"
#include "check/guarded_buffer.h"
#include "check/output_fill.h"
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
  std::vector<Buffer> reference;              // per tensor; empty for inputs
  std::vector<std::vector<double>> expected;  // the same on the host, once it was asked for
  std::vector<double> largest_difference;     // per tensor, that an element may have; where the
                                              // measure is twice_low_precision
  std::vector<std::uint64_t> fingerprints;  // per tensor; of inputs that are compared on the device
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

  Status prepare(Compare compare);
  Result<CheckRecord> check(const LoadedVariant& variant) override;
  std::int64_t set_bytes() const override;
  Result<std::vector<std::vector<LaunchArguments>>> launch_arguments(
      std::span<const LoadedVariant* const> variants, std::int64_t sets) override;

 private:
  Status add_inputs(const Reference& reference, std::uint64_t seed, Placement placement);
  Status add_bounds(const Reference& reference, SeededInputs& inputs);
  bool can_compare_on_device() const;
  bool is_by_baseline() const { return problem_.op->check.measure == Measure::twice_low_precision; }
  double tolerance(const TensorLayout& layout) const;

  Status prepare_tensors(SeededInputs& inputs);
  Result<bool> inputs_are_intact(const SeededInputs& inputs) const;
  Result<Run> launch(const LoadedVariant& variant, SeededInputs& inputs);
  Result<bool> passes_on_device(const SeededInputs& inputs, CheckRecord& record);
  Result<Run> read(const SeededInputs& inputs);
  Result<Run> launch_and_read(const LoadedVariant& variant, SeededInputs& inputs);
  Status read_expected(SeededInputs& inputs);
  Status prepare_workspace(const LoadedVariant& variant, Placement placement);
  Result<std::optional<GuardedBuffer>> make_workspace(const LoadedVariant::WorkspaceSize& size,
                                                      Placement placement);
  Result<std::string> workspace_damage() const;
  LaunchArguments arguments(const ProblemTensors& tensors,
                            const std::optional<GuardedBuffer>& workspace) const;

  void keep_worst(double error, double allowed, CheckRecord& record) const;
  Result<std::string> compare(SeededInputs& inputs, const std::vector<Bytes>& outputs,
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
  std::optional<DeviceCompare> device_compare_;
  std::vector<SeededInputs> inputs_;
  std::vector<ProblemTensors> timed_sets_;  // with the first seed's data
  std::optional<GuardedBuffer> workspace_;
  LoadedVariant::WorkspaceSize workspace_size_;
  std::vector<std::optional<GuardedBuffer>> timed_workspaces_;  // of the variants being timed
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
                  DeviceCompare::make(device_, builder_, layouts_, is_by_baseline()));
  }
  MGTUNE_TRY(add_inputs(reference, 1, Placement::guarded));
  const bool is_cpu = device_.info().kind == DeviceKind::cpu;
  return add_inputs(reference, 2, is_cpu ? Placement::exact : Placement::guarded);
}

// Both seeds' references, and a baseline's results for a while, take a quarter of the device's
// memory at most: variants need the rest.
bool ReferenceChecker::can_compare_on_device() const {
  std::int64_t bytes = 0;
  for (const TensorLayout& layout : layouts_) {
    if (!layout.present || !layout.is_output()) continue;
    if (!DeviceCompare::serves(layout)) return false;
    bytes += (is_by_baseline() ? 3 : 2) * layout.count * static_cast<std::int64_t>(sizeof(double));
  }
  const std::int64_t memory = device_.info().memory_bytes;
  return memory == 0 || bytes <= memory / 4;
}

Status ReferenceChecker::add_inputs(const Reference& reference, std::uint64_t seed,
                                    Placement placement) {
  MGTUNE_ASSIGN(ProblemTensors tensors, ProblemTensors::allocate(device_, layouts_, placement));
  MGTUNE_TRY(reference.fill(tensors, seed));
  MGTUNE_TRY(fill_from_outputs(device_, builder_, problem_, layouts_, scalars_, seed, tensors));
  MGTUNE_ASSIGN(std::vector<Buffer> results, reference.compute(tensors));
  inputs_.push_back({placement, std::move(tensors), std::move(results), {}, {}, {}});
  SeededInputs& inputs = inputs_.back();
  if (is_by_baseline()) MGTUNE_TRY(add_bounds(reference, inputs));
  if (!device_compare_) return read_expected(inputs);
  inputs.fingerprints.resize(layouts_.size());
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    if (!layouts_[i].present || layouts_[i].is_output()) continue;
    MGTUNE_ASSIGN(inputs.fingerprints[i],
                  device_compare_->fingerprint(inputs.tensors.pointers()[i], layouts_[i].bytes()));
  }
  return {};
}

// Twice what the baseline is off by, and the slack of the output's dtype. What is not finite in the
// baseline alone says nothing of variants.
Status ReferenceChecker::add_bounds(const Reference& reference, SeededInputs& inputs) {
  MGTUNE_ASSIGN(const std::vector<Buffer> baseline, reference.compute_baseline(inputs.tensors));
  const Check& check = problem_.op->check;
  inputs.largest_difference.resize(layouts_.size());
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    const TensorLayout& layout = layouts_[i];
    if (!layout.present || !layout.is_output()) continue;
    double worst = 0;
    if (device_compare_) {
      TensorLayout doubles = layout;
      doubles.dtype = DType::f64;
      MGTUNE_ASSIGN(const DifferenceSums sums,
                    device_compare_->compare(doubles, baseline[i].data(),
                                             inputs.reference[i].data(), check.sample_rows));
      worst = sums.worst;
    } else {
      MGTUNE_ASSIGN(const auto low, read_doubles(device_, baseline[i], layout.count));
      MGTUNE_ASSIGN(const auto exact, read_doubles(device_, inputs.reference[i], layout.count));
      for (std::size_t e = 0; e < low.size(); ++e) {
        const double difference = std::fabs(low[e] - exact[e]);
        if (std::isfinite(difference)) worst = std::max(worst, difference);
      }
    }
    const auto slack = check.slack.find(layout.dtype);
    inputs.largest_difference[i] = 2 * worst + (slack == check.slack.end() ? 0 : slack->second);
  }
  return {};
}

// Gives the device's memory back: from here on the host compares.
Status ReferenceChecker::read_expected(SeededInputs& inputs) {
  if (!inputs.expected.empty()) return {};
  std::vector<std::vector<double>> expected(layouts_.size());
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    if (!layouts_[i].present || !layouts_[i].is_output()) continue;
    MGTUNE_ASSIGN(expected[i], read_doubles(device_, inputs.reference[i], layouts_[i].count));
  }
  if (!device_compare_) inputs.reference.clear();
  inputs.expected = std::move(expected);
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

Result<bool> ReferenceChecker::inputs_are_intact(const SeededInputs& inputs) const {
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    if (!layouts_[i].present || layouts_[i].is_output()) continue;
    MGTUNE_ASSIGN(const std::uint64_t now,
                  device_compare_->fingerprint(inputs.tensors.pointers()[i], layouts_[i].bytes()));
    if (now != inputs.fingerprints[i]) return false;
  }
  return true;
}

// Inputs that are still what they were need no copy from the host.
Status ReferenceChecker::prepare_tensors(SeededInputs& inputs) {
  if (!device_compare_) return inputs.tensors.prepare();
  MGTUNE_ASSIGN(const bool intact, inputs_are_intact(inputs));
  return intact ? inputs.tensors.prepare_outputs() : inputs.tensors.prepare();
}

Result<Run> ReferenceChecker::launch(const LoadedVariant& variant, SeededInputs& inputs) {
  MGTUNE_TRY(prepare_tensors(inputs));
  Status status = prepare_workspace(variant, inputs.placement);
  if (status.ok()) status = variant.launch(arguments(inputs.tensors, workspace_));
  if (status.ok()) status = device_.synchronize(nullptr);
  if (!status.ok()) return failed_run(launch_failure(std::move(status)));
  return Run{};
}

// The outputs of a launch, and what it changed and must not have.
Result<Run> ReferenceChecker::read(const SeededInputs& inputs) {
  Run run;
  MGTUNE_ASSIGN(run.outputs, inputs.tensors.read_outputs());
  MGTUNE_ASSIGN(run.message, inputs.tensors.damage(run.outputs));
  if (run.message.empty()) {
    MGTUNE_ASSIGN(run.message, workspace_damage());
  }
  if (!run.message.empty()) run.outcome = Outcome::wrong;
  return run;
}

Result<Run> ReferenceChecker::launch_and_read(const LoadedVariant& variant, SeededInputs& inputs) {
  MGTUNE_ASSIGN(Run run, launch(variant, inputs));
  if (!run.ok()) return run;
  return read(inputs);
}

// The record keeps the worst error so far, as a share of its tolerance.
void ReferenceChecker::keep_worst(double error, double allowed, CheckRecord& record) const {
  const bool is_first = record.error == 0 && record.tolerance == 0;
  if (!is_first && error * record.tolerance <= record.error * allowed) return;
  record.error = error;
  record.tolerance = allowed;
}

// False where the host has to look: the launch is wrong, or its worst element needs a bound of its
// own. Then the record is as it was.
Result<bool> ReferenceChecker::passes_on_device(const SeededInputs& inputs, CheckRecord& record) {
  MGTUNE_ASSIGN(const bool guards, inputs.tensors.guards_are_intact());
  if (!guards) return false;
  MGTUNE_ASSIGN(const bool intact, inputs_are_intact(inputs));
  if (!intact) return false;
  MGTUNE_ASSIGN(const std::string workspace, workspace_damage());
  if (!workspace.empty()) return false;
  CheckRecord updated = record;
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    const TensorLayout& layout = layouts_[i];
    if (!layout.is_output() || !layout.present) continue;
    MGTUNE_ASSIGN(
        const DifferenceSums sums,
        device_compare_->compare(layout, inputs.tensors.pointers()[i], inputs.reference[i].data(),
                                 problem_.op->check.sample_rows));
    if (is_by_baseline()) {
      if (sums.finiteness > 0 || sums.worst > inputs.largest_difference[i]) return false;
      keep_worst(sums.worst, inputs.largest_difference[i], updated);
      continue;
    }
    if (!sums.surely_within(tolerance(layout))) return false;
    keep_worst(sums.relative_error(), tolerance(layout), updated);
  }
  record = updated;
  return true;
}

// What is wrong with the outputs, "" when nothing is.
Result<std::string> ReferenceChecker::compare(SeededInputs& inputs,
                                              const std::vector<Bytes>& outputs,
                                              CheckRecord& record) {
  MGTUNE_TRY(read_expected(inputs));
  std::string message;
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    const TensorLayout& layout = layouts_[i];
    if (!layout.is_output() || !layout.present) continue;
    const double allowed = is_by_baseline() ? inputs.largest_difference[i] : tolerance(layout);
    const auto judge = is_by_baseline() ? compare_by_largest_difference : compare_with_reference;
    const OutputComparison comparison =
        judge(layout, outputs[i], inputs.expected[i], allowed, problem_.op->check.sample_rows);
    keep_worst(comparison.error, allowed, record);
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
    MGTUNE_ASSIGN(Run run, launch_and_read(variant, inputs_.front()));
    const std::string prefix = fmt::format("in thread order {}: ", named.name);
    if (!run.ok()) {
      run.message = prefix + run.message;
      return run;
    }
    if (design.order_dependent) {
      MGTUNE_ASSIGN(const std::string message, compare(inputs_.front(), run.outputs, record));
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
      MGTUNE_ASSIGN(run.message, compare(inputs, run.outputs, record));
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
    for (ProblemTensors& set : timed_sets_) MGTUNE_TRY(set.prepare_as(first));
  }
  // More than one: without guard bands, as a program has its tensors, since where big ones lie to
  // each other may decide how DRAM takes their traffic (results/h200/norms.md). One set alone is
  // not rotated, and a problem that fills most of the memory has no room for a second.
  while (sets > 1 && static_cast<std::int64_t>(timed_sets_.size()) < sets) {
    MGTUNE_ASSIGN(ProblemTensors set,
                  ProblemTensors::allocate(device_, layouts_, Placement::exact));
    MGTUNE_TRY(set.prepare_as(first));
    timed_sets_.push_back(std::move(set));
  }
  workspace_.reset();
  timed_workspaces_.clear();
  std::vector<std::vector<LaunchArguments>> all;
  for (const LoadedVariant* const variant : variants) {
    MGTUNE_ASSIGN(const LoadedVariant::WorkspaceSize size, variant->workspace_size(dims_));
    MGTUNE_ASSIGN(std::optional<GuardedBuffer> workspace,
                  make_workspace(size, inputs_.front().placement));
    std::vector<LaunchArguments>& of_variant = all.emplace_back();
    for (std::int64_t i = 0; i < sets; ++i) {
      const ProblemTensors& set = sets == 1 ? first : timed_sets_[static_cast<std::size_t>(i)];
      of_variant.push_back(arguments(set, workspace));
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
