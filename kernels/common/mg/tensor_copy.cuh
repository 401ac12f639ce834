// Copies of boxes of a tensor between global and shared memory by the copy engine (TMA with a
// tensor map). Needs compute capability 9.0. On the cpu device a copy is done at once.
//
//   __global__ void kernel(const __grid_constant__ mg::TensorMap x, ...)
//   mg::prefetch(x);                                    one thread, early: the map itself
//   mg::arrive_expecting(arrived, mg::u32{bytes_of_the_box});
//   mg::tensor_load(shared, x, arrived, column, row, ...);   one thread; 2 to 5 coordinates, the
//                                                       fastest dimension first
//   mg::tensor_load_kept(...), mg::tensor_load_once(...)     the data leaves L2 last, or first
//   mg::tensor_prefetch(x, column, row, ...);           into L2 only; nobody waits for it. It does
//                                                       not count as a read of memory that another
//                                                       grid may be writing
//   mg::tensor_load_to_blocks(shared, x, arrived, mg::u16{0b11}, column, row, ...);
//                                                       to this place in the blocks of the cluster
//                                                       whose bits are set; the bytes count at the
//                                                       barrier at the place of `arrived` in each
//   mg::tensor_store(x, shared, column, row, ...);      then commit_stores() and the waits of
//                                                       <mg/bulk_copy.cuh>
//
// An operator file describes the map ("tensor_maps" of a launch): the tensor's extents and strides,
// the box that one copy moves, and the swizzle. The box lies densely in shared memory, the fastest
// dimension first. `shared` is a multiple of 128 bytes, and of 1024 with a swizzle of 128 bytes
// (512 with 64). With a swizzle, a row of the box is as long as the swizzle; 16-byte piece p of row
// r lies at piece p ^ (r % 8) for 128 bytes, and at p ^ (r / 2 % 4) for 64.
// Elements past the ends of the tensor are loaded as zeros and count among the bytes that arrive.
// They are not stored. No coordinate may be negative: on an H200, a copy of a box without a swizzle
// that began before its tensor was an illegal instruction. The cpu device traps.
//
// Source: PTX ISA, "cp.async.bulk.tensor" and "Swizzling modes".

#pragma once

#include <mg/bulk_copy.cuh>
#include <mg/types.cuh>

#if defined(MGTUNE_CPU_DEVICE)
#include "mgcpu/tensor_map.h"
#endif

namespace mg {

struct alignas(64) TensorMap {
  unsigned char opaque[128];
};

#if defined(MGTUNE_CPU_DEVICE)

inline void prefetch(const TensorMap&) {}

// Calls visit(shared offset, global address or null) for each 16 bytes of the box at `place`.
template <int kRank, class Visit>
void each_piece_of_box(const ::mgcpu::TensorMap& map, const int (&place)[kRank],
                       const Visit& visit) {
  const u32 row_bytes = map.box[0] * map.element_bytes, elements = 16u / map.element_bytes;
  u32 rows = 1;
  for (int i = 0; i < kRank; ++i) {
    if (place[i] < 0) __trap();
    if (i > 0) rows *= map.box[i];
  }
  for (u32 row = 0; row < rows; ++row) {
    bool is_there = true;
    const unsigned char* from = map.memory;
    u32 left = row;
    for (int i = 1; i < kRank; ++i) {
      const i64 at = i64{place[i]} + left % map.box[i];
      left /= map.box[i];
      is_there = is_there && at < static_cast<i64>(map.extent[i]);
      from += at * static_cast<i64>(map.stride_bytes[i - 1]);
    }
    for (u32 piece = 0; piece < row_bytes / 16u; ++piece) {
      const i64 column = i64{place[0]} + piece * elements;
      u32 to = row * row_bytes + piece * 16u;
      if (map.swizzle_bytes > 16u) to ^= to / 128u % (map.swizzle_bytes / 16u) * 16u;
      const bool is_inside = is_there && column + elements <= static_cast<i64>(map.extent[0]);
      visit(to, is_inside ? from + column * map.element_bytes : nullptr);
    }
  }
}

// The extent of the fastest dimension is a multiple of 16 bytes here; a GPU takes any.
template <class... Coordinates>
void tensor_load(void* shared, const TensorMap& map, CopyBarrier& barrier, Coordinates... place) {
  const auto& fields = reinterpret_cast<const ::mgcpu::TensorMap&>(map);
  constexpr int kRank = sizeof...(place);
  if (fields.rank != kRank) __trap();
  const int at[kRank] = {place...};
  u32 bytes = 0;
  each_piece_of_box<kRank>(fields, at, [&](u32 to, const unsigned char* from) {
    auto* const piece = static_cast<unsigned char*>(shared) + to;
    from == nullptr ? memset(piece, 0, 16) : memcpy(piece, from, 16);
    bytes += 16;
  });
  barrier.bytes_missing -= static_cast<i32>(bytes);
  end_phase_when_complete(barrier);
}

template <class... Coordinates>
void tensor_load_kept(void* shared, const TensorMap& map, CopyBarrier& barrier,
                      Coordinates... place) {
  tensor_load(shared, map, barrier, place...);
}
template <class... Coordinates>
void tensor_load_once(void* shared, const TensorMap& map, CopyBarrier& barrier,
                      Coordinates... place) {
  tensor_load(shared, map, barrier, place...);
}

template <class... Coordinates>
void tensor_prefetch(const TensorMap&, Coordinates...) {}

// A cluster has one block here.
template <class... Coordinates>
void tensor_load_to_blocks(void* shared, const TensorMap& map, CopyBarrier& barrier, u16 blocks,
                           Coordinates... place) {
  if (blocks != 1) __trap();
  tensor_load(shared, map, barrier, place...);
}

template <class... Coordinates>
void tensor_store(const TensorMap& map, const void* shared, Coordinates... place) {
  const auto& fields = reinterpret_cast<const ::mgcpu::TensorMap&>(map);
  constexpr int kRank = sizeof...(place);
  if (fields.rank != kRank) __trap();
  const int at[kRank] = {place...};
  each_piece_of_box<kRank>(fields, at, [&](u32 from, const unsigned char* to) {
    if (to == nullptr) return;
    memcpy(const_cast<unsigned char*>(to), static_cast<const unsigned char*>(shared) + from, 16);
  });
}

#else

__device__ __forceinline__ u64 address_of(const TensorMap& map) {
  return reinterpret_cast<u64>(&map);
}

__device__ __forceinline__ void prefetch(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(address_of(map)) : "memory");
}

__device__ __forceinline__ u64 policy_to_drop() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// `hint` is the text after the completion mechanism, and `policy` is its operand.
#define MG_TENSOR_LOAD(rank, names, hint, policy, ...)                                    \
  asm volatile("cp.async.bulk.tensor." rank                                               \
               ".shared::cluster.global.tile.mbarrier::complete_tx::bytes" hint           \
               " [%0], [%1, {" names "}], [%2]" policy ";" ::"r"(shared_address(shared)), \
               "l"(address_of(map)), "r"(shared_address(&barrier)), __VA_ARGS__           \
               : "memory")
#define MG_TENSOR_LOADS(hint, p2, p3, p4, p5, ...)                                               \
  if constexpr (sizeof...(place) == 2) {                                                         \
    MG_TENSOR_LOAD("2d", "%3, %4", hint, p2, "r"(at[0]), "r"(at[1])__VA_ARGS__);                 \
  } else if constexpr (sizeof...(place) == 3) {                                                  \
    MG_TENSOR_LOAD("3d", "%3, %4, %5", hint, p3, "r"(at[0]), "r"(at[1]), "r"(at[2])__VA_ARGS__); \
  } else if constexpr (sizeof...(place) == 4) {                                                  \
    MG_TENSOR_LOAD("4d", "%3, %4, %5, %6", hint, p4, "r"(at[0]), "r"(at[1]), "r"(at[2]),         \
                   "r"(at[3])__VA_ARGS__);                                                       \
  } else {                                                                                       \
    MG_TENSOR_LOAD("5d", "%3, %4, %5, %6, %7", hint, p5, "r"(at[0]), "r"(at[1]), "r"(at[2]),     \
                   "r"(at[3]), "r"(at[4])__VA_ARGS__);                                           \
  }
#define MG_COORDINATES                                                                \
  static_assert(sizeof...(place) >= 2 && sizeof...(place) <= 5, "2 to 5 dimensions"); \
  const int at[sizeof...(place)] = {place...}

template <class... Coordinates>
__device__ __forceinline__ void tensor_load(void* shared, const TensorMap& map,
                                            CopyBarrier& barrier, Coordinates... place) {
  MG_COORDINATES;
  MG_TENSOR_LOADS("", "", "", "", "");
}

template <class... Coordinates>
__device__ __forceinline__ void tensor_load_kept(void* shared, const TensorMap& map,
                                                 CopyBarrier& barrier, Coordinates... place) {
  MG_COORDINATES;
  MG_TENSOR_LOADS(".L2::cache_hint", ", %5", ", %6", ", %7", ", %8", , "l"(policy_to_keep()));
}

template <class... Coordinates>
__device__ __forceinline__ void tensor_load_once(void* shared, const TensorMap& map,
                                                 CopyBarrier& barrier, Coordinates... place) {
  MG_COORDINATES;
  MG_TENSOR_LOADS(".L2::cache_hint", ", %5", ", %6", ", %7", ", %8", , "l"(policy_to_drop()));
}

template <class... Coordinates>
__device__ __forceinline__ void tensor_load_to_blocks(void* shared, const TensorMap& map,
                                                      CopyBarrier& barrier, u16 blocks,
                                                      Coordinates... place) {
  MG_COORDINATES;
  MG_TENSOR_LOADS(".multicast::cluster", ", %5", ", %6", ", %7", ", %8", , "h"(blocks));
}

#define MG_TENSOR_PREFETCH(rank, names, ...)                                        \
  asm volatile("cp.async.bulk.prefetch.tensor." rank ".L2.global.tile [%0, {" names \
               "}];" ::"l"(address_of(map)),                                        \
               __VA_ARGS__                                                          \
               : "memory")

template <class... Coordinates>
__device__ __forceinline__ void tensor_prefetch(const TensorMap& map, Coordinates... place) {
  MG_COORDINATES;
  if constexpr (sizeof...(place) == 2) {
    MG_TENSOR_PREFETCH("2d", "%1, %2", "r"(at[0]), "r"(at[1]));
  } else if constexpr (sizeof...(place) == 3) {
    MG_TENSOR_PREFETCH("3d", "%1, %2, %3", "r"(at[0]), "r"(at[1]), "r"(at[2]));
  } else if constexpr (sizeof...(place) == 4) {
    MG_TENSOR_PREFETCH("4d", "%1, %2, %3, %4", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
  } else {
    MG_TENSOR_PREFETCH("5d", "%1, %2, %3, %4, %5", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
                       "r"(at[4]));
  }
}

#define MG_TENSOR_STORE(rank, names, ...)                                                      \
  asm volatile("cp.async.bulk.tensor." rank ".global.shared::cta.tile.bulk_group [%0, {" names \
               "}], [%1];" ::"l"(address_of(map)),                                             \
               "r"(shared_address(shared)), __VA_ARGS__                                        \
               : "memory")

template <class... Coordinates>
__device__ __forceinline__ void tensor_store(const TensorMap& map, const void* shared,
                                             Coordinates... place) {
  MG_COORDINATES;
  if constexpr (sizeof...(place) == 2) {
    MG_TENSOR_STORE("2d", "%2, %3", "r"(at[0]), "r"(at[1]));
  } else if constexpr (sizeof...(place) == 3) {
    MG_TENSOR_STORE("3d", "%2, %3, %4", "r"(at[0]), "r"(at[1]), "r"(at[2]));
  } else if constexpr (sizeof...(place) == 4) {
    MG_TENSOR_STORE("4d", "%2, %3, %4, %5", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
  } else {
    MG_TENSOR_STORE("5d", "%2, %3, %4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
                    "r"(at[4]));
  }
}

#undef MG_TENSOR_STORE
#undef MG_TENSOR_PREFETCH
#undef MG_COORDINATES
#undef MG_TENSOR_LOADS
#undef MG_TENSOR_LOAD

#endif

}  // namespace mg
