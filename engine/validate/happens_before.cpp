#include "validate/happens_before.h"

#include <algorithm>

namespace mgtune::engine {

HappensBefore::HappensBefore(const Program& program, const std::vector<std::uint32_t>& order) {
  const std::size_t count = program.instructions.size();
  std::vector<std::vector<std::uint32_t>> predecessors(count);
  std::vector<std::vector<std::uint32_t>> signallers(program.counters);
  std::vector<std::uint32_t> last_of_queue(program.queues, kNone);
  std::vector<std::uint32_t> since_barrier;
  std::uint32_t barrier = kNone;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Instruction& instruction = program.instructions[i];
    if (last_of_queue[instruction.queue] != kNone) {
      predecessors[i].push_back(last_of_queue[instruction.queue]);
    }
    last_of_queue[instruction.queue] = i;
    if (barrier != kNone) predecessors[i].push_back(barrier);
    if (instruction.opcode == Opcode::barrier) {
      predecessors[i].insert(predecessors[i].end(), since_barrier.begin(), since_barrier.end());
      since_barrier.clear();
      barrier = i;
    }
    since_barrier.push_back(i);
    if (instruction.signal != kNone) signallers[instruction.signal].push_back(i);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const Wait& wait : program.instructions[i].waits) {
      if (wait.counter == kNone) continue;
      const std::vector<std::uint32_t>& all = signallers[wait.counter];
      // A wait for all signallers comes after all of them. A wait for only some of them tells which
      // ones have ended only if all of them run one after the other, in one queue.
      const bool is_one_queue = std::ranges::all_of(all, [&](std::uint32_t signaller) {
        return program.instructions[signaller].queue == program.instructions[all[0]].queue;
      });
      if (wait.value == all.size() || is_one_queue) {
        predecessors[i].insert(predecessors[i].end(), all.begin(), all.begin() + wait.value);
      }
    }
  }
  ancestors_.assign(count, std::vector<std::uint64_t>((count + 63) / 64));
  for (const std::uint32_t instruction : order) {
    for (const std::uint32_t predecessor : predecessors[instruction]) add(instruction, predecessor);
  }
}

void HappensBefore::add(std::uint32_t instruction, std::uint32_t ancestor) {
  std::vector<std::uint64_t>& all = ancestors_[instruction];
  for (std::size_t i = 0; i < all.size(); ++i) all[i] |= ancestors_[ancestor][i];
  all[ancestor / 64] |= std::uint64_t{1} << (ancestor % 64);
}

}  // namespace mgtune::engine
