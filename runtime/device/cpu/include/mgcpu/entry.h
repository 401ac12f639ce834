// MGTUNE_CPU_ENTRY(symbol, kernel): exports a kernel as `symbol`. `kernel` is the name expression
// that NVRTC would get. If a kernel is overloaded, `kernel` must have a cast that chooses one.

#pragma once

#include <type_traits>
#include <utility>

#include "mgcpu/runtime_abi.h"

namespace mgcpu {

template <auto kKernel>
struct EntryOf;

template <class... P, void (*kKernel)(P...)>
struct EntryOf<kKernel> {
  static_assert((std::is_trivially_copyable_v<P> && ...), "kernel parameters are copied as bytes");

  // The additional element keeps the array from being empty.
  static constexpr std::size_t kBytes[sizeof...(P) + 1] = {sizeof(P)...};

  template <std::size_t... I>
  static void call(void* const* args, std::index_sequence<I...>) {
    kKernel(*static_cast<P*>(args[I])...);
  }

  static void run(void* const* args) { call(args, std::index_sequence_for<P...>{}); }

  static constexpr KernelEntry kEntry{kAbiVersion, sizeof...(P), kBytes, run};
};

}  // namespace mgcpu

#define MGTUNE_CPU_ENTRY(symbol, ...)                   \
  extern "C" MGCPU_API const mgcpu::KernelEntry symbol; \
  const mgcpu::KernelEntry symbol = mgcpu::EntryOf<(&__VA_ARGS__)>::kEntry;
