#include "check/checker.h"

#include <fmt/format.h>

#include <array>
#include <sstream>
#include <string>
#include <utility>

#include "family/variant.h"
#include "worker/worker_failure.h"

namespace mgtune {
namespace {

struct NamedOrder {
  const char* name;
  ThreadOrder order;
};

// The thread orders that are tried after `forward`, with which every check starts.
constexpr std::array kOtherOrders = {
    NamedOrder{"reversed", {ThreadOrder::Kind::reversed, 0}},
    NamedOrder{"shuffled (seed 1)", {ThreadOrder::Kind::shuffled, 1}},
    NamedOrder{"shuffled (seed 2)", {ThreadOrder::Kind::shuffled, 2}},
};

// Its destructor sets the device back to forward.
class ThreadOrderGuard {
 public:
  explicit ThreadOrderGuard(Device& device) : device_(device) {}
  ThreadOrderGuard(const ThreadOrderGuard&) = delete;
  ThreadOrderGuard& operator=(const ThreadOrderGuard&) = delete;
  // A device that accepted one order accepts forward too, so there is nothing to report here.
  ~ThreadOrderGuard() { static_cast<void>(device_.set_thread_order({})); }

 private:
  Device& device_;
};

// The first element whose bits differ in two runs; "" if none differs.
std::string first_order_difference(const std::vector<TensorLayout>& layouts,
                                   const std::vector<Bytes>& a, const std::vector<Bytes>& b) {
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    std::string place = first_difference(layouts[i], a[i], b[i]);
    if (!place.empty()) return place;
  }
  return {};
}

// The lines of a compiler's log that warn of a variable without a value. If the warning only says
// that it may be used without a value, this is often a false alarm; such lines count only with
// `with_doubtful`.
std::string uninitialized_warnings(const std::string& log, bool with_doubtful) {
  std::string found;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("uninitialized") == std::string::npos) continue;
    if (!with_doubtful && line.find("may be used") != std::string::npos) continue;
    if (line.find(" warning: ") != std::string::npos) found += (found.empty() ? "" : "\n") + line;
  }
  return found;
}

}  // namespace

Status Checker::prepare(Compare compare) {
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
  const SeededInputs::Context context{device_, builder_, problem_, layouts_,
                                      device_compare_ ? &*device_compare_ : nullptr};
  const bool is_cpu = device_.info().kind == DeviceKind::cpu;
  const Placement second = is_cpu ? Placement::exact : Placement::guarded;
  for (const auto& [seed, placement] : {std::pair(1, Placement::guarded), std::pair(2, second)}) {
    MGTUNE_ASSIGN(SeededInputs inputs, SeededInputs::make(context, reference, seed, placement));
    inputs_.push_back(std::move(inputs));
  }
  return {};
}

// Only if the references of both seeds, and for a while the results of a baseline, take at most a
// quarter of the device's memory. Variants need the rest.
bool Checker::can_compare_on_device() const {
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

Result<WorkspaceBuffer> Checker::make_workspace(const LoadedVariant& variant, Placement placement,
                                                WorkspaceBuffer last) const {
  MGTUNE_ASSIGN(const LoadedVariant::WorkspaceSize size, variant.workspace_size(dims_));
  return WorkspaceBuffer::allocate(device_, size, set_bytes(), placement, std::move(last));
}

WorkspaceBuffer Checker::last_workspace() {
  WorkspaceBuffer last =
      std::move(timed_workspaces_.empty() ? workspace_ : timed_workspaces_.front());
  timed_workspaces_.clear();
  workspace_ = WorkspaceBuffer();
  return last;
}

Status Checker::prepare_workspace(const LoadedVariant& variant, Placement placement) {
  MGTUNE_ASSIGN(workspace_, make_workspace(variant, placement, last_workspace()));
  return {};
}

LaunchArguments Checker::arguments(const ProblemTensors& tensors,
                                   const WorkspaceBuffer& workspace) const {
  LaunchArguments arguments;
  arguments.dims = dims_;
  arguments.tensors = tensors.pointers();
  arguments.scalars = scalars_;
  arguments.workspace = workspace.data();
  return arguments;
}

Result<Checker::Run> Checker::launch(const LoadedVariant& variant, SeededInputs& inputs) {
  MGTUNE_TRY(inputs.prepare());
  return launch_prepared(variant, inputs);
}

Result<Checker::Run> Checker::launch_prepared(const LoadedVariant& variant, SeededInputs& inputs) {
  Status status = prepare_workspace(variant, inputs.placement());
  if (status.ok()) status = variant.launch(arguments(inputs.tensors(), workspace_));
  if (status.ok()) status = device_.synchronize(nullptr);
  if (status.ok()) return Run{};
  // A failure of the variant is a result. Any other failure is not a result, and neither is the
  // failure of a variant that made the device fail.
  status = launch_failure(std::move(status));
  const std::optional<Outcome> outcome = outcome_of(status);
  if (!outcome || status.code() == StatusCode::device_lost) return status;
  return Run{*outcome, status.message(), {}};
}

// If inputs or guard bands had changed before the launch, they are made again and the launch is
// repeated, once.
Result<bool> Checker::passes_on_device(const LoadedVariant& variant, SeededInputs& inputs, Run& run,
                                       CheckRecord& record) {
  using Verdict = SeededInputs::Verdict;
  Verdict verdict = Verdict::repeat;
  for (const bool is_fresh : {false, true}) {
    if (is_fresh) MGTUNE_TRY(inputs.prepare());
    MGTUNE_TRY(inputs.prepare_outputs());
    MGTUNE_ASSIGN(run, launch_prepared(variant, inputs));
    if (!run.ok()) return false;
    MGTUNE_ASSIGN(const std::string damage, workspace_.damage());
    if (!damage.empty()) return false;
    MGTUNE_ASSIGN(verdict, inputs.judge_on_device(record));
    if (verdict != Verdict::repeat) break;
  }
  return verdict == Verdict::passes;
}

// Reads the outputs of a launch, and finds what the launch changed but must not change.
Result<Checker::Run> Checker::read(const SeededInputs& inputs) const {
  Run run;
  MGTUNE_ASSIGN(run.outputs, inputs.tensors().read_outputs());
  MGTUNE_ASSIGN(run.message, inputs.tensors().damage(run.outputs));
  if (run.message.empty()) {
    MGTUNE_ASSIGN(run.message, workspace_.damage());
  }
  if (!run.message.empty()) run.outcome = Outcome::wrong;
  return run;
}

Status Checker::launch_checked(const LoadedVariant& variant, const LaunchArguments& arguments,
                               bool unwritten) {
  const Binding binding = problem_.binding();
  MGTUNE_ASSIGN(const Slots slots,
                compile_slots(binding, variant.variant(), device_.info().limits));
  MGTUNE_ASSIGN(const BuildRequest request,
                variant_build_request(*problem_.op, variant.variant(), slots, "cpu-race"));
  MGTUNE_ASSIGN(const Build build, builder_.build(request));
  MGTUNE_ASSIGN(const std::unique_ptr<LoadedVariant> loaded,
                LoadedVariant::load(device_, binding, variant.variant(), build));
  device_.refuse_unwritten_reads(unwritten);
  Status status = loaded->launch(arguments);
  device_.refuse_unwritten_reads(false);
  if (!status.ok()) return status;
  std::string warnings = uninitialized_warnings(build.log, unwritten);
  return warnings.empty() ? Status() : Status(StatusCode::launch_failed, std::move(warnings));
}

Status Checker::find_faults(const LoadedVariant& variant, bool unwritten) {
  SeededInputs& inputs = inputs_.front();
  MGTUNE_TRY(device_.set_thread_order({}));
  MGTUNE_TRY(inputs.tensors().prepare());
  MGTUNE_TRY(prepare_workspace(variant, inputs.placement()));
  Status status = launch_checked(variant, arguments(inputs.tensors(), workspace_), unwritten);
  return status.code() == StatusCode::unsupported ? Status() : status;
}

Result<std::string> Checker::race_note(const LoadedVariant& variant) {
  const Status faults = find_faults(variant, false);
  if (faults.ok()) return std::string();
  // If the race checker fails, the difference between the orders is still reported.
  if (faults.code() == StatusCode::launch_failed) return " " + faults.message();
  return " (the race checker failed: " + faults.message() + ")";
}

Result<Checker::Run> Checker::try_other_orders(const LoadedVariant& variant, const Run& forward,
                                               CheckRecord& record) {
  const Design& design = problem_.op->designs[static_cast<std::size_t>(variant.variant().design)];
  const ThreadOrderGuard guard(device_);
  for (const NamedOrder& named : kOtherOrders) {
    MGTUNE_TRY(device_.set_thread_order(named.order));
    MGTUNE_ASSIGN(Run run, launch(variant, inputs_.front()));
    if (run.ok()) {
      MGTUNE_ASSIGN(run, read(inputs_.front()));
    }
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
    const std::string place = first_order_difference(layouts_, forward.outputs, run.outputs);
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

Result<CheckRecord> Checker::check(const LoadedVariant& variant, Orders orders) {
  CheckRecord record;
  const bool has_orders = device_.info().kind == DeviceKind::cpu && orders == Orders::all;
  for (SeededInputs& inputs : inputs_) {
    Run run;
    if (device_compare_) {
      MGTUNE_ASSIGN(const bool passes, passes_on_device(variant, inputs, run, record));
      if (passes) continue;
    } else {
      MGTUNE_ASSIGN(run, launch(variant, inputs));
    }
    if (run.ok()) {
      MGTUNE_ASSIGN(run, read(inputs));
    }
    if (run.ok()) {
      MGTUNE_ASSIGN(run.message, inputs.compare(run.outputs, record));
      if (!run.message.empty()) run.outcome = Outcome::wrong;
      // This is done after a wrong result too, because different results of the orders explain why
      // it is wrong.
      if (has_orders && &inputs == &inputs_.front()) {
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

Result<Checker::LaunchReport> Checker::launch_once(const LoadedVariant& variant) {
  SeededInputs& inputs = inputs_.front();
  MGTUNE_ASSIGN(Run run, launch(variant, inputs));
  if (!run.ok()) return LaunchReport{run.outcome, run.message, {}};
  MGTUNE_ASSIGN(run, read(inputs));
  LaunchReport report{run.outcome, run.message, {}};
  MGTUNE_ASSIGN(report.outputs, inputs.describe(run.outputs));
  for (const OutputReport& output : report.outputs) {
    if (output.message.empty() || report.outcome != Outcome::ok) continue;
    report.outcome = Outcome::wrong;
    report.message = output.message;
  }
  return report;
}

std::int64_t Checker::set_bytes() const {
  std::int64_t bytes = 0;
  for (const TensorLayout& layout : layouts_) {
    if (layout.present) bytes += static_cast<std::int64_t>(layout.bytes());
  }
  return bytes;
}

Result<std::vector<std::vector<LaunchArguments>>> Checker::launch_arguments(
    std::span<const LoadedVariant* const> variants, std::int64_t own_sets) {
  ProblemTensors& checked = inputs_.front().tensors();
  MGTUNE_TRY(timed_sets_.provide(own_sets, checked));
  WorkspaceBuffer last = last_workspace();
  std::vector<std::vector<LaunchArguments>> all;
  for (const LoadedVariant* const variant : variants) {
    MGTUNE_ASSIGN(WorkspaceBuffer workspace,
                  make_workspace(*variant, Placement::guarded, std::exchange(last, {})));
    std::vector<LaunchArguments>& of_variant = all.emplace_back();
    if (own_sets == 0) of_variant.push_back(arguments(checked, workspace));
    for (std::int64_t i = 0; i < own_sets; ++i) {
      of_variant.push_back(arguments(timed_sets_[i], workspace));
    }
    timed_workspaces_.push_back(std::move(workspace));
  }
  return all;
}

Result<std::unique_ptr<Checker>> Checker::make(Device& device, Builder& builder,
                                               const Problem& problem,
                                               std::optional<Compare> compare) {
  const bool is_cpu = device.info().kind == DeviceKind::cpu;
  std::unique_ptr<Checker> checker(new Checker(device, builder, problem));
  MGTUNE_TRY(checker->prepare(compare.value_or(is_cpu ? Compare::on_host : Compare::on_device)));
  return checker;
}

}  // namespace mgtune
