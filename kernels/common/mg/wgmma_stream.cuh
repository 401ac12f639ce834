// Products of up to 64 rows of x with large weights on the tensor cores of sm_90a, at the speed at
// which memory delivers the weights.
//
//   using V = mg::WgmmaStream<T, CONSUMERS, ROWS, BLOCK_K, SLOTS, PARTS>;          m <= ROWS
//   template ... __global__ void __launch_bounds__(V::kThreads, BLOCKS_PER_SM) kernel(
//       const __grid_constant__ mg::TensorMap x, const __grid_constant__ mg::TensorMap w, ...) {
//     const mg::TensorMap* const weights[] = {&w};
//     mg::wgmma_stream<V, PDL>({m, n, k}, x, weights, {partial_sums, counters}, epilogue);
//   }
//
// A launch has V::kSlots * V::kSlotBytes bytes of dynamic shared memory, and at most as many blocks
// as there are slabs in all. The maps have the extents {k, rows}, the swizzle "128B", and the boxes
// {64, ROWS} for x and {64, 64 * CONSUMERS} for each of PARTS weights.
//
// The product is y^T = w x^T: the weights are the operand of 64 rows, and x has ROWS columns. So
// the tensor cores waste little on few rows of x. A tile has 64 * CONSUMERS rows of each weight,
// and a slab has BLOCK_K columns of a tile and of x. All slabs are shared evenly among the blocks,
// within one slab, by <mg/wgmma_gemm.cuh>: no block waits for the last wave. One thread of the last
// warp lets the copy engine bring the block's slabs into a ring, across the ends of tiles. So bytes
// are in flight all the time. Each of CONSUMERS warpgroups multiplies 64 rows of each weight.
// Blocks that share a tile leave their sums in the workspace, and the one that ends last adds them
// in their order. There are 2 * 64 * ROWS * PARTS partial sums per block and consumer, and 2
// counters, which are zero before and after.
//
// With PDL, in a launch with `pdl`, the next grid may start at once, and the first V::kSlots slabs
// of the weights are brought into L2 before the grid before has ended. They are read after it.
//
// The end of a tile is as <mg/gemm_inputs.cuh> says: epilogue(row, column, values) for each run of
// 8 columns, n % 8 == 0.
//
// Traffic    The weights once. x comes from L2 for each slab: m / (64 * CONSUMERS * PARTS) of the
//            bytes of the weights. Rows of x from m on cost nothing.
// Numerics   Products are exact, sums are fp32. The order of the sums is the device's within
//            BLOCK_K columns, and then that of k. Repeats are equal to the bit.

#pragma once

#include <mg/arrival_counter.cuh>
#include <mg/copy_ring.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/group_sum.cuh>
#include <mg/octet_transpose.cuh>
#include <mg/panel_tile.cuh>
#include <mg/shared.cuh>
#include <mg/tensor_copy.cuh>
#include <mg/types.cuh>
#include <mg/warpgroup.cuh>
#include <mg/wgmma.cuh>
#include <mg/wgmma_gemm.cuh>

namespace mg {

// The constants of a variant.
template <class T_, int CONSUMERS, int ROWS, int BLOCK_K, int SLOTS, int PARTS>
struct WgmmaStream {
  using T = T_;
  static constexpr int kConsumers = CONSUMERS, kTile = 64 * CONSUMERS;  // rows of each weight
  static constexpr int kBlockK = BLOCK_K, kPanels = BLOCK_K / 64;
  static constexpr int kSlots = SLOTS, kParts = PARTS;
  static constexpr int kThreads = 128 * CONSUMERS + 32;
  static_assert(ROWS % 16 == 0 && ROWS <= 64 && BLOCK_K % 64 == 0, "as documented");
  static_assert(CONSUMERS <= 4 && SLOTS >= 2,
                "a box has at most 256 rows; a slab arrives meanwhile");

  using W = PanelTile<T, kTile, BLOCK_K>;
  using X = PanelTile<T, ROWS, BLOCK_K>;
  static constexpr int kSlotBytes = PARTS * W::kBytes + X::kBytes;
  static constexpr int kSums = ROWS / 2;  // of a thread and a weight

  // How GemmUnits cuts the product: one row of tiles, whose columns are the rows of the weights.
  static constexpr int kRows = ROWS, kOwnColumns = kTile, kCluster = 1;
  static constexpr bool kStreamK = true;
};

struct StreamShape {
  int m, n, k;
};

// The slabs of a block, in their order.
template <class V>
class StreamedSlabs {
 public:
  __device__ __forceinline__ explicit StreamedSlabs(const GemmUnits<V>& units) : units_(units) {
    is_at_end_ = !units_.next(unit_);
  }

  __device__ __forceinline__ bool is_at_end() const { return is_at_end_; }
  // The first row of the weights, and the first column.
  __device__ __forceinline__ int row() const { return unit_.column; }
  __device__ __forceinline__ int column() const { return unit_.begin * V::kBlockK; }
  __device__ __forceinline__ void advance() {
    if (++unit_.begin == unit_.end) is_at_end_ = !units_.next(unit_);
  }

 private:
  GemmUnits<V> units_;
  GemmUnit unit_;
  bool is_at_end_;
};

// Brings the first `count` slabs of the weights into L2. One thread calls it.
template <class V>
__device__ __forceinline__ void prefetch_slabs(StreamedSlabs<V> slabs, int count,
                                               const TensorMap* const (&w)[V::kParts]) {
  for (; count > 0 && !slabs.is_at_end(); --count, slabs.advance()) {
#pragma unroll
    for (int part = 0; part < V::kParts; ++part) {
#pragma unroll
      for (int panel = 0; panel < V::kPanels; ++panel) {
        tensor_prefetch(*w[part], slabs.column() + 64 * panel, slabs.row());
      }
    }
  }
}

// Brings all slabs of the block. One thread calls it.
template <class V>
__device__ __forceinline__ void stream_slabs(StreamedSlabs<V> slabs, const TensorMap& x,
                                             const TensorMap* const (&w)[V::kParts],
                                             typename V::T* slots, CopyRing<V::kSlots> ring) {
  for (; !slabs.is_at_end(); slabs.advance()) {
    typename V::T* const slot = slots + ring.slot() * (V::kSlotBytes / 2);
    ring.wait_until_empty();
    arrive_expecting(ring.full(), V::kSlotBytes);
#pragma unroll
    for (int panel = 0; panel < V::kPanels; ++panel) {
      const int column = slabs.column() + 64 * panel;
#pragma unroll
      for (int part = 0; part < V::kParts; ++part) {
        tensor_load_once(slot + (part * V::W::kBytes + panel * V::W::kPanelBytes) / 2, *w[part],
                         ring.full(), column, slabs.row());
      }
      tensor_load_kept(slot + (V::kParts * V::W::kBytes + panel * V::X::kPanelBytes) / 2, x,
                       ring.full(), column, 0);
    }
    ring.advance();
  }
}

// A consuming warpgroup. All its threads call run().
template <class V>
class StreamConsumer {
 public:
  using T = typename V::T;

  __device__ __forceinline__ StreamConsumer(const T* slots, CopyRing<V::kSlots> ring, int number,
                                            bool* is_last)
      : slots_(slots), ring_(ring), number_(number), is_last_(is_last + 2 * number) {}

  template <class Epilogue>
  __device__ __forceinline__ void run(GemmUnits<V> units, const StreamShape& shape,
                                      const SharedTiles& memory, const Epilogue& epilogue) {
    GemmUnit unit;
    while (units.next(unit)) {
      multiply(unit.end - unit.begin);
      if (!units.is_whole(unit) && !add_other_parts(units, unit, memory)) continue;
      write(unit.column, shape, epilogue);
    }
  }

 private:
  // The slot is released as soon as its products are done, because the bytes in flight matter more
  // here than the pauses of the tensor cores.
  __device__ __forceinline__ void multiply(int slabs) {
    for_each_part([&](int part) { wgmma_fence(sums_[part]); });
    for (int slab = 0; slab < slabs; ++slab) {
      ring_.wait_until_full();
      const T* const w = slots_ + ring_.slot() * (V::kSlotBytes / 2);
      const T* const x = w + V::kParts * V::W::kBytes / 2;
      wgmma_fence();
#pragma unroll
      for (int step = 0; step < V::kBlockK / 16; ++step) {
#pragma unroll
        for (int part = 0; part < V::kParts; ++part) {
          wgmma<T, V::kRows>(
              sums_[part], k_major<typename V::W>(w + part * V::W::kBytes / 2, 64 * number_, step),
              k_major<typename V::X>(x, 0, step), slab > 0 || step > 0);
        }
      }
      wgmma_commit();
      wgmma_wait<0>();
      ring_.release();
      ring_.advance();
    }
    for_each_part([&](int part) { wgmma_wait<0>(sums_[part]); });
  }

  // Returns false unless all parts of this tile have ended; then the sums are those of all. A block
  // has at most two parts: of the tile in which its slabs end, and of the one in which they begin.
  // It leaves nothing in the workspace if it sees that all others have ended.
  __device__ __forceinline__ bool add_other_parts(const GemmUnits<V>& units, const GemmUnit& unit,
                                                  const SharedTiles& memory) {
    const int first = units.first_cluster(unit.shared), last = units.last_cluster(unit.shared);
    const u32 others = static_cast<u32>(last - first);
    u32* const counter = memory.counters + unit.shared * V::kConsumers + number_;
    const bool is_first_thread = threadIdx.x % 128u == 0;
    if (is_first_thread) is_last_[0] = arrivals(counter) == others;
    sync_group<128>();
    bool is_last = is_last_[0];
    if (!is_last) {
      float* const own = part_of(memory, static_cast<int>(blockIdx.x), unit.begin == 0);
#pragma unroll
      for (int i = 0; i < kSums; ++i) __stcg(own + 128 * i, sum(i));
      sync_group<128>();
      if (is_first_thread) is_last_[1] = count_arrival(counter) == others;
    }
    sync_group<128>();
    if (!is_last) is_last = is_last_[1];
    if (!is_last) return false;
    if (is_first_thread) *counter = 0;
#pragma unroll
    for (int i = 0; i < kSums; i += kSumsAtOnce) add_in_order(memory, first, last, i);
    return true;
  }

  // Replaces sums [from, from + kSumsAtOnce) by those of the parts of blocks first to last.
  __device__ __forceinline__ void add_in_order(const SharedTiles& memory, int first, int last,
                                               int from) {
    float all[kSumsAtOnce] = {};
    for (int block = first; block <= last; block += kPartsAtOnce) {
      float more[kPartsAtOnce][kSumsAtOnce] = {};
#pragma unroll
      for (int p = 0; p < kPartsAtOnce; ++p) {
        const int other = block + p;
        if (other > last) continue;
        const bool is_own = other == static_cast<int>(blockIdx.x);
        const float* const part = part_of(memory, other, other == first) + 128 * from;
#pragma unroll
        for (int i = 0; i < kSumsAtOnce; ++i) {
          more[p][i] = is_own ? sum(from + i) : __ldcg(part + 128 * i);
        }
      }
#pragma unroll
      for (int p = 0; p < kPartsAtOnce; ++p) {
#pragma unroll
        for (int i = 0; i < kSumsAtOnce; ++i) all[i] += more[p][i];
      }
    }
#pragma unroll
    for (int i = 0; i < kSumsAtOnce; ++i) sum(from + i) = all[i];
  }

  // This thread's sums of a part, 128 floats apart.
  __device__ __forceinline__ float* part_of(const SharedTiles& memory, int block,
                                            bool has_first_slab) const {
    return memory.partial_sums +
           (i64{block * V::kConsumers + number_} * 2 + has_first_slab) * (128 * kSums) +
           threadIdx.x % 128u;
  }

  // A lane has one column of y, a row of the weights, and pairs of rows of y. After an exchange
  // among eight lanes it has eight neighbouring columns of one row.
  template <class Epilogue>
  __device__ __forceinline__ void write(int first_column, const StreamShape& shape,
                                        const Epilogue& epilogue) {
    const int lane = static_cast<int>(threadIdx.x % 32u), value = lane / 4;
    const int column = first_column + 64 * number_ + static_cast<int>(threadIdx.x / 32u % 4u) * 16 +
                       value / 2 % 2 * 8;
#pragma unroll
    for (int block = 0; block < V::kRows / 16; ++block) {
      float values[V::kParts][8];
#pragma unroll
      for (int part = 0; part < V::kParts; ++part) {
#pragma unroll
        for (int i = 0; i < 8; ++i) values[part][i] = sums_[part][8 * block + i];
        transpose_in_octet(values[part]);
      }
      const int row = 16 * block + value / 4 * 8 + lane % 4 * 2 + value % 2;
      if (row < shape.m && column < shape.n) epilogue(row, column, values);
    }
  }

  template <class Visit>
  __device__ __forceinline__ static void for_each_part(const Visit& visit) {
    visit(0);
    if constexpr (V::kParts == 2) visit(1);
  }
  __device__ __forceinline__ float& sum(int i) { return sums_[i / V::kSums][i % V::kSums]; }

  static constexpr int kSums = V::kParts * V::kSums;
  // Other blocks' sums that are on their way together. With two consumers, the registers of two
  // blocks must fit into an SM, so that the next grid may start: 96 per thread.
  static constexpr int kSumsAtOnce = V::kConsumers == 1 && kSums % 16 == 0 ? 16 : 8;
  static constexpr int kPartsAtOnce = V::kConsumers == 1                 ? 64 / kSumsAtOnce
                                      : V::kConsumers == 2 && kSums == 8 ? 4
                                                                         : 2;

  const T* slots_;
  CopyRing<V::kSlots> ring_;
  int number_;
  bool* is_last_;
  float sums_[V::kParts][V::kSums];
};

template <class V, bool PDL, class Epilogue>
__device__ __forceinline__ void wgmma_stream(const StreamShape& shape, const TensorMap& x,
                                             const TensorMap* const (&w)[V::kParts],
                                             const SharedTiles& memory, const Epilogue& epilogue) {
  if constexpr (PDL) let_next_grid_start();
  MG_SHARED(CopyBarrier, barriers, [2 * V::kSlots]);
  MG_SHARED(bool, is_last, [2 * V::kConsumers]);
  // GemmUnits counts slabs of 64 columns.
  const int slabs = (shape.k + V::kBlockK - 1) / V::kBlockK;
  const GemmUnits<V> units(GemmShape{1, shape.n, 64 * slabs, 1});
  const bool is_producer = threadIdx.x == 128u * V::kConsumers;
  if (is_producer) {
    if constexpr (PDL) prefetch_slabs<V>(StreamedSlabs<V>(units), V::kSlots, w);
    prefetch(x);
    for (int i = 0; i < V::kSlots; ++i) {
      init(barriers[i], 1);
      init(barriers[V::kSlots + i], 4 * V::kConsumers);
    }
    publish_init();
  }
  __syncthreads();
  wait_for_previous_grid();
  typename V::T* const slots = dynamic_shared<typename V::T>();
  const CopyRing<V::kSlots> ring(barriers, barriers + V::kSlots);
  const int number = warpgroup();
  if (number < V::kConsumers) {
    StreamConsumer<V>(slots, ring, number, is_last).run(units, shape, memory, epilogue);
  } else if (is_producer) {
    stream_slabs<V>(StreamedSlabs<V>(units), x, w, slots, ring);
  }
}

}  // namespace mg
