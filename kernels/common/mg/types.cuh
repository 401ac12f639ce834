// Integers of fixed width, for all three compilers: NVRTC has no <cstdint>. Kernel parameters that
// an operator file calls "i64" are mg::i64.

#pragma once

namespace mg {

using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;

static_assert(sizeof(i32) == 4 && sizeof(i64) == 8, "LP64, as CUDA has it");

}  // namespace mg
