#include "program/run_order.h"

#include <fmt/format.h>

#include <algorithm>

namespace mgtune::engine {

QueueProgress::QueueProgress(const Program& program)
    : program_(program),
      queues_(program.queues),
      heads_(program.queues),
      counters_(program.counters),
      ended_(program.instructions.size()) {
  std::uint32_t barrier = kNone;
  for (std::uint32_t i = 0; i < program.instructions.size(); ++i) {
    queues_[program.instructions[i].queue].push_back(i);
    barrier_before_.push_back(barrier);
    if (program.instructions[i].opcode == Opcode::barrier) barrier = i;
  }
}

bool QueueProgress::can_begin(std::uint32_t instruction) const {
  const Instruction& next = program_.instructions[instruction];
  if (next.opcode == Opcode::barrier && ended_prefix_ < instruction) return false;
  const std::uint32_t barrier = barrier_before_[instruction];
  if (barrier != kNone && !ended_[barrier]) return false;
  return std::ranges::all_of(next.waits, [&](const Wait& wait) {
    return wait.counter == kNone || counters_[wait.counter] >= wait.value;
  });
}

std::vector<std::uint32_t> QueueProgress::ready() const {
  std::vector<std::uint32_t> found;
  for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
    if (heads_[queue] == queues_[queue].size()) continue;
    const std::uint32_t next = queues_[queue][heads_[queue]];
    if (can_begin(next)) found.push_back(next);
  }
  return found;
}

void QueueProgress::end(std::uint32_t instruction) {
  const Instruction& ended = program_.instructions[instruction];
  ++heads_[ended.queue];
  if (ended.signal != kNone) ++counters_[ended.signal];
  ended_[instruction] = true;
  ++ended_count_;
  while (ended_prefix_ < ended_.size() && ended_[ended_prefix_]) ++ended_prefix_;
}

Result<std::vector<std::uint32_t>> run_order(const Program& program) {
  QueueProgress progress(program);
  std::vector<std::uint32_t> order;
  while (!progress.is_done()) {
    const std::vector<std::uint32_t> ready = progress.ready();
    if (ready.empty()) {
      return invalid_argument(
          fmt::format("the queues wait for each other for ever after {} of {} "
                      "instructions",
                      order.size(), program.instructions.size()));
    }
    for (const std::uint32_t instruction : ready) {
      progress.end(instruction);
      order.push_back(instruction);
    }
  }
  return order;
}

}  // namespace mgtune::engine
