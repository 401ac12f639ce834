// The rules by which the queues of a program make progress. One thread per object.
//
// An instruction can begin when the one before it in its queue has ended, all its waits hold, and
// all instructions before the last barrier in front of it have ended. A barrier can begin when all
// instructions before it have ended. Counters only go up. So if the program ends in one of the
// possible orders, it ends in all of them.

#pragma once

#include <cstdint>
#include <vector>

#include "core/status.h"
#include "program/program.h"

namespace mgtune::engine {

class QueueProgress {
 public:
  // The queues and counters of the instructions must be below the numbers that the program has.
  explicit QueueProgress(const Program& program);

  // The instructions that can begin now.
  std::vector<std::uint32_t> ready() const;
  void end(std::uint32_t instruction);  // it must be in ready()
  bool is_done() const { return ended_count_ == program_.instructions.size(); }

 private:
  bool can_begin(std::uint32_t instruction) const;

  const Program& program_;
  std::vector<std::vector<std::uint32_t>> queues_;
  std::vector<std::size_t> heads_;  // per queue: how many instructions have ended
  std::vector<std::uint32_t> counters_;
  std::vector<bool> ended_;
  std::size_t ended_count_ = 0;
  std::size_t ended_prefix_ = 0;               // all instructions before this one have ended
  std::vector<std::uint32_t> barrier_before_;  // the last barrier before each, or kNone
};

// One order in which all instructions can run. invalid_argument if instructions wait for each
// other.
Result<std::vector<std::uint32_t>> run_order(const Program& program);

}  // namespace mgtune::engine
