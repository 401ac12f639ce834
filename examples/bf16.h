/* bfloat16 on the host: the upper half of a float. */
#ifndef MGTUNE_EXAMPLES_BF16_H_
#define MGTUNE_EXAMPLES_BF16_H_

#include <cstdint>
#include <cstring>

inline std::uint16_t to_bf16(float value) {  // round to nearest even; not for NaN
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline float from_bf16(std::uint16_t value) {
  const std::uint32_t bits = std::uint32_t{value} << 16;
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

#endif  // MGTUNE_EXAMPLES_BF16_H_
