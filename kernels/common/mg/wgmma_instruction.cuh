// The PTX of one wgmma, for <mg/wgmma.cuh> alone. A product of N columns has N / 2 accumulators per
// thread, which are the first operands of the instruction. Its text names each of them, so the text
// and the operands are put together from pieces of eight accumulators.
//
// Source: PTX ISA, "wgmma.mma_async".

#pragma once

#include <mg/types.cuh>

namespace mg {

#define MG_NAMES_1 "%0, %1, %2, %3, %4, %5, %6, %7"
#define MG_NAMES_2 MG_NAMES_1 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define MG_NAMES_3 MG_NAMES_2 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define MG_NAMES_4 MG_NAMES_3 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define MG_NAMES_5 MG_NAMES_4 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define MG_NAMES_6 MG_NAMES_5 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define MG_NAMES_7 MG_NAMES_6 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define MG_NAMES_8 MG_NAMES_7 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define MG_NAMES_9 MG_NAMES_8 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define MG_NAMES_10 MG_NAMES_9 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define MG_NAMES_11 MG_NAMES_10 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define MG_NAMES_12 MG_NAMES_11 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define MG_NAMES_13 MG_NAMES_12 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define MG_NAMES_14 MG_NAMES_13 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define MG_NAMES_15 MG_NAMES_14 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define MG_NAMES_16 MG_NAMES_15 ", %120, %121, %122, %123, %124, %125, %126, %127"

#define MG_EIGHT(i)                                                                     \
  "+f"(d[(i)]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3]), "+f"(d[(i) + 4]), \
      "+f"(d[(i) + 5]), "+f"(d[(i) + 6]), "+f"(d[(i) + 7])
#define MG_VALUES_1 MG_EIGHT(0)
#define MG_VALUES_2 MG_VALUES_1, MG_EIGHT(8)
#define MG_VALUES_3 MG_VALUES_2, MG_EIGHT(16)
#define MG_VALUES_4 MG_VALUES_3, MG_EIGHT(24)
#define MG_VALUES_5 MG_VALUES_4, MG_EIGHT(32)
#define MG_VALUES_6 MG_VALUES_5, MG_EIGHT(40)
#define MG_VALUES_7 MG_VALUES_6, MG_EIGHT(48)
#define MG_VALUES_8 MG_VALUES_7, MG_EIGHT(56)
#define MG_VALUES_9 MG_VALUES_8, MG_EIGHT(64)
#define MG_VALUES_10 MG_VALUES_9, MG_EIGHT(72)
#define MG_VALUES_11 MG_VALUES_10, MG_EIGHT(80)
#define MG_VALUES_12 MG_VALUES_11, MG_EIGHT(88)
#define MG_VALUES_13 MG_VALUES_12, MG_EIGHT(96)
#define MG_VALUES_14 MG_VALUES_13, MG_EIGHT(104)
#define MG_VALUES_15 MG_VALUES_14, MG_EIGHT(112)
#define MG_VALUES_16 MG_VALUES_15, MG_EIGHT(120)

// Both forms add to d if `add` is not 0. Otherwise d is overwritten. Neither operand is negated,
// and a in shared memory is K-major.
#define MG_SHARED_FORM(type, n, eights, a_name, b_name, add_name, transposed_name)                \
  asm volatile("{.reg .pred add; setp.ne.b32 add, " add_name                                      \
               ", 0;\n"                                                                           \
               "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type                    \
               " {" MG_NAMES_##eights "}, " a_name ", " b_name ", add, 1, 1, 0, " transposed_name \
                                      ";}"                                                        \
               : MG_VALUES_##eights                                                               \
               : "l"(a), "l"(b), "r"(add), "n"(kTransposeB))
#define MG_REGISTER_FORM(type, n, eights, a0, a1, a2, a3, b_name, add_name, transposed_name) \
  asm volatile("{.reg .pred add; setp.ne.b32 add, " add_name                                 \
               ", 0;\n"                                                                      \
               "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type               \
               " {" MG_NAMES_##eights "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b_name         \
                                      ", add, 1, 1, " transposed_name ";}"                   \
               : MG_VALUES_##eights                                                          \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(kTransposeB))

// The column counts, the eights of accumulators, and the names of the operands after them.
#define MG_EACH_SHARED_FORM(type)                                                        \
  if constexpr (N == 16) MG_SHARED_FORM(type, 16, 1, "%8", "%9", "%10", "%11");          \
  if constexpr (N == 32) MG_SHARED_FORM(type, 32, 2, "%16", "%17", "%18", "%19");        \
  if constexpr (N == 48) MG_SHARED_FORM(type, 48, 3, "%24", "%25", "%26", "%27");        \
  if constexpr (N == 64) MG_SHARED_FORM(type, 64, 4, "%32", "%33", "%34", "%35");        \
  if constexpr (N == 80) MG_SHARED_FORM(type, 80, 5, "%40", "%41", "%42", "%43");        \
  if constexpr (N == 96) MG_SHARED_FORM(type, 96, 6, "%48", "%49", "%50", "%51");        \
  if constexpr (N == 112) MG_SHARED_FORM(type, 112, 7, "%56", "%57", "%58", "%59");      \
  if constexpr (N == 128) MG_SHARED_FORM(type, 128, 8, "%64", "%65", "%66", "%67");      \
  if constexpr (N == 144) MG_SHARED_FORM(type, 144, 9, "%72", "%73", "%74", "%75");      \
  if constexpr (N == 160) MG_SHARED_FORM(type, 160, 10, "%80", "%81", "%82", "%83");     \
  if constexpr (N == 176) MG_SHARED_FORM(type, 176, 11, "%88", "%89", "%90", "%91");     \
  if constexpr (N == 192) MG_SHARED_FORM(type, 192, 12, "%96", "%97", "%98", "%99");     \
  if constexpr (N == 208) MG_SHARED_FORM(type, 208, 13, "%104", "%105", "%106", "%107"); \
  if constexpr (N == 224) MG_SHARED_FORM(type, 224, 14, "%112", "%113", "%114", "%115"); \
  if constexpr (N == 240) MG_SHARED_FORM(type, 240, 15, "%120", "%121", "%122", "%123"); \
  if constexpr (N == 256) MG_SHARED_FORM(type, 256, 16, "%128", "%129", "%130", "%131");
#define MG_EACH_REGISTER_FORM(type)                                                          \
  if constexpr (N == 16) {                                                                   \
    MG_REGISTER_FORM(type, 16, 1, "%8", "%9", "%10", "%11", "%12", "%13", "%14");            \
  }                                                                                          \
  if constexpr (N == 32) {                                                                   \
    MG_REGISTER_FORM(type, 32, 2, "%16", "%17", "%18", "%19", "%20", "%21", "%22");          \
  }                                                                                          \
  if constexpr (N == 48) {                                                                   \
    MG_REGISTER_FORM(type, 48, 3, "%24", "%25", "%26", "%27", "%28", "%29", "%30");          \
  }                                                                                          \
  if constexpr (N == 64) {                                                                   \
    MG_REGISTER_FORM(type, 64, 4, "%32", "%33", "%34", "%35", "%36", "%37", "%38");          \
  }                                                                                          \
  if constexpr (N == 80) {                                                                   \
    MG_REGISTER_FORM(type, 80, 5, "%40", "%41", "%42", "%43", "%44", "%45", "%46");          \
  }                                                                                          \
  if constexpr (N == 96) {                                                                   \
    MG_REGISTER_FORM(type, 96, 6, "%48", "%49", "%50", "%51", "%52", "%53", "%54");          \
  }                                                                                          \
  if constexpr (N == 112) {                                                                  \
    MG_REGISTER_FORM(type, 112, 7, "%56", "%57", "%58", "%59", "%60", "%61", "%62");         \
  }                                                                                          \
  if constexpr (N == 128) {                                                                  \
    MG_REGISTER_FORM(type, 128, 8, "%64", "%65", "%66", "%67", "%68", "%69", "%70");         \
  }                                                                                          \
  if constexpr (N == 144) {                                                                  \
    MG_REGISTER_FORM(type, 144, 9, "%72", "%73", "%74", "%75", "%76", "%77", "%78");         \
  }                                                                                          \
  if constexpr (N == 160) {                                                                  \
    MG_REGISTER_FORM(type, 160, 10, "%80", "%81", "%82", "%83", "%84", "%85", "%86");        \
  }                                                                                          \
  if constexpr (N == 176) {                                                                  \
    MG_REGISTER_FORM(type, 176, 11, "%88", "%89", "%90", "%91", "%92", "%93", "%94");        \
  }                                                                                          \
  if constexpr (N == 192) {                                                                  \
    MG_REGISTER_FORM(type, 192, 12, "%96", "%97", "%98", "%99", "%100", "%101", "%102");     \
  }                                                                                          \
  if constexpr (N == 208) {                                                                  \
    MG_REGISTER_FORM(type, 208, 13, "%104", "%105", "%106", "%107", "%108", "%109", "%110"); \
  }                                                                                          \
  if constexpr (N == 224) {                                                                  \
    MG_REGISTER_FORM(type, 224, 14, "%112", "%113", "%114", "%115", "%116", "%117", "%118"); \
  }                                                                                          \
  if constexpr (N == 240) {                                                                  \
    MG_REGISTER_FORM(type, 240, 15, "%120", "%121", "%122", "%123", "%124", "%125", "%126"); \
  }                                                                                          \
  if constexpr (N == 256) {                                                                  \
    MG_REGISTER_FORM(type, 256, 16, "%128", "%129", "%130", "%131", "%132", "%133", "%134"); \
  }

// a and b are descriptors of matrices in shared memory.
template <bool kBfloat16, int N, bool kTransposeB>
__device__ __forceinline__ void wgmma_instruction(float (&d)[N / 2], u64 a, u64 b, int add) {
  if constexpr (kBfloat16) {
    MG_EACH_SHARED_FORM("bf16");
  } else {
    MG_EACH_SHARED_FORM("f16");
  }
}

// a is in registers.
template <bool kBfloat16, int N, bool kTransposeB>
__device__ __forceinline__ void wgmma_instruction(float (&d)[N / 2], const u32* a, u64 b, int add) {
  if constexpr (kBfloat16) {
    MG_EACH_REGISTER_FORM("bf16");
  } else {
    MG_EACH_REGISTER_FORM("f16");
  }
}

#undef MG_EACH_REGISTER_FORM
#undef MG_EACH_SHARED_FORM
#undef MG_REGISTER_FORM
#undef MG_SHARED_FORM
#undef MG_EIGHT
#undef MG_NAMES_1
#undef MG_VALUES_1
#undef MG_NAMES_2
#undef MG_VALUES_2
#undef MG_NAMES_3
#undef MG_VALUES_3
#undef MG_NAMES_4
#undef MG_VALUES_4
#undef MG_NAMES_5
#undef MG_VALUES_5
#undef MG_NAMES_6
#undef MG_VALUES_6
#undef MG_NAMES_7
#undef MG_VALUES_7
#undef MG_NAMES_8
#undef MG_VALUES_8
#undef MG_NAMES_9
#undef MG_VALUES_9
#undef MG_NAMES_10
#undef MG_VALUES_10
#undef MG_NAMES_11
#undef MG_VALUES_11
#undef MG_NAMES_12
#undef MG_VALUES_12
#undef MG_NAMES_13
#undef MG_VALUES_13
#undef MG_NAMES_14
#undef MG_VALUES_14
#undef MG_NAMES_15
#undef MG_VALUES_15
#undef MG_NAMES_16
#undef MG_VALUES_16

}  // namespace mg
