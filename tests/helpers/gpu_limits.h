// The limits of four GPUs, for tests of spaces and of kernels: from the oldest that mgtune serves
// to the H200, which has the largest spaces.

#pragma once

#include "family/variant.h"

namespace mgtune {

inline constexpr DeviceLimits kT4{75, 40, 65536, 4 << 20};
inline constexpr DeviceLimits kA100{80, 108, 163 << 10, 40 << 20};
inline constexpr DeviceLimits kL4{89, 58, 99 << 10, 48 << 20};
inline constexpr DeviceLimits kH200{90, 132, 232448, 60 << 20};

}  // namespace mgtune
