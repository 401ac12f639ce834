// Integers of fixed width for all three compilers, because NVRTC has no <cstdint>. A kernel
// parameter that an operator file calls "i64" is an mg::i64.

#pragma once

namespace mg {

using i32 = int;
using u16 = unsigned short;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;

static_assert(sizeof(i32) == 4 && sizeof(i64) == 8, "LP64, as CUDA has it");

}  // namespace mg
