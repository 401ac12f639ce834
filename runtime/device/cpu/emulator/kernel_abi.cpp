// The functions that kernel libraries call (mgcpu/runtime_abi.h), on the block of the calling
// thread.

#include "block.h"
#include "kernel_library.h"
#include "mgcpu/runtime_abi.h"

using mgtune::current_block;
using mgtune::Fault;
using mgtune::Place;

std::uint32_t mgcpu_sync_block(bool predicate, const char* name, const char* file, int line) {
  return current_block()->sync_block(predicate, Place{name, file, line});
}

void mgcpu_sync_named(std::uint32_t barrier, std::uint32_t threads, const char* file, int line) {
  current_block()->sync_named(barrier, threads, Place{"named_barrier", file, line});
}

void mgcpu_warp_call(mgcpu::WarpCall* call) { current_block()->warp_call(*call); }

void mgcpu_spin_pause(const char* file, int line) {
  current_block()->spin_pause(Place{"__nanosleep", file, line});
}

void mgcpu_trap(const char* file, int line) {
  current_block()->fail({.kind = Fault::Kind::trap, .place = {"__trap", file, line}});
}

void mgcpu_assert_fail(const char* condition, const char* file, unsigned line,
                       const char*) noexcept {
  const Place place{condition, file, static_cast<int>(line)};
  current_block()->fail({.kind = Fault::Kind::failed_assert, .place = place});
}

std::size_t mgcpu_register_shared(std::size_t bytes, std::size_t alignment) {
  return mgtune::layout_being_loaded()->add(bytes, alignment);
}
