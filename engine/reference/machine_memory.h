// MachineMemory: the arenas that a program works on, on the host. Owns all but the weights, which
// must outlive it. One thread at a time.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/status.h"
#include "program/program.h"

namespace mgtune::engine {

class MachineMemory {
 public:
  // Allocates room for the largest of the programs, which must be valid; they share the state.
  // environment if there is not enough memory, invalid_argument if `weights` is too small.
  static Result<MachineMemory> create(std::span<const Program> programs,
                                      std::span<const std::byte> weights);

  std::span<const std::byte> read(const Buffer& buffer) const;
  std::span<std::byte> write(const Buffer& buffer);  // the buffer must not be a weight

  // Fills scratch and outputs with bytes that are NaN in every floating dtype. A program that was
  // validated never reads them.
  void poison();

 private:
  std::span<const std::byte> weights_;
  std::array<std::vector<std::byte>, kBufferKindWords.size()> arenas_;  // that of weights is empty
};

}  // namespace mgtune::engine
