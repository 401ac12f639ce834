// Products of up to 64 rows of x with large weights on the tensor cores of sm_90a, at the speed at
// which memory delivers the weights.
//
//   using V = mg::WgmmaStream<T, CONSUMERS, ROWS, BLOCK_K, SLOTS, WHOLE, PARTS>;   m <= ROWS
//   template ... __global__ void __launch_bounds__(V::kThreads, BLOCKS_PER_SM) kernel(
//       const __grid_constant__ mg::TensorMap x, const __grid_constant__ mg::TensorMap w, ...) {
//     const mg::TensorMap* const weights[] = {&w};
//     mg::wgmma_stream<V, PDL>({m, n, k, tile, slots}, x, weights, {partial_sums, counters},
//                              epilogue);
//   }
//
// The maps have the extents {k, rows}, the swizzle "128B", and the boxes {64, ROWS} for x and {64,
// tile} for each of PARTS weights. A slab has BLOCK_K columns of a tile and of x: (PARTS * tile +
// ROWS) * BLOCK_K * 2 bytes. The ring has `slots` slabs of dynamic shared memory, at most SLOTS.
//
// The product is y^T = w x^T: the weights are the operand of 64 rows, and x has ROWS columns. So
// the tensor cores waste little on few rows of x. A tile has up to 64 * CONSUMERS rows of each
// weight. One thread of the last warp lets the copy engine bring the block's slabs into a ring,
// across the ends of tiles, so bytes are in flight all the time. Each of CONSUMERS warpgroups
// multiplies 64 rows of each weight.
//
// With WHOLE, `tile` is a multiple of 8 that gives all blocks equally many tiles, and no block has
// to wait for another's sums. The products read up to 63 rows past a tile, so 8 KiB of shared
// memory follow the ring; their contents do not matter.
// Without WHOLE, `tile` is 64 * CONSUMERS and `slots` is SLOTS. <mg/gemm_units.cuh> shares all
// slabs among the blocks, evenly to within one slab, so no block waits for a last wave. A launch
// has at most as many blocks as there are slabs in all.
// Blocks that share a tile leave their sums in the workspace, and the one that ends last adds them
// in their order. There are 2 * 64 * ROWS * PARTS partial sums per block and consumer, and 2
// counters, which are zero before and after.
//
// With PDL, in a launch with `pdl`, the next grid may start at once. A block prefetches the first
// `slots` slabs of its weights into L2 before the previous grid has ended, and reads them after
// that.
//
// A tile ends as <mg/gemm_inputs.cuh> says: with epilogue(row, column, values) for each run of 8
// columns, n % 8 == 0.
//
// Traffic    The weights once. x comes from L2 for each slab: m / (tile * PARTS) of the bytes of
//            the weights. The maps of the weights use no L2 promotion: with "256B" the large
//            weights took 3 % longer on an H200. Rows of x from m on cost nothing.
// Numerics   Products are exact, sums are fp32. Within BLOCK_K columns the device decides the order
//            of the sums; then they are added in the order of k. Repeated runs give equal bits.

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
template <class T_, int CONSUMERS, int ROWS, int BLOCK_K, int SLOTS, bool WHOLE, int PARTS>
struct WgmmaStream {
  using T = T_;
  static constexpr int kConsumers = CONSUMERS, kTile = 64 * CONSUMERS;  // rows of each weight
  static constexpr int kBlockK = BLOCK_K, kPanels = BLOCK_K / 64;
  static constexpr int kSlots = SLOTS, kParts = PARTS;
  static constexpr bool kWhole = WHOLE;
  static constexpr int kThreads = 128 * CONSUMERS + 32;
  static_assert(ROWS % 16 == 0 && ROWS <= 64 && BLOCK_K % 64 == 0, "as documented");
  static_assert(CONSUMERS <= 4 && SLOTS >= 2,
                "a box has at most 256 rows; a slab arrives meanwhile");

  using W = PanelTile<T, kTile, 64>;  // panels of w and x
  using X = PanelTile<T, ROWS, 64>;
  static constexpr int kSums = ROWS / 2;  // of a thread and a weight

  // How GemmUnits cuts the product: one row of tiles, whose columns are the rows of the weights.
  static constexpr int kRows = ROWS, kOwnColumns = kTile, kCluster = 1, kClusterK = 1;
  static constexpr bool kStreamK = true;
};

struct StreamShape {
  int m, n, k;
  int tile, slots;
};

// The bytes of one panel of a weight, and of a slot: the panels of each weight, then those of x.
template <class V>
__device__ __forceinline__ int panel_bytes(const StreamShape& shape) {
  return (V::kWhole ? shape.tile : V::kTile) * 128;
}
template <class V>
__device__ __forceinline__ int slot_bytes(const StreamShape& shape) {
  return V::kPanels * (V::kParts * panel_bytes<V>(shape) + V::X::kBytes);
}

// Whole tiles of `tile` rows. All blocks have equally many, except the last ones.
class WholeTiles {
 public:
  __device__ __forceinline__ WholeTiles(const StreamShape& shape, int slabs)
      : tile_(shape.tile), n_(shape.n), slabs_(slabs), next_(static_cast<int>(blockIdx.x)) {}

  __device__ __forceinline__ bool next(GemmUnit& unit) {
    if (next_ * tile_ >= n_) return false;
    unit = {0, next_ * tile_, 0, slabs_, 0};
    next_ += static_cast<int>(gridDim.x);
    return true;
  }

 private:
  int tile_, n_, slabs_, next_;
};

// The units of a block: whole tiles, or an equal share of all slabs.
template <class V, bool kWhole = V::kWhole>
struct StreamCut {
  using Units = GemmUnits<V>;
  static __device__ __forceinline__ Units of(const StreamShape& shape) {
    return Units(GemmShape{1, shape.n, shape.k, 1});
  }
};
template <class V>
struct StreamCut<V, true> {
  using Units = WholeTiles;
  static __device__ __forceinline__ Units of(const StreamShape& shape) {
    return Units(shape, (shape.k + V::kBlockK - 1) / V::kBlockK);
  }
};
template <class V>
using StreamUnits = typename StreamCut<V>::Units;

// The slabs of a block, in their order.
template <class V>
class StreamedSlabs {
 public:
  __device__ __forceinline__ explicit StreamedSlabs(const StreamUnits<V>& units) : units_(units) {
    is_at_end_ = !units_.next(unit_);
  }

  __device__ __forceinline__ bool is_at_end() const { return is_at_end_; }
  // The first row and the first column of the weights of the slab.
  __device__ __forceinline__ int row() const { return unit_.column; }
  __device__ __forceinline__ int column() const { return unit_.begin * V::kBlockK; }
  __device__ __forceinline__ void advance() {
    if (++unit_.begin == unit_.end) is_at_end_ = !units_.next(unit_);
  }

 private:
  StreamUnits<V> units_;
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
__device__ __forceinline__ void stream_slabs(StreamedSlabs<V> slabs, const StreamShape& shape,
                                             const TensorMap& x,
                                             const TensorMap* const (&w)[V::kParts],
                                             typename V::T* slots, CopyRing<V::kSlots> ring) {
  const int of_panel = panel_bytes<V>(shape), of_slot = slot_bytes<V>(shape);
  for (; !slabs.is_at_end(); slabs.advance()) {
    typename V::T* slot = slots + ring.slot() * (of_slot / 2);
    ring.wait_until_empty();
    arrive_expecting(ring.full(), static_cast<u32>(of_slot));
#pragma unroll
    for (int part = 0; part < V::kParts; ++part) {
#pragma unroll
      for (int panel = 0; panel < V::kPanels; ++panel) {
        tensor_load_once(slot, *w[part], ring.full(), slabs.column() + 64 * panel, slabs.row());
        slot += of_panel / 2;
      }
    }
#pragma unroll
    for (int panel = 0; panel < V::kPanels; ++panel) {
      tensor_load_kept(slot, x, ring.full(), slabs.column() + 64 * panel, 0);
      slot += V::X::kBytes / 2;
    }
    ring.advance();
  }
}

// A consumer warpgroup. All its threads call run().
template <class V>
class StreamConsumer {
 public:
  using T = typename V::T;

  __device__ __forceinline__ StreamConsumer(const T* slots, CopyRing<V::kSlots> ring, int number,
                                            bool* is_last)
      : slots_(slots), ring_(ring), number_(number), is_last_(is_last + 2 * number) {}

  template <class Epilogue>
  __device__ __forceinline__ void run(StreamUnits<V> units, const StreamShape& shape,
                                      const SharedTiles& memory, const Epilogue& epilogue) {
    GemmUnit unit;
    while (units.next(unit)) {
      multiply(unit.end - unit.begin, shape);
      if constexpr (!V::kWhole) {
        if (!units.is_whole(unit) && !add_other_parts(units, unit, memory)) continue;
      }
      write(unit.column, shape, epilogue);
    }
  }

 private:
  // The slot is released as soon as its products are done, because the bytes in flight matter more
  // here than the pauses of the tensor cores.
  __device__ __forceinline__ void multiply(int slabs, const StreamShape& shape) {
    const int of_panel = panel_bytes<V>(shape), of_slot = slot_bytes<V>(shape);
    const bool has_rows = !V::kWhole || 64 * number_ < shape.tile;
    for_each_part([&](int part) { wgmma_fence(sums_[part]); });
    for (int slab = 0; slab < slabs; ++slab) {
      ring_.wait_until_full();
      const T* const w = slots_ + ring_.slot() * (of_slot / 2);
      const T* const x = w + V::kParts * V::kPanels * (of_panel / 2);
      if (has_rows) {
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < V::kBlockK / 16; ++step) {
          const int panel = step / 4;
#pragma unroll
          for (int part = 0; part < V::kParts; ++part) {
            const T* const own = w + (part * V::kPanels + panel) * (of_panel / 2);
            wgmma<T, V::kRows>(sums_[part], k_major<typename V::W>(own, 64 * number_, step % 4),
                               k_major<typename V::X>(x + panel * (V::X::kBytes / 2), 0, step % 4),
                               slab > 0 || step > 0);
          }
        }
        wgmma_commit();
        wgmma_wait<0>();
      }
      ring_.release();
      ring_.advance();
    }
    for_each_part([&](int part) { wgmma_wait<0>(sums_[part]); });
  }

  // Leaves the sums of this part in the workspace, unless all other parts are already there.
  // Returns true if this was the last part; then the sums are those of all parts. A block has at
  // most two parts: of the tile in which its slabs end, and of the one in which they begin.
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

  // Replaces sums [from, from + kSumsAtOnce) by their totals over blocks `first` to `last`.
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

  // A lane has one column of y, which is a row of the weights, and pairs of rows of y. After an
  // exchange among eight lanes it has eight neighbouring columns of one row.
  template <class Epilogue>
  __device__ __forceinline__ void write(int first_column, const StreamShape& shape,
                                        const Epilogue& epilogue) {
    const int lane = static_cast<int>(threadIdx.x % 32u), value = lane / 4;
    const int end =
        V::kWhole && first_column + shape.tile < shape.n ? first_column + shape.tile : shape.n;
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
      if (row < shape.m && column < end) epilogue(row, column, values);
    }
  }

  template <class Visit>
  __device__ __forceinline__ static void for_each_part(const Visit& visit) {
    visit(0);
    if constexpr (V::kParts == 2) visit(1);
  }
  __device__ __forceinline__ float& sum(int i) { return sums_[i / V::kSums][i % V::kSums]; }

  static constexpr int kSums = V::kParts * V::kSums;
  // How many of other blocks' sums are loaded together. With two consumers, the registers of two
  // blocks must fit on an SM, so that the next grid may start: 96 per thread.
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
  const StreamUnits<V> units = StreamCut<V>::of(shape);
  const bool is_producer = threadIdx.x == 128u * V::kConsumers;
  if (is_producer) {
    if constexpr (PDL) prefetch_slabs<V>(StreamedSlabs<V>(units), shape.slots, w);
    prefetch(x);
    for (int i = 0; i < shape.slots; ++i) {
      init(barriers[i], 1);
      init(barriers[V::kSlots + i], 4 * V::kConsumers);
    }
    publish_init();
  }
  __syncthreads();
  wait_for_previous_grid();
  typename V::T* const slots = dynamic_shared<typename V::T>();
  const CopyRing<V::kSlots> ring(barriers, barriers + V::kSlots, shape.slots);
  const int number = warpgroup();
  if (number < V::kConsumers) {
    StreamConsumer<V>(slots, ring, number, is_last).run(units, shape, memory, epilogue);
  } else if (is_producer) {
    stream_slabs<V>(StreamedSlabs<V>(units), shape, x, w, slots, ring);
  }
}

}  // namespace mg
