// Products of a few rows of x with a matrix of weights that is read once, at the memory's speed.
//
//   RowStream<S> stream(weights, ring);    starts the first loads of weights
//   ...wait for x, and prepare it...
//   stream.run(input, epilogue);
//
// The product is cut into outputs: S::kSets rows of w each (1; 2 for gate and up, or for the two
// halves of a rotation). A group of S::kSplit warps computes S::kOutputs neighbouring outputs at a
// time for all rows of x, and the groups of the grid take turns. Warp s of a group reads every
// S::kSplit-th step of the rows of w. A step is 32 vectors, one for each lane.
// The weights of S::kAhead steps are on their way, to registers or to a ring in shared memory. This
// goes on from one turn to the next, so that the memory never waits for a sum. The weights do not
// depend on the previous kernel, so the first loads start before the wait for it.
//
// Weights have:
//   const T* first_row(int set, int output)   the row of w of this set and output
//   outputs, columns, row_step                how many there are; the elements between the rows of
//                                             neighbouring outputs of one turn
// An epilogue has:
//   Kept begin(int row, int output)           loads what it needs early
//   void finish(kept, row, output, sums)      gets a sum per set, and writes the output. One lane
//                                             calls it for each row of x and output.
//
// Numerics  Sums are fp32. A lane adds up its products in the order of the columns, then the lanes
//           of a warp are added as a tree, then the warps of a group. So the result does not depend
//           on the grid, and is the same in every run.

#pragma once

#include <mg/async_copy.cuh>
#include <mg/bulk_copy.cuh>
#include <mg/cache_hint.cuh>
#include <mg/convert.cuh>
#include <mg/group_sum.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

#include "sum_each.cuh"
#include "trigger.cuh"
#include "weight_cursor.cuh"

__host__ __device__ constexpr int power_of_two_from(int count) {
  int power = 1;
  while (power < count) power *= 2;
  return power;
}

enum class Held { registers, ring, bulk_ring };
enum class COPY { lanes, bulk };  // who fills a ring

template <class T_, int kRows_, int kSets_, int kThreads_, int kOutputs_, int kVec_, int kAhead_,
          int kSplit_, mg::Cache kCache_, Held kHeld_ = Held::registers, int kPieces_ = 1,
          TRIGGER kTrigger_ = TRIGGER::begin, bool kPdl_ = false>
struct StreamShape {
  using T = T_;
  static constexpr int kRows = kRows_, kSets = kSets_, kThreads = kThreads_, kOutputs = kOutputs_;
  static constexpr int kVec = kVec_, kAhead = kAhead_, kSplit = kSplit_;
  static constexpr mg::Cache kCache = kCache_;
  static constexpr Held kHeld = kHeld_;
  // When the next grid may start: with this one, or when a warp of each block has started its last
  // loads.
  static constexpr bool kLetsNextStart = kPdl_ && kTrigger_ == TRIGGER::last_loads;
  static constexpr int kRound = kHeld == Held::registers ? kAhead : 1;  // a turn has whole rounds
  static constexpr int kWarps = kThreads / 32, kGroups = kWarps / kSplit;
  static constexpr int kPieces = kPieces_;  // vectors of a lane in a row of a step
  static constexpr int kStep = 32 * kVec * kPieces;
  static constexpr int kValues = power_of_two_from(kRows * kOutputs);
  static_assert(kWarps % kSplit == 0 && kValues <= 32, "whole groups; a lane has one sum per set");
};

// The weights that are on their way to registers. Each load has its place at compile time, so the
// loads of a round of S::kAhead steps are written out one by one.
template <class S>
class RegisterSteps {
  using Vector = mg::Vec<typename S::T, S::kVec>;

 public:
  template <class Cursor>
  __device__ __forceinline__ RegisterSteps(Cursor& next, unsigned char*) {
#pragma unroll
    for (int i = 0; i < S::kAhead; ++i) load(next, held_[i]);
  }

  // Calls use(column, vectors) for each step of a turn, and starts the loads of a later one.
  template <class Cursor, class Use>
  __device__ __forceinline__ void turn(Cursor& next, int columns, const Use& use) {
    for (int step = 0; step < next.steps(); step += S::kAhead) {
#pragma unroll
      for (int i = 0; i < S::kAhead; ++i) {
        const int column = next.column(step + i);
        if (column < columns) use(column, held_[i]);
        load(next, held_[i]);
      }
    }
  }

 private:
  template <class Cursor>
  __device__ __forceinline__ static void load(Cursor& next, Vector (&held)[S::kSets][S::kOutputs]) {
    next.visit([&](int set, int i, const typename S::T* vector) {
      held[set][i] = mg::load_hinted<S::kVec, S::kCache>(vector);
    });
  }

  Vector held_[S::kAhead][S::kSets][S::kOutputs];
};

// The weights that are on their way to shared memory (sm_80). Each lane reads exactly what it has
// copied, so no warp waits for another. Registers hold one step only.
template <class S>
class RingSteps {
  using Vector = mg::Vec<typename S::T, S::kVec>;
  static constexpr int kVectors = S::kSets * S::kOutputs;  // of a lane in a step

 public:
  template <class Cursor>
  __device__ __forceinline__ RingSteps(Cursor& next, unsigned char* ring)
      : own_(ring + static_cast<int>(threadIdx.x) / 32 * (S::kAhead * kVectors * 512) +
             static_cast<int>(threadIdx.x) % 32 * 16) {
    for (int slot = 0; slot < S::kAhead; ++slot) copy(next, slot);
  }

  template <class Cursor, class Use>
  __device__ __forceinline__ void turn(Cursor& next, int columns, const Use& use) {
    for (int step = 0; step < next.steps(); ++step) {
      copies_.template wait<S::kAhead - 1>();
      const int column = next.column(step);
      if (column < columns) {
        Vector held[S::kSets][S::kOutputs];
#pragma unroll
        for (int i = 0; i < kVectors; ++i) {
          held[i / S::kOutputs][i % S::kOutputs] =
              mg::load<S::kVec>(reinterpret_cast<const typename S::T*>(place(slot_, i)));
        }
        use(column, held);
      }
      copy(next, slot_);
      slot_ = slot_ == S::kAhead - 1 ? 0 : slot_ + 1;
    }
  }

 private:
  __device__ __forceinline__ unsigned char* place(int slot, int vector) const {
    return own_ + (slot * kVectors + vector) * 512;
  }

  template <class Cursor>
  __device__ __forceinline__ void copy(Cursor& next, int slot) {
    next.visit([&](int set, int i, const typename S::T* vector) {
      copies_.template copy<16>(place(slot, set * S::kOutputs + i), vector);
    });
    copies_.end_group();
  }

  unsigned char* const own_;
  mg::AsyncCopies<S::kAhead * kVectors> copies_;
  int slot_ = 0;
};

// The same ring, filled by the copy engine (sm_90). The copy engine has its own way to memory, so
// the loads of x do not queue up behind those of the weights.
template <class S>
class BulkRingSteps {
  using T = typename S::T;
  using Vector = mg::Vec<T, S::kVec>;
  static constexpr int kRows = S::kSets * S::kOutputs;
  static constexpr int kRowBytes = S::kPieces * 512, kSlotBytes = kRows * kRowBytes;

 public:
  template <class Cursor>
  __device__ __forceinline__ BulkRingSteps(Cursor& next, unsigned char* ring)
      : slots_(ring + warp() * (S::kAhead * kSlotBytes)) {
    MG_SHARED(mg::CopyBarrier, barriers, [S::kWarps * S::kAhead]);
    arrived_ = barriers + warp() * S::kAhead;
    if (lane() == 0) {
      for (int slot = 0; slot < S::kAhead; ++slot) mg::init(arrived_[slot], 1);
      mg::publish_init();
    }
    __syncwarp();
    for (int slot = 0; slot < S::kAhead; ++slot) copy(next, slot);
  }

  template <class Cursor, class Use>
  __device__ __forceinline__ void turn(Cursor& next, int columns, const Use& use) {
    for (int step = 0; step < next.steps(); ++step) {
      const int column = next.column(step);
      if (column - lane() * S::kVec < columns) {
        mg::wait(arrived_[slot_], phases_ >> slot_ & 1u);
        phases_ ^= 1u << slot_;
      }
#pragma unroll
      for (int piece = 0; piece < S::kPieces; ++piece) {
        const int piece_column = column + piece * 32 * S::kVec;
        if (piece_column >= columns) continue;
        Vector held[S::kSets][S::kOutputs];
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          held[i / S::kOutputs][i % S::kOutputs] = mg::load<S::kVec>(reinterpret_cast<const T*>(
              slots_ + slot_ * kSlotBytes + i * kRowBytes + piece * 512 + lane() * 16));
        }
        use(piece_column, held);
      }
      mg::publish_to_copies();
      __syncwarp();
      copy(next, slot_);
      slot_ = slot_ == S::kAhead - 1 ? 0 : slot_ + 1;
    }
  }

 private:
  __device__ __forceinline__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ __forceinline__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  template <class Cursor>
  __device__ __forceinline__ void copy(Cursor& next, int slot) {
    const int left = next.columns_left() * static_cast<int>(sizeof(T));
    const int bytes = left < kRowBytes ? left : kRowBytes;
    bool is_first = true;
    next.visit([&](int set, int i, const T* vector) {
      if (lane() != 0) return;
      if (is_first) mg::arrive_expecting(arrived_[slot], static_cast<mg::u32>(kRows * bytes));
      is_first = false;
      mg::bulk_load(slots_ + slot * kSlotBytes + (set * S::kOutputs + i) * kRowBytes, vector,
                    static_cast<mg::u32>(bytes), arrived_[slot]);
    });
  }

  unsigned char* const slots_;
  mg::CopyBarrier* arrived_;
  int slot_ = 0;
  mg::u32 phases_ = 0;  // a bit for each slot
};

template <class S, Held>
struct StepsOf {
  using Type = RegisterSteps<S>;
};
template <class S>
struct StepsOf<S, Held::ring> {
  using Type = RingSteps<S>;
};
template <class S>
struct StepsOf<S, Held::bulk_ring> {
  using Type = BulkRingSteps<S>;
};

template <class S, class Weights>
class RowStream {
  using T = typename S::T;
  using Vector = mg::Vec<T, S::kVec>;
  using Steps = typename StepsOf<S, S::kHeld>::Type;

 public:
  // `ring` is S::kWarps * S::kAhead * kSets * kOutputs * kPieces * 512 bytes of shared memory. It
  // is not used if registers hold the weights.
  __device__ __forceinline__ RowStream(const Weights& weights, unsigned char* ring)
      : weights_(weights), next_(weights), held_(next_, ring) {}

  // The row of x for which this thread finishes outputs. From S::kRows on there is no such row.
  __device__ __forceinline__ static int own_row() {
    return static_cast<int>(threadIdx.x) % 32 / S::kOutputs;
  }

  // Every thread of the block calls it, after a barrier that makes `input` ready.
  template <class Input, class Epilogue>
  __device__ __forceinline__ void run(const Input& input, const Epilogue& epilogue) {
    MG_SHARED(float, scratch, [2 * S::kWarps * S::kSets * S::kValues]);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const float scale = input.scale(own_row());
    int buffer = 0;
    for (int first = next_.first_output(); first < weights_.outputs; first += next_.turn()) {
      const int output = first + lane % S::kOutputs;
      const bool finishes = own_row() < S::kRows && output < weights_.outputs && next_.part() == 0;
      typename Epilogue::Kept kept{};
      if (finishes) kept = epilogue.begin(own_row(), output);
      float sums[S::kSets][S::kValues] = {};
      held_.turn(next_, weights_.columns,
                 [&](int column, const Vector(&held)[S::kSets][S::kOutputs]) {
                   add(held, input, column, sums);
                 });
      float own[S::kSets];
#pragma unroll
      for (int set = 0; set < S::kSets; ++set) own[set] = sum_each<S::kValues>(sums[set]);
      if constexpr (S::kSplit > 1) {
        add_parts(own, scratch + buffer);
        buffer ^= S::kWarps * S::kSets * S::kValues;
      }
      if (finishes) {
#pragma unroll
        for (int set = 0; set < S::kSets; ++set) own[set] *= scale;
        epilogue.finish(kept, own_row(), output, own);
      }
    }
  }

 private:
  template <class Input>
  __device__ __forceinline__ static void add(const Vector (&held)[S::kSets][S::kOutputs],
                                             const Input& input, int column,
                                             float (&sums)[S::kSets][S::kValues]) {
    float w[S::kSets][S::kOutputs][S::kVec];
#pragma unroll
    for (int set = 0; set < S::kSets; ++set) {
#pragma unroll
      for (int i = 0; i < S::kOutputs; ++i) mg::to_floats(held[set][i], w[set][i]);
    }
#pragma unroll
    for (int row = 0; row < S::kRows; ++row) {
      float x[S::kVec];
      input.read(row, column, x);
#pragma unroll
      for (int set = 0; set < S::kSets; ++set) {
#pragma unroll
        for (int i = 0; i < S::kOutputs; ++i) {
#pragma unroll
          for (int j = 0; j < S::kVec; ++j) {
            sums[set][row * S::kOutputs + i] += w[set][i][j] * x[j];
          }
        }
      }
    }
  }

  // Adds up the sums of the warps of a group. Only its first warp has them afterwards. Two scratch
  // areas take turns, as in <mg/group_sum.cuh>.
  __device__ __forceinline__ static void add_parts(float (&own)[S::kSets], float* scratch) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    float* const place = scratch + warp * S::kSets * S::kValues + lane;
    if (lane < S::kValues) {
#pragma unroll
      for (int set = 0; set < S::kSets; ++set) place[set * S::kValues] = own[set];
    }
    if constexpr (S::kGroups == 1) {
      __syncthreads();
    } else {
      mg::sync_group<32 * S::kSplit>();
    }
    if (warp % S::kSplit != 0 || lane >= S::kValues) return;
#pragma unroll
    for (int part = 1; part < S::kSplit; ++part) {
#pragma unroll
      for (int set = 0; set < S::kSets; ++set) {
        own[set] += place[(part * S::kSets + set) * S::kValues];
      }
    }
  }

  const Weights weights_;
  WeightCursor<S, Weights> next_;
  Steps held_;
};
