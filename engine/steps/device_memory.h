// DeviceMemory: the arenas that a program works on, in the memory of a device. It owns them. The
// context must outlive it. One thread at a time.

#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "core/status.h"
#include "mgruntime/mgruntime.h"
#include "program/program.h"

namespace mgtune::engine {

class DeviceMemory {
 public:
  // Allocates room for the largest of the programs, which must be valid; they share the weights and
  // the state. The weights are copied, the state is zero, and the rest is NaN. environment if the
  // device does not have enough memory, invalid_argument if `weights` is too small.
  static Result<DeviceMemory> create(mgr_context_t* context, std::span<const Program> programs,
                                     std::span<const std::byte> weights);

  void* address(const Buffer& buffer) const;

  // Copy a whole buffer, after everything that was launched on the default stream. The sizes must
  // be equal.
  Status read(const Buffer& buffer, std::span<std::byte> to) const;
  Status write(const Buffer& buffer, std::span<const std::byte> from);

 private:
  struct Free {
    mgr_context_t* context;
    void operator()(void* memory) const { mgr_free(context, memory); }
  };
  using Arena = std::unique_ptr<void, Free>;

  explicit DeviceMemory(mgr_context_t* context) : context_(context) {}

  mgr_context_t* context_;
  std::array<Arena, kBufferKindWords.size()> arenas_ = {};
};

}  // namespace mgtune::engine
