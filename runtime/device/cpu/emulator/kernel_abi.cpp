// The functions that kernel libraries call (mgcpu/runtime_abi.h), on the block of the calling
// thread.

#include <string>
#include <string_view>

#include "block.h"
#include "kernel_library.h"
#include "mgcpu/runtime_abi.h"

namespace {

// "values" for "... Name = kernel()::values_in_shared]", see MG_SHARED.
std::string array_name(std::string_view signature) {
  const std::size_t end = signature.rfind("_in_shared");
  if (end == std::string_view::npos) return "array";
  std::size_t begin = end;
  const auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  while (begin > 0 && is_of_name(signature[begin - 1])) --begin;
  return std::string(signature.substr(begin, end - begin));
}

}  // namespace

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

std::size_t mgcpu_register_shared(std::size_t bytes, std::size_t alignment,
                                  std::size_t element_bytes, const char* signature) {
  return mgtune::layout_being_loaded()->add(
      {.bytes = bytes, .element_bytes = element_bytes, .name = array_name(signature)}, alignment);
}
