// Helpers that every mgr_* function uses. The callers are C programs, so a failure becomes a code
// and the last error of this thread, and exceptions are caught. The options structs of callers may
// come from another version of the header; they are read safely.
//
// Thread-safe: the last error belongs to the calling thread.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "core/status.h"
#include "mgruntime/mgruntime.h"

namespace mgtune {

// Keeps the message for mgr_last_error() and returns the code. Never throws.
mgr_status_t fail(mgr_status_t code, const char* message) noexcept;
mgr_status_t fail(const Status& status) noexcept;

// Whether this process is the child of a fork() whose parent had called watch_for_forks(). Such a
// child cannot use the library: a thread of the parent may have held the locks, and the child has
// neither the worker threads of the cpu device nor the state of the driver. exec() ends this state.
bool is_forked() noexcept;
void watch_for_forks() noexcept;

// Runs `body`, which returns a Status, unless is_forked().
template <typename Body>
mgr_status_t guarded(Body&& body) noexcept {
  if (is_forked()) {
    return fail(MGR_FORKED,
                "this process was forked from one that uses libmgruntime; fork before mgr_open, or "
                "call exec in the child");
  }
  try {
    const Status status = body();
    return status.ok() ? MGR_OK : fail(status);
  } catch (const std::bad_alloc&) {
    return fail(MGR_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& exception) {
    return fail(MGR_INTERNAL, exception.what());
  } catch (...) {
    return fail(MGR_INTERNAL, "unknown exception");
  }
}

// Copies the caller's struct. If the caller was compiled with an older header, its struct is
// shorter, and the fields that it does not have become zero. If it was compiled with a newer
// header, the fields that this library does not know must be zero, because the library would ignore
// them. The struct must have at least `first_bytes`, its size in the first version.
template <typename Options>
Result<Options> read_options(const Options* from, std::size_t first_bytes) {
  Options options{};
  if (from == nullptr) return options;
  const std::size_t size = from->struct_size;
  if (size < first_bytes) {
    return invalid_argument("struct_size of the options is " + std::to_string(size) +
                            "; it is sizeof the struct, at least " + std::to_string(first_bytes));
  }
  std::memcpy(&options, from, std::min(size, sizeof(Options)));
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  for (std::size_t i = sizeof(Options); i < size; ++i) {
    if (bytes[i] != 0) return unsupported("the options have fields that this libmgruntime lacks");
  }
  return options;
}

}  // namespace mgtune
