// Buffer: a named piece of the memory that a program works on. Plain data.
//
// Buffers of one kind lie in one arena, from `base` on. Two buffers may share memory only if both
// are of the kind scratch: the schedule gives the memory of a dead buffer to a later one.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/dtype.h"

namespace mgtune::engine {

enum class BufferKind : std::uint8_t {
  weight,   // filled once from the model, never written
  state,    // kept from step to step: caches, tokens, positions; the host sets it before the first
  scratch,  // has no meaning after the step
  output,   // written in every step; the host reads it afterwards
};
inline constexpr std::array<std::string_view, 4> kBufferKindWords = {"weight", "state", "scratch",
                                                                     "output"};
std::string_view to_string(BufferKind kind);

inline constexpr std::uint64_t kBufferAlignment = 256;  // of every base, in bytes

struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::scratch;
  DType dtype = DType::f32;
  std::uint64_t elements = 0;
  std::uint64_t base = 0;  // in bytes, in the arena of its kind

  bool operator==(const Buffer&) const = default;
};

// Whether a name can stand in the text form of a program: it has 1 to 200 characters, all of them
// letters, digits or one of _ . - /
bool is_buffer_name(std::string_view name);

// nullopt if the size does not fit into 63 bits.
std::optional<std::uint64_t> size_in_bytes(const Buffer& buffer);

// Whether two buffers have a byte in common. Both sizes must fit into 63 bits.
bool share_memory(const Buffer& a, const Buffer& b);

}  // namespace mgtune::engine
