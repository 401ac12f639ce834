#include "schedule/dependencies.h"

#include <algorithm>

#include "program/access.h"

namespace mgtune::engine {
namespace {

// What has happened to a buffer so far.
struct BufferHistory {
  std::uint32_t writer = kNone;        // the last one
  std::vector<std::uint32_t> readers;  // since then
};

}  // namespace

std::vector<std::vector<std::uint32_t>> dependencies(const Program& program) {
  std::vector<std::vector<std::uint32_t>> result(program.instructions.size());
  std::vector<BufferHistory> history(program.buffers.size());
  std::uint32_t barrier = kNone;
  for (std::uint32_t i = 0; i < program.instructions.size(); ++i) {
    std::vector<std::uint32_t>& needed = result[i];
    if (barrier != kNone) needed.push_back(barrier);
    if (program.instructions[i].opcode == Opcode::barrier) {
      for (std::uint32_t before = 0; before < i; ++before) needed.push_back(before);
      barrier = i;
    }
    const std::vector<BufferAccess> accesses = buffer_accesses(program.instructions[i]);
    for (const BufferAccess& access : accesses) {
      const Buffer& buffer = program.buffers[access.buffer];
      if (buffer.kind == BufferKind::weight) continue;
      for (std::uint32_t other = 0; other < program.buffers.size(); ++other) {
        if (other != access.buffer && !share_memory(buffer, program.buffers[other])) continue;
        if (history[other].writer != kNone) needed.push_back(history[other].writer);
        if (!access.writes) continue;
        needed.insert(needed.end(), history[other].readers.begin(), history[other].readers.end());
      }
    }
    for (const BufferAccess& access : accesses) {
      if (access.writes) history[access.buffer] = {i, {}};
      if (access.reads && !access.writes) history[access.buffer].readers.push_back(i);
    }
    std::ranges::sort(needed);
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
    std::erase(needed, i);
  }
  return result;
}

}  // namespace mgtune::engine
