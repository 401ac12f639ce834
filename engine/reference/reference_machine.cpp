#include "reference/reference_machine.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "program/run_order.h"
#include "reference/execute.h"

namespace mgtune::engine {

Result<std::unique_ptr<Machine>> ReferenceMachine::create(std::span<const Program> programs,
                                                          std::vector<std::byte> weights) {
  std::unique_ptr<ReferenceMachine> machine(new ReferenceMachine(std::move(weights)));
  MGTUNE_ASSIGN(machine->memory_, MachineMemory::create(programs, machine->weights_));
  return std::unique_ptr<Machine>(std::move(machine));
}

Status ReferenceMachine::step(const Program& program) { return execute_step(program, memory_); }

Result<std::vector<double>> ReferenceMachine::timed_step(const Program& program) {
  using Clock = std::chrono::steady_clock;
  MGTUNE_ASSIGN(const std::vector<std::uint32_t> order, run_order(program));
  std::vector<double> seconds(program.instructions.size());
  for (const std::uint32_t i : order) {
    const Clock::time_point begin = Clock::now();
    MGTUNE_TRY(execute(program, program.instructions[i], memory_));
    seconds[i] = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  return seconds;
}

Status ReferenceMachine::read(const Buffer& buffer, std::span<std::byte> to) {
  const std::span<const std::byte> from = memory_.read(buffer);
  assert(from.size() == to.size());
  std::ranges::copy(from, to.begin());
  return {};
}

Status ReferenceMachine::write(const Buffer& buffer, std::span<const std::byte> from) {
  assert(from.size() == memory_.write(buffer).size());
  std::ranges::copy(from, memory_.write(buffer).begin());
  return {};
}

}  // namespace mgtune::engine
