// The interface between a kernel library and the plugin that runs it (libmgruntime-cpu.so). The
// prelude includes it into every kernel, and the plugin includes it too. Kernel code calls all
// functions, on the fiber of a thread of the block that the calling OS thread runs.

#pragma once

#include <cstddef>
#include <cstdint>

namespace mgcpu {

// Increased whenever the meaning of this file changes, so that a kernel library from an old cache
// is refused.
inline constexpr std::uint32_t kAbiVersion = 2;

// One entry of a kernel library, under the symbol in BuildKernel::symbol.
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

// A lane's part in a collective of its warp. It is on the lane's stack until all lanes have
// arrived.
struct WarpCall {
  WarpOperation operation;
  const char* name;
  std::uint32_t mask;
  const char* file;
  int line;
  void* value = nullptr;  // of a shuffle: the value that this lane gives, then the one that it gets
  std::size_t bytes = 0;  // of *value, at most 8
  std::uint32_t operand = 0;  // the lane or distance of a shuffle, the predicate of a ballot, or
                              // the number that a reduction combines
  std::uint32_t width = 32;   // of a shuffle
  std::uint32_t result = 0;   // of all operations except shuffles
};

}  // namespace mgcpu

#define MGCPU_API __attribute__((visibility("default")))
#define MGCPU_THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))

extern "C" {
// Base addresses of the running block's shared memory. They are initial-exec, like threadIdx and
// the others: reading takes one instruction, and together they must fit into glibc's small static
// TLS reserve.
extern MGCPU_API MGCPU_THREAD_LOCAL unsigned char* mgcpu_static_shared;
extern MGCPU_API MGCPU_THREAD_LOCAL unsigned char* mgcpu_dynamic_shared;

// Called while a kernel library is loaded: returns the offset of a static shared array in the
// block's arena. `signature` is the text of a function's type in which the name of the array is
// followed by "_in_shared".
MGCPU_API std::size_t mgcpu_register_shared(std::size_t bytes, std::size_t alignment,
                                            std::size_t element_bytes, const char* signature);

// A barrier of all threads that have not returned. Returns the number of true predicates.
MGCPU_API std::uint32_t mgcpu_sync_block(bool predicate, const char* name, const char* file,
                                         int line);
// Barrier 1 to 15. It is complete when `threads` threads have arrived.
MGCPU_API void mgcpu_sync_named(std::uint32_t barrier, std::uint32_t threads, const char* file,
                                int line);
MGCPU_API void mgcpu_warp_call(mgcpu::WarpCall* call);
MGCPU_API void mgcpu_spin_pause(const char* file, int line);  // lets the other threads run
[[noreturn]] MGCPU_API void mgcpu_trap(const char* file, int line);
// The attribute is written as in <assert.h>, which declares this function under another name.
__attribute__((noreturn)) MGCPU_API void mgcpu_assert_fail(const char* condition, const char* file,
                                                           unsigned line,
                                                           const char* function) noexcept;
}
