// Matrix products of a warpgroup (128 threads, four whole warps) on the tensor cores of sm_90a,
// with fp32 accumulators: wgmma. The products run while the threads go on.
//
//   using A = mg::PanelTile<T, 64, K>;  using B = mg::PanelTile<T, N, K>;       row-major tiles
//   mg::publish_to_wgmma(); __syncthreads();   only if threads wrote the operands
//   mg::wgmma_fence(d);                        before the first product; names the registers that
//                                              threads wrote, of d and of a
//   for (int step = 0; step < K / 16; ++step)  d (64 x N) = a (64 x K) * b (N x K) transposed
//     mg::wgmma<T, N>(d, mg::k_major<A>(a, 0, step), mg::k_major<B>(b, 0, step), step > 0);
//   mg::wgmma_commit();                        the products so far are one group
//   mg::wgmma_wait<0>(d);                      waits until at most 0 groups are unfinished
//   mg::wgmma_wait<1>();                       likewise, while d goes on being written
//
// The last argument of wgmma() says whether the product is added to d; without it d is overwritten.
// mg::forget(d), before the fence of such a product, says that nobody needs the values of d any
// more. Without it they keep their registers until then, because the instruction names d as an
// operand that it reads.
// An operand is one of:
//   mg::k_major<Tile>(tile, row, step)   rows [row, row + 64 or N) of the tile; k is its columns
//                                        [16 * step, 16 * step + 16)
//   mg::mn_major<Tile>(tile, step)       b only: N is the columns of the tile; k is its rows
//                                        [16 * step, 16 * step + 16)
//   const u32 (&a)[4]                    a only: registers, as <mg/mma.cuh> lays out the a of
//                                        m16n8k16 for the 16 rows of each warp
// N is a multiple of 16 up to 256, `row` a multiple of 8. In lane l of warp w of the warpgroup,
// d[4 * j + 2 * r + c] is the accumulator of row 16 * w + l / 4 + 8 * r and column
// 8 * j + 2 * (l % 4) + c. So two neighbours of d, rounded by mg::pack, are one word of the
// operand a of a next product.
//
// All threads of the warpgroup call each function. Between the fence and the wait, nothing may
// touch d or the registers of a, and nothing may write the operands in shared memory. On the cpu
// device a product is done at once, by each thread for its own accumulators.
// Numerics: products are exact. The device decides the order of the sums and how they are rounded.
//
// Source: PTX ISA, "Asynchronous warpgroup level matrix instructions" (matrix descriptors,
// canonical layouts, register fragments).

#pragma once

#include <mg/mma.cuh>
#include <mg/panel_tile.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

#if !defined(MGTUNE_CPU_DEVICE)
#include <mg/wgmma_instruction.cuh>
#endif

namespace mg {

#if defined(MGTUNE_CPU_DEVICE)

inline void publish_to_wgmma() {}
template <int kCount>
void forget(float (&)[kCount]) {}
template <class... Arrays>
void wgmma_fence(Arrays&...) {}
inline void wgmma_commit() {}
template <int kGroups, int kCount>
void wgmma_wait(float (&)[kCount]) {}
template <int kGroups>
void wgmma_wait() {}

// at(row, k): the element of the operand in this row, or column of b, as a float.
template <class Tile, class T>
struct KMajor {
  const unsigned char* tile;
  int row, k;
  float at(int i, int j) const {
    return to_float(*reinterpret_cast<const T*>(tile + Tile::offset(row + i, k + j)));
  }
};

template <class Tile, class T>
struct MnMajor {
  const unsigned char* tile;
  int k;
  float at(int i, int j) const {
    return to_float(*reinterpret_cast<const T*>(tile + Tile::offset(k + j, i)));
  }
};

template <class T>
struct TypeOfTile;
template <class T, int kRows, int kColumns, int kPanel>
struct TypeOfTile<PanelTile<T, kRows, kColumns, kPanel>> {
  using Type = T;
};

template <class Tile>
auto k_major(const void* tile, int row, int step) {
  return KMajor<Tile, typename TypeOfTile<Tile>::Type>{static_cast<const unsigned char*>(tile), row,
                                                       16 * step};
}
template <class Tile>
auto mn_major(const void* tile, int step) {
  return MnMajor<Tile, typename TypeOfTile<Tile>::Type>{static_cast<const unsigned char*>(tile),
                                                        16 * step};
}

// The two rows of a that this thread's accumulators need.
template <class T>
void rows_of_a(const u32 (&a)[4], float (&rows)[2][16]) {
  const u32 group = threadIdx.x % 32u / 4u;
  for (int from = 0; from < 4; ++from) {
    for (int word = 0; word < 4; ++word) {
      const u32 got = __shfl_sync(0xffffffffu, a[word], static_cast<int>(4u * group) + from);
      float two[2];
      unpack<T>(got, two);
      rows[word % 2][8 * (word / 2) + 2 * from] = two[0];
      rows[word % 2][8 * (word / 2) + 2 * from + 1] = two[1];
    }
  }
}
template <class T, class A>
void rows_of_a(const A& a, float (&rows)[2][16]) {
  const int warp = static_cast<int>(threadIdx.x / 32u % 4u);
  const int row = 16 * warp + static_cast<int>(threadIdx.x % 32u / 4u);
  for (int i = 0; i < 32; ++i) rows[i / 16][i % 16] = a.at(row + i / 16 * 8, i % 16);
}

template <class T, int N, class A, class B>
void wgmma(float (&d)[N / 2], const A& a, const B& b, bool add) {
  static_assert(N % 16 == 0 && N >= 16 && N <= 256, "what the instruction offers");
  float rows[2][16];
  rows_of_a<T>(a, rows);
  for (int i = 0; i < N / 4; ++i) {  // each column has one accumulator per row
    const int column = i / 2 * 8 + 2 * static_cast<int>(threadIdx.x % 4u) + i % 2;
    float sums[2] = {0.0f, 0.0f};
    for (int k = 0; k < 16; ++k) {
      const float of_b = b.at(column, k);
      sums[0] += rows[0][k] * of_b;
      sums[1] += rows[1][k] * of_b;
    }
    for (int r = 0; r < 2; ++r) {
      float& of_d = d[4 * (i / 2) + 2 * r + i % 2];
      of_d = add ? of_d + sums[r] : sums[r];
    }
  }
}

#else

// Makes this thread's earlier stores to shared memory visible to products that are issued after a
// barrier of the storing and the multiplying threads.
__device__ __forceinline__ void publish_to_wgmma() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The compiler does not know that the products use d at other times than their place in the code
// says. Naming d here keeps the threads' own accesses to d where they are.
template <int kCount>
__device__ __forceinline__ void keep_in_place(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
template <int kCount>
__device__ __forceinline__ void keep_in_place(u32 (&a)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(a[i])::"memory");
}

template <int kCount>
__device__ __forceinline__ void forget(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "=f"(d[i]));
}

template <class... Arrays>
__device__ __forceinline__ void wgmma_fence(Arrays&... registers) {
  (keep_in_place(registers), ...);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int kGroups>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroups) : "memory");
}

template <int kGroups, int kCount>
__device__ __forceinline__ void wgmma_wait(float (&d)[kCount]) {
  wgmma_wait<kGroups>();
  keep_in_place(d);
}

// A matrix in shared memory: its descriptor. The type says how the matrix lies there.
struct KMajor {
  u64 descriptor;
};
struct MnMajor {
  u64 descriptor;
};

// The descriptor has the address, the distances of parts of the matrix, and the swizzle, where 1
// means 128 bytes and 2 means 64. Distances and addresses count in 16 bytes.
template <class Tile>
__device__ __forceinline__ u64 descriptor(const void* tile, u32 offset, u32 between_panels) {
  const u32 address = static_cast<u32>(__cvta_generic_to_shared(tile)) + offset;
  constexpr u64 kBetweenEightRows = 8u * Tile::kRowBytes / 16u;
  constexpr u64 kSwizzle = Tile::kPanel == 64 ? 1 : 2;
  return static_cast<u64>((address & 0x3ffffu) / 16u) | u64{between_panels / 16u} << 16 |
         kBetweenEightRows << 32 | kSwizzle << 62;
}

// The distance of panels has no meaning here, because 16 columns lie in one panel.
template <class Tile>
__device__ __forceinline__ KMajor k_major(const void* tile, int row, int step) {
  const u32 offset = Tile::panel(16 * step) + static_cast<u32>(row * Tile::kRowBytes) +
                     static_cast<u32>(16 * step % Tile::kPanel * 2);
  return {descriptor<Tile>(tile, offset, 16u)};
}

template <class Tile>
__device__ __forceinline__ MnMajor mn_major(const void* tile, int step) {
  return {descriptor<Tile>(tile, static_cast<u32>(16 * step * Tile::kRowBytes), Tile::kPanelBytes)};
}

template <class T, int N>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], KMajor a, KMajor b, bool add) {
  wgmma_instruction<kIsBfloat16<T>, N, false>(d, a.descriptor, b.descriptor, add);
}
template <class T, int N>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], KMajor a, MnMajor b, bool add) {
  wgmma_instruction<kIsBfloat16<T>, N, true>(d, a.descriptor, b.descriptor, add);
}
template <class T, int N>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], const u32 (&a)[4], KMajor b, bool add) {
  wgmma_instruction<kIsBfloat16<T>, N, false>(d, a, b.descriptor, add);
}
template <class T, int N>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], const u32 (&a)[4], MnMajor b, bool add) {
  wgmma_instruction<kIsBfloat16<T>, N, true>(d, a, b.descriptor, add);
}

#endif

}  // namespace mg
