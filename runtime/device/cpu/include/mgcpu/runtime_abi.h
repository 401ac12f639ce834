// What a kernel library and the plugin that runs it (libmgruntime-cpu.so) know of each other. The
// prelude includes it into every kernel, the plugin into its sources. All functions are called by
// kernel code, on the fiber of a thread of the block that the calling OS thread runs.

#pragma once

#include <cstddef>
#include <cstdint>

namespace mgcpu {

// Bumped whenever this file changes meaning: a kernel library out of an old cache is refused.
inline constexpr std::uint32_t kAbiVersion = 1;

// One entry of a kernel library, under the symbol that BuildKernel::symbol names.
struct KernelEntry {
  std::uint32_t abi_version;
  std::uint32_t parameter_count;
  const std::size_t* parameter_bytes;
  void (*run)(void* const* args);  // one thread of the kernel; args as cuLaunchKernel takes them
};

enum class WarpOperation : std::uint8_t {
  synchronize,
  shuffle_index,
  shuffle_up,
  shuffle_down,
  shuffle_xor,
  ballot,
  add,
  min_signed,
  min_unsigned,
  max_signed,
  max_unsigned,
  bit_and,
  bit_or,
  bit_xor,
};

// A lane's part in a collective of its warp. It lies on the lane's stack until all have come.
struct WarpCall {
  WarpOperation operation;
  const char* name;
  std::uint32_t mask;
  const char* file;
  int line;
  void* value = nullptr;      // of a shuffle: what this lane gives, then what it gets
  std::size_t bytes = 0;      // of *value, at most 8
  std::uint32_t operand = 0;  // a shuffle's lane or distance, a ballot's predicate, a number
  std::uint32_t width = 32;   // of a shuffle
  std::uint32_t result = 0;   // of everything but a shuffle
};

}  // namespace mgcpu

#define MGCPU_API __attribute__((visibility("default")))
#define MGCPU_THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))

extern "C" {
// Base addresses of the running block's shared memory. Initial-exec, as threadIdx and its kin: one
// instruction to read, and all of it together must stay within glibc's small static TLS reserve.
extern MGCPU_API MGCPU_THREAD_LOCAL unsigned char* mgcpu_static_shared;
extern MGCPU_API MGCPU_THREAD_LOCAL unsigned char* mgcpu_dynamic_shared;

// While a kernel library is loaded: the offset of a static shared array in the block's arena.
MGCPU_API std::size_t mgcpu_register_shared(std::size_t bytes, std::size_t alignment);

// Barrier of all threads that have not returned; gives the number of true predicates.
MGCPU_API std::uint32_t mgcpu_sync_block(bool predicate, const char* name, const char* file,
                                         int line);
// Barrier 1 to 15, complete when `threads` have come.
MGCPU_API void mgcpu_sync_named(std::uint32_t barrier, std::uint32_t threads, const char* file,
                                int line);
MGCPU_API void mgcpu_warp_call(mgcpu::WarpCall* call);
MGCPU_API void mgcpu_spin_pause(const char* file, int line);  // lets the other threads run
[[noreturn]] MGCPU_API void mgcpu_trap(const char* file, int line);
// Declared by <assert.h> as well, under its own name, and with this form of the attribute.
__attribute__((noreturn)) MGCPU_API void mgcpu_assert_fail(const char* condition, const char* file,
                                                           unsigned line,
                                                           const char* function) noexcept;
}
