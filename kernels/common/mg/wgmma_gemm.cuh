// Matrix products y = a b^T on the tensor cores of sm_90a, tile by tile. The caller decides what
// happens to the sums. `a` has m rows and `b` n rows, both of k elements. With PARTS = 2 there are
// two matrices b, and the caller gets both sums of an element at once: gate and up.
//
//   using V = mg::WgmmaGemm<T, CONSUMERS, COLUMNS, STAGES, CLUSTER, CLUSTER_K, PARTS, STREAM_K,
//                           BLOCK_K, Y_STAGES>;
//   template ... __global__ void __launch_bounds__(V::kThreads, 1) kernel(
//       const __grid_constant__ mg::TensorMap a, const __grid_constant__ mg::TensorMap b,
//       const __grid_constant__ mg::TensorMap y_map, T* y, mg::i64 y_stride, ...) {
//     const mg::TensorMap* const parts[] = {&b};
//     mg::wgmma_gemm<V>({m, n, k, group}, a, parts, {y_map, y, y_stride}, {partial_sums, counters},
//                       epilogue);
//   }
//
// A launch has clusters of CLUSTER * CLUSTER_K blocks, and V::kSharedBytes of dynamic shared
// memory. CLUSTER_K > 1 needs PARTS = 1 and no STREAM_K, and a launch then has a cluster for every
// CLUSTER tiles. With `pdl` the grid is set up while the previous grid ends. The maps have the
// swizzle "128B". Those of a and b have the extents {k, rows} and the boxes {64, 64 * CONSUMERS}
// and {64, COLUMNS / max(PARTS, CLUSTER)}; that of y has the extents {n, m} and the box {64, 64}.
//
// A tile has 64 * CONSUMERS rows and COLUMNS / PARTS columns of y. The blocks are persistent: each
// takes tile after tile. One thread of the first warpgroup lets the copy engine bring slabs of
// BLOCK_K columns of a and b into a ring of STAGES slots. Each of CONSUMERS warpgroups owns 64 rows
// and waits only for the copies. CLUSTER blocks of a cluster have the same columns and neighbouring
// rows. Each brings a part of b's slab, for all of them. <mg/gemm_units.cuh> has the order of the
// tiles.
//
// With STREAM_K the sums of a part of a tile go to `partial_sums`, and the block that ends last
// adds all parts in their order. There are 2 * 64 * COLUMNS partial sums per block and consumer,
// and 2 counters, which are zero before and after. All shared tiles together have at least one slab
// per cluster. With CLUSTER_K > 1 the blocks that share a tile exchange their sums through shared
// memory, and each writes a part of the columns (<mg/cluster_parts.cuh>).
//
// With SWAP (PARTS = 1, CLUSTER_K = 1, no STREAM_K) the instructions compute b a^T. So a tile has
// COLUMNS rows, any multiple of 16, and 64 * CONSUMERS * HALVES columns of y: each consumer has
// HALVES instructions side by side. The boxes are {64, COLUMNS} of a, {64, 64 * CONSUMERS * HALVES
// / CLUSTER} of b and {64, V::kStoredRows} of y. The numbers of rows that a model sees are rarely
// multiples of 64, and its numbers of columns mostly are.
//
// At the end of a tile, epilogue.apply(row, column, is_inside, values) turns the sums
// values[PARTS][2] of the elements (row, column) and (row, column + 1) into those of y, in
// values[0]. Elements that are not inside y have no memory, and their results are dropped. The
// epilogue is called for them too: a branch around each pair would keep the compiler from
// overlapping the arithmetic of several pairs. The results are rounded, staged in shared memory 64
// columns at a time, and stored by the copy engine while the next tile begins. The copy engine
// leaves out what lies past the ends of y. Columns of a tile that do not fill a stage are stored
// from registers.
//
// Traffic    Per slab of 64 columns, without SWAP: L2 reads 64 * CONSUMERS + COLUMNS / CLUSTER rows
//            of 128 bytes for a block, and 64 * CONSUMERS + COLUMNS arrive.
//            At 128 x 256 and the full rate of the tensor cores these are 48 bytes per SM and clock
//            without a cluster, 32 with one of two blocks. On an H200, tiles of 64 x 64 got 60.
// Numerics   Products are exact, sums are fp32. Within 16 columns the device decides the order of
//            the sums. Then the slabs of a block are added in the order of k, and then the blocks
//            of a tile. Repeated runs give equal bits.

#pragma once

#include <mg/bulk_copy.cuh>
#include <mg/cluster.cuh>
#include <mg/cluster_parts.cuh>
#include <mg/convert.cuh>
#include <mg/copy_ring.cuh>
#include <mg/gemm_units.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/group_sum.cuh>
#include <mg/mma.cuh>
#include <mg/panel_tile.cuh>
#include <mg/shared.cuh>
#include <mg/stmatrix.cuh>
#include <mg/tensor_copy.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>
#include <mg/warpgroup.cuh>
#include <mg/wgmma.cuh>

namespace mg {

// The constants of a variant.
template <class T_, int CONSUMERS, int COLUMNS, int STAGES, int CLUSTER, int CLUSTER_K, int PARTS,
          bool STREAM_K, int BLOCK_K, int Y_STAGES, bool SWAP = false, int HALVES = 1>
struct WgmmaGemm {
  using T = T_;
  static constexpr int kConsumers = CONSUMERS;
  static constexpr int kColumns = COLUMNS;  // of an instruction
  static constexpr int kHalves = HALVES;    // instructions of a consumer side by side, 64 rows each
  static constexpr bool kSwap = SWAP;
  // A tile of y.
  static constexpr int kRows = SWAP ? COLUMNS : 64 * CONSUMERS;
  static constexpr int kOwnColumns = SWAP ? 64 * CONSUMERS * HALVES : COLUMNS / PARTS;
  static constexpr int kSlots = STAGES, kParts = PARTS;
  static constexpr int kCluster = CLUSTER, kClusterK = CLUSTER_K, kBlocks = CLUSTER * CLUSTER_K;
  static constexpr int kWritten = COLUMNS / PARTS / CLUSTER_K;  // columns of sums, by a block
  static constexpr int kBlockK = BLOCK_K;
  static constexpr bool kStreamK = STREAM_K;
  static constexpr int kYStages = Y_STAGES;
  static constexpr int kThreads = 128 * (CONSUMERS + 1);
  static_assert(CONSUMERS >= 1 && CONSUMERS <= 3 && CLUSTER >= 1 && CLUSTER <= 2, "as documented");
  static_assert(kOwnColumns % 16 == 0 && COLUMNS <= 256, "pairs of blocks, one instruction");
  static_assert(CLUSTER_K == 1 || (PARTS == 1 && !STREAM_K), "as documented");
  static_assert(!SWAP || (PARTS == 1 && CLUSTER_K == 1 && !STREAM_K), "as documented");
  static_assert(HALVES == 1 || SWAP, "as documented");

  // The operands of the instruction: a and b, or with SWAP b and a.
  using First = PanelTile<T, 64 * CONSUMERS * HALVES, BLOCK_K>;
  using Second = PanelTile<T, COLUMNS, BLOCK_K>;
  static constexpr int kSlotBytes = First::kBytes + Second::kBytes;
  static constexpr int kPanelOfA = SWAP ? Second::kPanelBytes : First::kPanelBytes;
  static constexpr int kPanelOfB = SWAP ? First::kPanelBytes : Second::kPanelBytes;
  static constexpr int kOffsetOfA = SWAP ? First::kBytes : 0;
  static constexpr int kOffsetOfB = SWAP ? 0 : First::kBytes;
  // The boxes of a slab of b. They lie one after the other.
  static constexpr int kBoxes = PARTS > CLUSTER ? PARTS : CLUSTER;
  static constexpr int kBoxRows = (SWAP ? First::kRows : COLUMNS) / kBoxes;
  static_assert(kBoxRows % 8 == 0, "whole groups of rows of the swizzle");

  // A consumer stages y in Y_STAGES of these. Without SWAP they have its 64 rows, if a block writes
  // 64 columns or more; with SWAP its 64 columns, kStoredRows rows of which are one copy.
  using Y = PanelTile<T, 64, 64>;
  static constexpr int kYBytes = kWritten < 64 && !SWAP ? 0 : CONSUMERS * Y_STAGES * Y::kBytes;
  static constexpr int kStoredRows = COLUMNS % 64 == 0 ? 64 : COLUMNS % 32 == 0 ? 32 : 16;
  // The sums that other blocks send to a consumer.
  using Exchange = ClusterParts<CLUSTER_K, COLUMNS / 2>;
  static constexpr int kSharedBytes = STAGES * kSlotBytes + kYBytes + CONSUMERS * Exchange::kBytes;

  // The registers per thread: the producer gives up registers, the consumers take them. With one
  // consumer there are enough for all.
  static constexpr int kProducerRegisters = CONSUMERS == 3 ? 32 : 40;
  static constexpr int kConsumerRegisters = CONSUMERS == 3 ? 160 : 232;
};

// The matrix y: the copy engine writes it by its map, and threads by its pointer and stride.
template <class T>
struct GemmOutput {
  const TensorMap& map;
  T* pointer;
  i64 stride;
};

// What blocks that share a tile leave for each other.
struct SharedTiles {
  float* partial_sums;
  u32* counters;
};

// Brings the slabs of all units. One thread calls it.
template <class V>
__device__ __forceinline__ void bring_slabs(GemmUnits<V> units, const TensorMap& a,
                                            const TensorMap* const (&b)[V::kParts],
                                            typename V::T* slots, CopyRing<V::kSlots> ring) {
  const u16 all = static_cast<u16>(((1u << V::kCluster) - 1u) << units.first_block());
  GemmUnit unit;
  while (units.next(unit)) {
    for (int slab = unit.begin; slab < unit.end; slab += V::kClusterK) {
      typename V::T* const slot = slots + ring.slot() * (V::kSlotBytes / 2);
      ring.wait_until_empty();
      arrive_expecting(ring.full(), V::kSlotBytes);
#pragma unroll
      for (int panel = 0; panel < V::kBlockK / 64; ++panel) {
        const int column = V::kBlockK * slab + 64 * panel;
        tensor_load(slot + (V::kOffsetOfA + panel * V::kPanelOfA) / 2, a, ring.full(), column,
                    unit.row);
#pragma unroll
        for (int box = 0; box < V::kBoxes; ++box) {
          if (V::kCluster > 1 && box % V::kCluster != units.rank()) continue;
          // One matrix b: the boxes are parts of its rows. Two: box i has all rows of matrix i.
          const int row = unit.column + (V::kParts == 1 ? box * V::kBoxRows : 0);
          typename V::T* const of_b =
              slot + (V::kOffsetOfB + panel * V::kPanelOfB) / 2 + box * V::kBoxRows * 64;
          const TensorMap& map = *b[V::kParts == 1 ? 0 : box];
          if constexpr (V::kCluster > 1) {
            tensor_load_to_blocks(of_b, map, ring.full(), all, column, row);
          } else {
            tensor_load(of_b, map, ring.full(), column, row);
          }
        }
      }
      ring.advance();
    }
  }
}

// A consumer warpgroup. All its threads call run().
template <class V>
class GemmConsumer {
 public:
  using T = typename V::T;

  __device__ __forceinline__ GemmConsumer(T* slots, CopyRing<V::kSlots> ring, int number,
                                          CopyBarrier& parts_arrived, bool* is_last,
                                          const GemmOutput<T>& y)
      : slots_(slots),
        y_stages_(slots + (V::kSlots * V::kSlotBytes + number * V::kYStages * V::Y::kBytes) / 2),
        inbox_(slots + (V::kSlots * V::kSlotBytes + V::kYBytes + number * V::Exchange::kBytes) / 2),
        y_(y),
        reading_(ring),
        read_(ring),
        number_(number),
        parts_arrived_(parts_arrived),
        is_last_(is_last) {}

  template <class Epilogue>
  __device__ __forceinline__ void run(GemmUnits<V> units, const GemmShape& shape,
                                      const SharedTiles& memory, const Epilogue& epilogue) {
    first_block_ = units.first_block();
    GemmUnit unit;
    while (units.next(unit)) {
      multiply(units.count(unit));
      if (!units.is_whole(unit) && !add_other_parts(units, unit, memory)) continue;
      if constexpr (V::kClusterK > 1) {
        V::Exchange::exchange(sums_[0], inbox_, parts_arrived_, units.share_of_k(), units.rank(),
                              V::kCluster);
        unit.column += units.share_of_k() * V::kWritten;
      }
      if constexpr (V::kSwap) {
        write_swapped(unit, shape, epilogue);
      } else {
        write(unit, shape, epilogue);
      }
    }
    // Shared memory must last until the copy engine has read it.
    if (threadIdx.x % 128u == 0) wait_for_stores_read<0>();
  }

 private:
  __device__ __forceinline__ void multiply(int slabs) {
#pragma unroll
    for (int half = 0; half < V::kHalves; ++half) wgmma_fence(sums_[half]);
    for (int slab = 0; slab < slabs; ++slab) {
      reading_.wait_until_full();
      const T* const first = slots_ + reading_.slot() * (V::kSlotBytes / 2);
      const T* const second = first + V::First::kBytes / 2;
      wgmma_fence();
#pragma unroll
      for (int step = 0; step < V::kBlockK / 16; ++step) {
#pragma unroll
        for (int half = 0; half < V::kHalves; ++half) {
          const int row = 64 * (V::kHalves * number_ + half);
          wgmma<T, V::kColumns>(sums_[half], k_major<typename V::First>(first, row, step),
                                k_major<typename V::Second>(second, 0, step), slab > 0 || step > 0);
        }
      }
      wgmma_commit();
      reading_.advance();
      if (slab > 0) {
        wgmma_wait<1>();
        release();
      }
    }
#pragma unroll
    for (int half = 0; half < V::kHalves; ++half) wgmma_wait<0>(sums_[half]);
    release();
  }

  // Releases the oldest slot that is not released yet. All blocks of the cluster wrote it.
  __device__ __forceinline__ void release() {
    if constexpr (V::kCluster == 1) {
      read_.release();
    } else {
      const u32 lane = threadIdx.x % 32u;
      if (lane < V::kCluster) arrive_at_block(read_.empty(), lane + static_cast<u32>(first_block_));
    }
    read_.advance();
  }

  // Leaves the sums of this part in the workspace. Returns true if all parts of the tile are now
  // there; then the sums are those of all parts. A cluster leaves at most two parts: of the tile in
  // which its slabs end, and of the one in which they begin.
  __device__ __forceinline__ bool add_other_parts(const GemmUnits<V>& units, const GemmUnit& unit,
                                                  const SharedTiles& memory) {
    const u32 thread = threadIdx.x % 128u;
    const int first = units.first_cluster(unit.shared), last = units.last_cluster(unit.shared);
    const int own = static_cast<int>(blockIdx.x) / V::kCluster;
    const auto part = [&](int cluster, bool has_first_slab) {
      const int consumer = (cluster * V::kCluster + units.rank()) * V::kConsumers + number_;
      float* const all = memory.partial_sums;
      return all + (i64{consumer} * 2 + has_first_slab) * (64 * V::kColumns) + 4u * thread;
    };
    float* const to = part(own, own == first);
#pragma unroll
    for (int i = 0; i < V::kColumns / 2; i += 4) {
      __stcg(reinterpret_cast<float4*>(to + 128 * i),
             float4{sums_[0][i], sums_[0][i + 1], sums_[0][i + 2], sums_[0][i + 3]});
    }
    sync_group<128>();
    if (thread == 0) {
      u32* const counter =
          memory.counters + (unit.shared * V::kCluster + units.rank()) * V::kConsumers + number_;
      __threadfence();
      const bool is_last = atomicAdd(counter, 1u) == static_cast<u32>(last - first);
      if (is_last) *counter = 0;
      is_last_[number_] = is_last;
      __threadfence();
    }
    sync_group<128>();
    const bool is_last = is_last_[number_];
    sync_group<128>();  // the next part overwrites is_last_
    if (!is_last) return false;
    if (last == first + 1) {  // a + b is b + a
      const int other = own == first ? last : first;
      add(part(other, other == first));
      return true;
    }
#pragma unroll
    for (int i = 0; i < V::kColumns / 2; ++i) sums_[0][i] = 0.0f;
    for (int cluster = first; cluster <= last; ++cluster) add(part(cluster, cluster == first));
    return true;
  }

  __device__ __forceinline__ void add(const float* part) {
#pragma unroll
    for (int i = 0; i < V::kColumns / 2; i += 4) {
      const float4 four = __ldcg(reinterpret_cast<const float4*>(part + 128 * i));
      sums_[0][i] += four.x;
      sums_[0][i + 1] += four.y;
      sums_[0][i + 2] += four.z;
      sums_[0][i + 3] += four.w;
      // All loads at once would need too many registers.
      if (i % 64 == 60) asm volatile("" ::: "memory");
    }
  }

  // The next of the stages, once the copy engine has read it. All threads of the consumer call it.
  __device__ __forceinline__ unsigned char* next_stage() {
    unsigned char* const stage =
        reinterpret_cast<unsigned char*>(y_stages_) + y_stage_ * V::Y::kBytes;
    y_stage_ = y_stage_ == V::kYStages - 1 ? 0 : y_stage_ + 1;
    if (threadIdx.x % 128u == 0) wait_for_stores_read<V::kYStages - 1>();
    sync_group<128>();
    return stage;
  }

  // The stages take turns: one is written while the copy engine reads others.
  template <class Epilogue>
  __device__ __forceinline__ void write(const GemmUnit& unit, const GemmShape& shape,
                                        const Epilogue& epilogue) {
    const int thread = static_cast<int>(threadIdx.x % 128u), lane = thread % 32;
    const int first_row = unit.row + 64 * number_, warp_row = thread / 32 * 16;
    const auto finish = [&](int row, int column, int own, float(&values)[V::kParts][2]) {
#pragma unroll
      for (int part = 0; part < V::kParts; ++part) {
        values[part][0] = sums_[0][part * (V::kOwnColumns / 2) + own];
        values[part][1] = sums_[0][part * (V::kOwnColumns / 2) + own + 1];
      }
      const bool is_inside = row < shape.m && column < shape.n;
      epilogue.apply(row, column, is_inside, values);
      return is_inside;
    };
#pragma unroll
    for (int chunk = 0; chunk < V::kWritten / 64; ++chunk) {
      unsigned char* const stage = next_stage();
#pragma unroll
      for (int two = 0; two < 4; ++two) {  // blocks of eight columns
        u32 words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {  // rows 0 and 8 of the first block, then of the second
          const int own = 4 * (8 * chunk + 2 * two + i / 2) + i % 2 * 2;
          const int row = first_row + warp_row + lane / 4 + i % 2 * 8;
          const int column = unit.column + 64 * chunk + 16 * two + i / 2 * 8 + lane % 4 * 2;
          float values[V::kParts][2];
          finish(row, column, own, values);
          words[i] = pack<T>(values[0][0], values[0][1]);
        }
        stmatrix_x4(stage + V::Y::offset(warp_row + lane % 16, 16 * two + lane / 16 * 8), words);
      }
      publish_to_copies();
      sync_group<128>();
      if (thread == 0) {
        tensor_store(y_.map, stage, unit.column + 64 * chunk, first_row);
        commit_stores();
      }
    }
    // The columns after the last whole stage.
#pragma unroll
    for (int own = V::kWritten / 64 * 32; own < V::kWritten / 2; own += 2) {
      const int row = first_row + warp_row + lane / 4 + own / 2 % 2 * 8;
      const int column = unit.column + own / 4 * 8 + lane % 4 * 2;
      float values[V::kParts][2];
      if (!finish(row, column, own, values)) continue;
      store<2>(y_.pointer + row * y_.stride + column, from_floats<T>(values[0]));
    }
  }

  // With SWAP a consumer has 64 * HALVES columns of y, and a thread has two rows of a column side
  // by side.
  template <class Epilogue>
  __device__ __forceinline__ void write_swapped(const GemmUnit& unit, const GemmShape& shape,
                                                const Epilogue& epilogue) {
    const int thread = static_cast<int>(threadIdx.x % 128u), lane = thread % 32;
    const int warp_column = thread / 32 * 16;
    constexpr int kStages = (V::kRows + 63) / 64;  // of a half
#pragma unroll
    for (int chunk = 0; chunk < V::kHalves * kStages; ++chunk) {
      const int half = chunk / kStages, first = chunk % kStages * 64;  // the first row of the stage
      const int first_column = unit.column + 64 * (V::kHalves * number_ + half);
      unsigned char* const stage = next_stage();
#pragma unroll
      for (int row = 0; row < 64 && first + row < V::kRows; row += 16) {
        u32 words[4];
#pragma unroll
        for (int i = 0; i < 4;
             ++i) {  // columns 0 and 8 of the first eight rows, then of the others
          const int own_row = first + row + i / 2 * 8 + lane % 4 * 2;
          const int column = first_column + warp_column + lane / 4 + i % 2 * 8;
          float values[2];
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            const int at = unit.row + own_row + j;
            float value[1][1] = {{sums_[half][(first + row) / 2 + 2 * i + j]}};
            epilogue.apply(at, column, at < shape.m && column < shape.n, value);
            values[j] = value[0][0];
          }
          words[i] = pack<T>(values[0], values[1]);
        }
        const u32 place =
            V::Y::offset(row + lane / 16 * 8 + lane % 8, warp_column + lane / 8 % 2 * 8);
        stmatrix_x4_transposed(stage + place, words);
      }
      publish_to_copies();
      sync_group<128>();
      if (thread == 0) {
#pragma unroll
        for (int row = 0; row < 64 && first + row < V::kRows; row += V::kStoredRows) {
          tensor_store(y_.map, stage + V::Y::offset(row, 0), first_column, unit.row + first + row);
        }
        commit_stores();
      }
    }
  }

  const T* slots_;
  T* y_stages_;
  T* inbox_;  // for the parts of other blocks
  const GemmOutput<T>& y_;
  CopyRing<V::kSlots> reading_, read_;
  int number_, first_block_ = 0, y_stage_ = 0;
  CopyBarrier& parts_arrived_;
  bool* is_last_;
  float sums_[V::kHalves][V::kColumns / 2];
};

template <class V, class Epilogue>
__device__ __forceinline__ void wgmma_gemm(const GemmShape& shape, const TensorMap& a,
                                           const TensorMap* const (&b)[V::kParts],
                                           const GemmOutput<typename V::T>& y,
                                           const SharedTiles& memory, const Epilogue& epilogue) {
  let_next_grid_start();
  MG_SHARED(CopyBarrier, barriers, [2 * V::kSlots]);
  MG_SHARED(CopyBarrier, parts_arrived, [V::kConsumers]);
  MG_SHARED(bool, is_last, [V::kConsumers]);
  if (threadIdx.x == 0) {
    prefetch(a);
    prefetch(y.map);
#pragma unroll
    for (int part = 0; part < V::kParts; ++part) prefetch(*b[part]);
    for (int i = 0; i < V::kSlots; ++i) {
      init(barriers[i], 1);
      init(barriers[V::kSlots + i], 4 * V::kConsumers * V::kCluster);
    }
    for (int i = 0; i < V::kConsumers; ++i) init(parts_arrived[i], 1);
    publish_init();
  }
  __syncthreads();
  // No block of the cluster may write into another block before that one runs and has its barriers.
  if constexpr (V::kBlocks > 1) {
    cluster_arrive();
    cluster_wait();
  }
  wait_for_previous_grid();
  const GemmUnits<V> units(shape);
  typename V::T* const slots = dynamic_shared<typename V::T>();
  const CopyRing<V::kSlots> ring(barriers, barriers + V::kSlots);
  const int number = warpgroup();
  if (number > 0) {
    if constexpr (V::kConsumers > 1) grow_registers<V::kConsumerRegisters>();
    GemmConsumer<V>(slots, ring, number - 1, parts_arrived[number - 1], is_last, y)
        .run(units, shape, memory, epilogue);
  } else {
    if constexpr (V::kConsumers > 1) shrink_registers<V::kProducerRegisters>();
    if (threadIdx.x == 0) bring_slabs<V>(units, a, b, slots, ring);
    __syncwarp();
  }
  // A block must not end while another may still write into it or arrive at its barriers.
  if constexpr (V::kCluster > 1) {
    cluster_arrive();
    cluster_wait();
  }
}

}  // namespace mg
