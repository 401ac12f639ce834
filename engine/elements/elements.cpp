#include "elements/elements.h"

#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>

namespace mgtune::engine {

bool is_element_dtype(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

void load_floats(DType dtype, const void* from, std::span<float> to) {
  assert(is_element_dtype(dtype));
  if (dtype == DType::f32) {
    if (!to.empty()) std::memcpy(to.data(), from, to.size_bytes());
    return;
  }
  const auto* const bytes = static_cast<const std::byte*>(from);
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes + 2 * i, sizeof(bits));
    // bf16 is converted inline: a function call per weight would take most of the time of a step.
    to[i] = dtype == DType::bf16 ? std::bit_cast<float>(std::uint32_t{bits} << 16)
                                 : float_from_f16(bits);
  }
}

std::vector<float> load_floats(DType dtype, const void* from, std::size_t count) {
  std::vector<float> to(count);
  load_floats(dtype, from, to);
  return to;
}

void store_floats(DType dtype, std::span<const float> from, void* to) {
  assert(is_element_dtype(dtype));
  if (dtype == DType::f32) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size_bytes());
    return;
  }
  auto* const bytes = static_cast<std::byte*>(to);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::uint16_t bits =
        dtype == DType::bf16 ? bf16_from_float(from[i]) : f16_from_float(from[i]);
    std::memcpy(bytes + 2 * i, &bits, sizeof(bits));
  }
}

}  // namespace mgtune::engine
