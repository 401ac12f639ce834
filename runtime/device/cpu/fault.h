// Fault: an error on a fiber, as plain data. A thread that fails is abandoned where it is, so it
// must own nothing. It leaves a Fault, and the worker makes the text on its own stack.

#pragma once

#include <cstdint>
#include <string>

namespace mgtune {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

std::string to_string(Dim3 index);                 // "(0,0,0)"
Dim3 index_in(std::uint64_t linear, Dim3 extent);  // x runs fastest
std::uint64_t count(Dim3 extent);

// Where a thread is: the function in which it waits, and the source line of the caller.
struct Place {
  const char* name = nullptr;
  const char* file = nullptr;
  int line = 0;
  std::uint32_t mask = 0;  // of a warp collective; 0 otherwise

  bool same_line(const Place& other) const;
};

std::string to_string(const Place& place);  // "__shfl_xor_sync(mask 0xffffffff) at forward.cu:18"

// Returns "forward.cu:45" for the instruction before `return_address`. In a chain of inlined
// functions it is the innermost line outside the device headers (mg/, mgcpu/). Runs addr2line
// (binutils). Without it, or without debug information, the result is the symbol and the offset.
// Thread-safe; takes milliseconds.
std::string source_line(const void* return_address);

struct Race {
  std::uint32_t earlier_thread;
  const void* earlier_address;  // of the instruction after the access
  const void* later_address;
  bool earlier_wrote, later_writes, same_warp;
};

// An access that leaves its buffer or shared array, or that reads what nothing has written.
struct BadAccess {
  const char* name = nullptr;  // of the buffer or array
  bool is_shared_array = false;
  bool writes = false;
  bool is_unwritten = false;  // the access is within bounds, but reads what nothing has written
  std::int64_t offset = 0;    // of the first wrong byte
  std::size_t bytes = 0;      // of the buffer or array
  std::size_t element_bytes = 1;
  const void* return_address = nullptr;  // of the instruction after the access
};

struct Fault {
  enum class Kind : std::uint8_t {
    none,
    trap,
    failed_assert,  // name: the condition
    mask_without_self,
    bad_width,
    bad_barrier,
    different_collectives,  // other_thread, other_place: the thread that arrived first
    different_barriers,     // the same for barriers
    gone_source,            // a shuffle reads a lane in its mask that has returned
    race,
    bad_access,
    deadline,
  };
  Kind kind = Kind::none;
  std::uint32_t thread = 0;
  Place place = {};
  std::uint32_t other_thread = 0;
  Place other_place = {};
  std::uint32_t number = 0;  // the lane, width or barrier that is wrong
  Race race{};
  BadAccess access{};
  const void* interrupted_address = nullptr;  // deadline: where the thread was; null: see its place
};

// One line for every kind except deadline. `block` is the extent of the block.
std::string fault_text(const Fault& fault, Dim3 block);

}  // namespace mgtune
