#include "launch/loaded_variant.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <mutex>

#include "core/sha256.h"
#include "launch/launch_program.h"

namespace mgtune {
namespace {

using ExpressionVisitor = std::function<void(const Expression&)>;

// Everything of a design that may be evaluated after its build is loaded.
void for_each_late_expression(const Design& design, const ExpressionVisitor& visit) {
  const auto visit_all = [&](const std::vector<Expression>& expressions) {
    std::for_each(expressions.begin(), expressions.end(), visit);
  };
  for (const Let& let : design.lets) visit(let.value);
  visit_all(design.constraints);
  for (const Alignment& alignment : design.alignments) visit(alignment.bytes);
  for (const Workspace& buffer : design.workspace) {
    if (buffer.when) visit(*buffer.when);
    visit_all(buffer.shape);
  }
  for (const Launch& launch : design.launches) {
    if (launch.when) visit(*launch.when);
    visit_all(launch.grid);
    visit_all(launch.block);
    visit_all(launch.cluster);
    visit(launch.shared);
    visit(launch.cooperative);
    visit(launch.pdl);
    for (const Argument& argument : launch.args) {
      if (argument.value) visit(*argument.value);
    }
    for (const TensorMap& map : launch.tensor_maps) {
      visit_all(map.extent);
      visit_all(map.stride);
      visit_all(map.box);
    }
  }
}

bool reads(const Design& design, int slot) {
  bool found = false;
  for_each_late_expression(design, [&](const Expression& expression) {
    const std::span<const int> slots = expression.slots();
    found = found || std::find(slots.begin(), slots.end(), slot) != slots.end();
  });
  return found;
}

// An extent or a size of the first launch, for a question to the device about the loaded build.
Result<std::uint32_t> known_before_launch(const Expression& expression, const Slots& slots) {
  if (expression.stage() != Stage::compile) {
    return invalid_argument("build.* is used, so '" + expression.text() +
                            "' of the first launch must be known before the build is loaded");
  }
  MGTUNE_ASSIGN(const std::int64_t value, expression.evaluate(slots));
  if (!std::in_range<std::uint32_t>(value)) {
    return invalid_argument(
        fmt::format("'{}' of the first launch is {}", expression.text(), value));
  }
  return static_cast<std::uint32_t>(value);
}

// Writes kSlotBuild* where the design uses them.
Status ask_device(Device& device, const Design& design, const Kernel& kernel, Slots& slots) {
  const bool wants_blocks = reads(design, kSlotBuildBlocksPerSm);
  const bool wants_clusters = reads(design, kSlotBuildMaxClusters);
  if (!wants_blocks && !wants_clusters) return {};
  const Launch& first = design.launches.front();
  KernelLaunch launch;
  launch.kernel = &kernel;
  for (std::size_t i = 0; i < first.block.size(); ++i) {
    MGTUNE_ASSIGN(launch.block[i], known_before_launch(first.block[i], slots));
  }
  for (std::size_t i = 0; i < first.cluster.size(); ++i) {
    MGTUNE_ASSIGN(launch.cluster[i], known_before_launch(first.cluster[i], slots));
    launch.grid[i] = launch.cluster[i];
  }
  MGTUNE_ASSIGN(launch.shared_bytes, known_before_launch(first.shared, slots));
  if (wants_blocks) {
    const std::uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
    MGTUNE_ASSIGN(slots[kSlotBuildBlocksPerSm],
                  device.blocks_per_sm(kernel, threads, launch.shared_bytes));
  }
  if (wants_clusters) {
    MGTUNE_ASSIGN(slots[kSlotBuildMaxClusters], device.max_clusters(launch));
  }
  return {};
}

// The text of an argument as the file has it: "x", "rows:i32".
std::string argument_text(const Operator& op, const Design& design, const Launch& launch,
                          const Argument& argument) {
  const auto index = static_cast<std::size_t>(std::max(argument.index, 0));
  switch (argument.kind) {
    case Argument::Kind::tensor:
      return op.tensors[index].name;
    case Argument::Kind::workspace:
      return design.workspace[index].name;
    case Argument::Kind::scalar:
      return op.scalars[index].name;
    case Argument::Kind::tensor_map:
      return launch.tensor_maps[index].name;
    case Argument::Kind::value:
      break;
  }
  return fmt::format("{}:{}", argument.value->text(), to_string(argument.dtype));
}

// `declared` has the bytes of each of the launch's args.
Status check_parameters(const Operator& op, const Design& design, std::size_t launch_index,
                        const Kernel& kernel, const std::vector<std::size_t>& declared) {
  const Launch& launch = design.launches[launch_index];
  const std::string pointer =
      fmt::format("/designs/{}/launches/{}/args", design.name, launch_index);
  const std::vector<std::size_t>& own = kernel.parameter_bytes();
  if (own.size() != declared.size()) {
    return {StatusCode::launch_failed,
            fmt::format("{} takes {} parameters, but its launch declares {} args ({})",
                        kernel.name(), own.size(), declared.size(), op.place(pointer))};
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i] == declared[i]) continue;
    return {StatusCode::launch_failed,
            fmt::format("parameter {} of {} has {} bytes, but `{}` has {} ({})", i, kernel.name(),
                        own[i], argument_text(op, design, launch, launch.args[i]), declared[i],
                        op.place(pointer + "/" + std::to_string(i)))};
  }
  return {};
}

}  // namespace

struct LoadedVariant::State {
  Device& device;
  const Operator& op;
  Variant variant;
  std::string text;
  std::string build_sha256;
  std::shared_ptr<const Module> module;   // other plans may launch from it too
  std::vector<const Kernel*> kernels;     // of the program's kernels, in order
  std::vector<DeviceVariable> constants;  // of the design's constants, in order
  LaunchProgram program;

  const Design& design() const { return op.designs[std::size_t(variant.design)]; }

  // Enqueues the copies of tensors into constant memory.
  Status fill_constants(const LaunchArguments& arguments, const LaunchFrame& frame) const {
    for (std::size_t i = 0; i < constants.size(); ++i) {
      if (frame.constant_bytes[i] == 0) continue;
      MGTUNE_TRY(device.copy_on_device(
          constants[i].memory, arguments.tensors[std::size_t(design().constants[i].tensor)],
          static_cast<std::size_t>(frame.constant_bytes[i]), arguments.stream));
    }
    return {};
  }

  // Evaluates all that the launch of one kernel needs: its geometry, tensor maps and arguments.
  // False if the kernel is not launched. If there are no tensors, tensor maps are not encoded and
  // pointers are left out.
  Result<bool> prepare(std::size_t kernel, const LaunchArguments& arguments, LaunchFrame& frame,
                       KernelLaunch& launch) const {
    MGTUNE_ASSIGN(const bool launched, program.geometry(kernel, frame, launch));
    if (!launched) return false;
    for (std::size_t map = 0; map < program.tensor_maps(kernel); ++map) {
      TensorMapRequest request;
      MGTUNE_TRY(program.tensor_map(kernel, map, arguments, frame, request));
      if (arguments.tensors.empty()) continue;
      MGTUNE_TRY(device.encode_tensor_map(request, frame.tensor_maps[map]));
    }
    MGTUNE_TRY(program.encode(kernel, arguments, frame));
    launch.kernel = kernels[kernel];
    launch.args = frame.pointers.data();
    launch.stream = arguments.stream;
    return true;
  }

  // Prepares every kernel, the first one last, so that the frame and `launch` are left ready for
  // the first kernel. The result is that of prepare() for the first kernel.
  Result<bool> prepare_all(const LaunchArguments& arguments, LaunchFrame& frame,
                           KernelLaunch& launch) const {
    bool launched = false;
    for (std::size_t kernel = program.kernels(); kernel-- > 0;) {
      MGTUNE_ASSIGN(launched, prepare(kernel, arguments, frame, launch));
    }
    return launched;
  }
};

namespace {

// Whether a failure to prepare a launch is about these dims and tensors. Then another variant may
// serve them. Other failures are the device's.
bool is_refusal(const Status& status) {
  return status.code() == StatusCode::unsupported || status.code() == StatusCode::invalid_argument;
}

}  // namespace

Result<std::unique_ptr<LoadedVariant>> LoadedVariant::load(Device& device, const Binding& binding,
                                                           const Variant& variant,
                                                           const Build& build) {
  MGTUNE_ASSIGN(std::unique_ptr<Module> module, device.load(build));
  return assemble(device, binding, variant, build, std::move(module));
}

Result<std::unique_ptr<LoadedVariant>> LoadedVariant::load(SharedModules& modules,
                                                           const Binding& binding,
                                                           const Variant& variant,
                                                           const Build& build) {
  // Launches write the module's constants, so another plan must not launch from it.
  const Design& design = binding.op->designs[std::size_t(variant.design)];
  MGTUNE_ASSIGN(const std::shared_ptr<const Module> module,
                design.constants.empty() ? modules.load(build) : modules.load_unshared(build));
  const std::scoped_lock lock(modules.device_mutex());  // released before `module`, as it has to be
  return assemble(modules.device(), binding, variant, build, module);
}

Result<std::unique_ptr<LoadedVariant>> LoadedVariant::assemble(
    Device& device, const Binding& binding, const Variant& variant, const Build& build,
    std::shared_ptr<const Module> module) {
  const Operator& op = *binding.op;
  const Design& design = op.designs[std::size_t(variant.design)];
  const DeviceLimits& limits = device.info().limits;
  MGTUNE_ASSIGN(Slots slots, compile_slots(binding, variant, limits));
  MGTUNE_ASSIGN(const std::vector<std::string> names, kernel_names(op, variant, slots));
  MGTUNE_ASSIGN(const Kernel* first, module->kernel(names.front()));
  MGTUNE_TRY(ask_device(device, design, *first, slots));
  MGTUNE_TRY(evaluate_lets(design, Stage::load, slots));
  std::vector<DeviceVariable> constants;
  std::vector<std::size_t> constant_bytes;
  for (const Constant& constant : design.constants) {
    MGTUNE_ASSIGN(constants.emplace_back(), module->variable(constant.symbol));
    constant_bytes.push_back(constants.back().bytes);
  }
  MGTUNE_ASSIGN(LaunchProgram program,
                LaunchProgram::compile(op, variant, limits, slots, constant_bytes));

  std::vector<const Kernel*> kernels;
  for (std::size_t i = 0; i < program.kernels(); ++i) {
    MGTUNE_ASSIGN(const Kernel* kernel, module->kernel(names[program.launch_index(i)]));
    MGTUNE_TRY(
        check_parameters(op, design, program.launch_index(i), *kernel, program.argument_bytes(i)));
    kernels.push_back(kernel);
  }
  return std::unique_ptr<LoadedVariant>(new LoadedVariant(std::unique_ptr<State>(
      new State{device, op, variant, variant_text(op, variant), build.sha256, std::move(module),
                std::move(kernels), std::move(constants), std::move(program)})));
}

LoadedVariant::LoadedVariant(std::unique_ptr<State> state) : state_(std::move(state)) {}
LoadedVariant::~LoadedVariant() = default;

const Variant& LoadedVariant::variant() const { return state_->variant; }
const std::string& LoadedVariant::text() const { return state_->text; }
const std::string& LoadedVariant::build_sha256() const { return state_->build_sha256; }

bool LoadedVariant::serves(const LaunchArguments& arguments) const {
  LaunchFrame frame;
  KernelLaunch launch;
  if (!state_->program.begin(arguments.dims, frame).ok() ||
      !state_->program.admits(arguments.tensors, frame) ||
      !state_->program.size_workspace(frame).ok()) {
    return false;
  }
  state_->program.place_workspace(nullptr, 0, frame);
  return state_->prepare_all(arguments, frame, launch).ok();
}

Status LoadedVariant::refusal(const LaunchArguments& arguments) const {
  LaunchFrame frame;
  KernelLaunch launch;
  Status reason = state_->program.begin(arguments.dims, frame);
  if (!reason.ok()) return unsupported(reason.message());
  if (!state_->program.admits(arguments.tensors, frame, &reason)) return reason;
  MGTUNE_TRY(state_->program.size_workspace(frame).status());
  state_->program.place_workspace(nullptr, 0, frame);
  return state_->prepare_all(arguments, frame, launch).status();
}

std::int64_t LoadedVariant::estimate(std::span<const std::int64_t> dims) const {
  LaunchFrame frame;
  return state_->program.estimate(dims, frame);
}

Result<LoadedVariant::WorkspaceSize> LoadedVariant::workspace_size(
    std::span<const std::int64_t> dims) const {
  LaunchFrame frame;
  MGTUNE_TRY(state_->program.begin(dims, frame));
  Status reason;
  if (!state_->program.admits({}, frame, &reason)) return reason;
  return state_->program.size_workspace(frame);
}

std::optional<LoadedVariant::WorkspaceSize> LoadedVariant::bound_workspace(
    std::span<const Interval> dims) const {
  return state_->program.bound_workspace(dims);
}

std::vector<bool> LoadedVariant::dims_that_size_workspace() const {
  return state_->program.dims_that_size_workspace();
}

Status LoadedVariant::launch(const LaunchArguments& arguments) const {
  MGTUNE_ASSIGN(const bool served, try_launch(arguments, std::nullopt));
  return served ? Status() : refusal(arguments).with_context(text());
}

Result<bool> LoadedVariant::try_launch(const LaunchArguments& arguments,
                                       std::optional<WorkspaceSize> reserved) const {
  const LaunchProgram& program = state_->program;
  LaunchFrame frame;
  MGTUNE_TRY(program.begin(arguments.dims, frame));
  MGTUNE_TRY(program.check_arguments(arguments, frame));
  if (!program.admits(arguments.tensors, frame)) return false;

  const Result<WorkspaceSize> sized = program.size_workspace(frame);
  if (!sized.ok()) return false;
  const WorkspaceSize& size = *sized;
  if (reserved && (size.zeroed_bytes > reserved->zeroed_bytes ||
                   size.bytes - size.zeroed_bytes > reserved->bytes - reserved->zeroed_bytes)) {
    return false;
  }
  if (size.bytes > 0 &&
      (arguments.workspace == nullptr ||
       reinterpret_cast<std::uintptr_t>(arguments.workspace) % kWorkspaceAlignment)) {
    return invalid_argument(fmt::format("{} needs a workspace of {} bytes, aligned to {}; got {}",
                                        text(), size.bytes, kWorkspaceAlignment,
                                        arguments.workspace));
  }
  program.place_workspace(arguments.workspace,
                          reserved ? reserved->zeroed_bytes : size.zeroed_bytes, frame);
  KernelLaunch launch;
  Result<bool> launched = state_->prepare_all(arguments, frame, launch);
  if (!launched.ok()) {
    if (is_refusal(launched.status())) return false;
    return std::move(launched).take_status();
  }
  for (std::size_t i = 0; i < program.buffers(); ++i) {
    if (!program.zeroed_each_launch(i) || frame.buffers[i] == nullptr) continue;
    MGTUNE_TRY(state_->device.fill_bytes(
        frame.buffers[i], 0, static_cast<std::size_t>(frame.buffer_bytes[i]), arguments.stream));
  }
  MGTUNE_TRY(state_->fill_constants(arguments, frame));
  for (std::size_t i = 0; i < program.kernels(); ++i) {
    if (i > 0) launched = state_->prepare(i, arguments, frame, launch);
    Status status = launched.ok() && *launched ? state_->device.launch(launch) : launched.status();
    if (status.ok()) continue;
    // The kernels before this one have left the zeroed part dirty, and no kernel will clean it.
    if (i > 0 && size.zeroed_bytes > 0) {
      const Status cleaned = state_->device.fill_bytes(
          arguments.workspace, 0, static_cast<std::size_t>(size.zeroed_bytes), arguments.stream);
      if (!cleaned.ok()) {
        return Status(status.code(),
                      status.message() +
                          "\nand its workspace could not be set to zero: " + cleaned.message());
      }
    }
    return status;
  }
  return true;
}

std::string launch_hash(const Operator& op, const Variant& variant) {
  const Design& design = op.designs[std::size_t(variant.design)];
  return Sha256().update_field(design.launch_text).update_field(variant_text(op, variant)).hex();
}

}  // namespace mgtune
