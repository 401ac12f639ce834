#include "steps/steps_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "program/access.h"
#include "program/run_order.h"
#include "program/text_form.h"
#include "reference/execute.h"
#include "steps/kernel_call.h"
#include "steps/mgr_status.h"

namespace mgtune::engine {
namespace {

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Result<std::unique_ptr<StepsMachine>> StepsMachine::create(std::span<const Program> programs,
                                                           std::vector<std::byte> weights,
                                                           const StepsOptions& options) {
  mgr_open_options_t open{};
  open.struct_size = sizeof(open);
  open.device = options.device.c_str();
  if (!options.database.empty()) open.database = options.database.c_str();
  mgr_context_t* context = nullptr;
  MGTUNE_TRY(from_mgr(mgr_open(&open, &context)));
  std::unique_ptr<StepsMachine> machine(new StepsMachine(std::move(weights), context));
  MGTUNE_ASSIGN(DeviceMemory memory, DeviceMemory::create(context, programs, machine->weights_));
  machine->memory_ = std::make_unique<DeviceMemory>(std::move(memory));
  MGTUNE_ASSIGN(machine->host_, MachineMemory::create(programs, machine->weights_));
  MGTUNE_TRY(machine->plan_all(programs));
  for (const Program& program : programs) MGTUNE_TRY(machine->prepare(program));
  return machine;
}

Status StepsMachine::plan_all(std::span<const Program> programs) {
  std::vector<KernelCall> calls;
  for (const Program& program : programs) {
    for (const Instruction& instruction : program.instructions) {
      std::optional<KernelCall> call = kernel_call(program, instruction);
      if (call) calls.push_back(*std::move(call));
    }
  }
  return plans_.add(calls);
}

Status StepsMachine::prepare(const Program& program) {
  PreparedProgram prepared{program, {}};
  MGTUNE_ASSIGN(const std::vector<std::uint32_t> order, run_order(program));
  for (const std::uint32_t index : order) {
    const Instruction& instruction = program.instructions[index];
    if (instruction.opcode == Opcode::barrier) continue;
    Launch launch;
    launch.instruction = index;
    std::optional<KernelCall> call = kernel_call(program, instruction);
    if (call) {
      launch.plan = plans_.find(*call);
      for (const auto& [name, value] : call->dims) launch.dims.push_back(value);
      for (const std::uint32_t buffer : call->tensors) {
        launch.tensors.push_back(buffer == kNone ? nullptr
                                                 : memory_->address(program.buffers[buffer]));
      }
      launch.scalars = std::move(call->scalars);
    }
    ++(call ? kernel_count_ : host_count_);
    prepared.launches.push_back(std::move(launch));
  }
  programs_.push_back(std::move(prepared));
  return {};
}

Result<const StepsMachine::PreparedProgram*> StepsMachine::find(const Program& program) const {
  const auto place = std::ranges::find(programs_, program, &PreparedProgram::program);
  if (place == programs_.end()) {
    return invalid_argument("the machine was not made for this program");
  }
  return &*place;
}

// Kernels do not check tokens and positions: a wrong token gives NaN, and nothing is appended at a
// wrong position.
Status StepsMachine::check_inputs(const Program& program) const {
  for (const auto& [name, limit] :
       {std::pair{kTokens, program.vocabulary}, std::pair{kPositions, program.positions}}) {
    const auto index = program.find_buffer(name);
    if (!index) continue;
    std::vector<std::int32_t> values(program.buffers[*index].elements);
    MGTUNE_TRY(memory_->read(program.buffers[*index], std::as_writable_bytes(std::span(values))));
    for (std::size_t row = 0; row < values.size(); ++row) {
      if (values[row] >= 0 && static_cast<std::uint32_t>(values[row]) < limit) continue;
      return invalid_argument(fmt::format("{} of sequence {}: {} is not from 0 to {}", name, row,
                                          values[row], std::int64_t{limit} - 1));
    }
  }
  return {};
}

Status StepsMachine::step(const Program& program) {
  MGTUNE_ASSIGN(const PreparedProgram* const prepared, find(program));
  MGTUNE_TRY(check_inputs(program));
  for (const Launch& launch : prepared->launches) MGTUNE_TRY(run(program, launch, nullptr));
  return from_mgr(mgr_synchronize(context_.get(), nullptr));
}

// The host waits for each launch, so each time includes a few microseconds of the host.
Result<std::vector<double>> StepsMachine::timed_step(const Program& program) {
  using Clock = std::chrono::steady_clock;
  MGTUNE_ASSIGN(const PreparedProgram* const prepared, find(program));
  MGTUNE_TRY(check_inputs(program));
  std::vector<double> seconds(program.instructions.size(), 0);
  for (const Launch& launch : prepared->launches) {
    const Clock::time_point begin = Clock::now();
    MGTUNE_TRY(run(program, launch, nullptr));
    MGTUNE_TRY(from_mgr(mgr_synchronize(context_.get(), nullptr)));
    seconds[launch.instruction] = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  return seconds;
}

Result<std::vector<BufferDifference>> StepsMachine::step_compared(
    const Program& program, std::span<const std::uint32_t> instructions) {
  MGTUNE_ASSIGN(const PreparedProgram* const prepared, find(program));
  MGTUNE_TRY(check_inputs(program));
  std::vector<BufferDifference> differences;
  for (const Launch& launch : prepared->launches) {
    const bool is_wanted =
        instructions.empty() ||
        std::ranges::find(instructions, launch.instruction) != instructions.end();
    if (is_wanted && launch.plan.plan != nullptr) {
      MGTUNE_TRY(compare(program, launch, differences));
    } else {
      MGTUNE_TRY(run(program, launch, nullptr));
    }
  }
  return differences;
}

Status StepsMachine::launch(const Program& program, void* stream, std::size_t count) {
  MGTUNE_ASSIGN(const PreparedProgram* const prepared, find(program));
  for (const Launch& launch : prepared->launches) {
    if (launch.plan.plan == nullptr) {
      return unsupported(
          fmt::format("no kernel does this instruction: {}",
                      instruction_text(program, program.instructions[launch.instruction])));
    }
  }
  for (std::size_t i = 0; i < std::min(count, prepared->launches.size()); ++i) {
    MGTUNE_TRY(run(program, prepared->launches[i], stream));
  }
  return {};
}

Result<std::vector<std::uint32_t>> StepsMachine::launch_order(const Program& program) const {
  MGTUNE_ASSIGN(const PreparedProgram* const prepared, find(program));
  std::vector<std::uint32_t> order;
  for (const Launch& launch : prepared->launches) order.push_back(launch.instruction);
  return order;
}

Status StepsMachine::run(const Program& program, const Launch& launch, void* stream) {
  const Instruction& instruction = program.instructions[launch.instruction];
  if (launch.plan.plan == nullptr) return run_on_host(program, instruction);
  Status status = from_mgr(mgr_launch(
      launch.plan.plan, stream, launch.dims.data(), launch.dims.size(), launch.tensors.data(),
      launch.tensors.size(), launch.scalars.data(), launch.scalars.size(), launch.plan.workspace));
  if (status.ok()) return status;
  return std::move(status).with_context(instruction_text(program, instruction));
}

Status StepsMachine::fetch_operands(const Program& program, const Instruction& instruction) {
  for (const BufferAccess& access : buffer_accesses(instruction)) {
    const Buffer& buffer = program.buffers[access.buffer];
    if (buffer.kind == BufferKind::weight) continue;
    MGTUNE_TRY(memory_->read(buffer, host_.write(buffer)));
  }
  return {};
}

Status StepsMachine::run_on_host(const Program& program, const Instruction& instruction) {
  MGTUNE_TRY(fetch_operands(program, instruction));
  MGTUNE_TRY(execute(program, instruction, host_));
  for (const BufferAccess& access : buffer_accesses(instruction)) {
    if (!access.writes) continue;
    const Buffer& buffer = program.buffers[access.buffer];
    MGTUNE_TRY(memory_->write(buffer, host_.read(buffer)));
  }
  return {};
}

Status StepsMachine::compare(const Program& program, const Launch& launch,
                             std::vector<BufferDifference>& differences) {
  const Instruction& instruction = program.instructions[launch.instruction];
  MGTUNE_TRY(fetch_operands(program, instruction));
  std::vector<std::vector<std::byte>> before;
  for (const BufferAccess& access : buffer_accesses(instruction)) {
    before.push_back(access.writes ? copy_of(host_.read(program.buffers[access.buffer]))
                                   : std::vector<std::byte>());
  }
  MGTUNE_TRY(execute(program, instruction, host_));
  MGTUNE_TRY(run(program, launch, nullptr));
  std::size_t operand = 0;
  for (const BufferAccess& access : buffer_accesses(instruction)) {
    const std::vector<std::byte>& was = before[operand++];
    if (!access.writes) continue;
    const Buffer& buffer = program.buffers[access.buffer];
    std::vector<std::byte> result(was.size());
    MGTUNE_TRY(memory_->read(buffer, result));
    differences.push_back({launch.instruction, access.buffer,
                           relative_error(buffer.dtype, was, result, host_.read(buffer))});
  }
  return {};
}

Status StepsMachine::read(const Buffer& buffer, std::span<std::byte> to) {
  return memory_->read(buffer, to);
}

Status StepsMachine::write(const Buffer& buffer, std::span<const std::byte> from) {
  return memory_->write(buffer, from);
}

Status StepsMachine::choose_variant(const KernelCall& call, const std::string& variant) {
  MGTUNE_TRY(plans_.choose(call, variant));
  const std::string text = text_of(call);
  for (PreparedProgram& prepared : programs_) {
    for (Launch& launch : prepared.launches) {
      const std::optional<KernelCall> made =
          kernel_call(prepared.program, prepared.program.instructions[launch.instruction]);
      if (made && text_of(*made) == text) launch.plan = plans_.find(call);
    }
  }
  return {};
}

MachineFactory steps_factory(StepsOptions options) {
  return [options = std::move(options)](
             std::span<const Program> programs,
             std::vector<std::byte> weights) -> Result<std::unique_ptr<Machine>> {
    MGTUNE_ASSIGN(auto machine, StepsMachine::create(programs, std::move(weights), options));
    return std::unique_ptr<Machine>(std::move(machine));
  };
}

}  // namespace mgtune::engine
