// The constants and tensors of design stream, and Piece: how one warp copies its piece of each row
// into shared memory. forward_stream.cu explains the design.

#pragma once

#include <mg/bulk_copy.cuh>
#include <mg/cache_hint.cuh>
#include <mg/cluster.cuh>
#include <mg/types.cuh>

using STORE = mg::Cache;
enum class HOLD { registers, in_place };

// The constants of a variant.
template <class T_, class W_, int kHidden_, int kCluster_, int kThreads_, int kStages_, HOLD kHold_,
          STORE kStore_, bool kEarly_, bool kPdl_>
struct StreamShape {
  using T = T_;
  using W = W_;
  static constexpr int kHidden = kHidden_, kCluster = kCluster_, kThreads = kThreads_,
                       kStages = kStages_;
  static constexpr HOLD kHold = kHold_;
  static constexpr STORE kStore = kStore_;
  static constexpr bool kEarly = kEarly_, kPdl = kPdl_;

  static constexpr int kVec = static_cast<int>(16 / sizeof(T));
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kSlice = kHidden / kCluster;                            // columns of a block
  static constexpr int kPiece = (kSlice / kVec + kWarps - 1) / kWarps * kVec;  // columns of a warp
  static constexpr int kStep = 32 * kVec;  // columns that a warp covers at once
  static constexpr int kSteps = (kPiece + kStep - 1) / kStep;
  static constexpr bool kWhole = kSlice % (kWarps * kStep) == 0;  // no lane is ever idle

  static_assert(kHidden % (kCluster * kVec) == 0, "pieces are copied in units of 16 bytes");
  static_assert(kSteps * kVec <= 64, "too much for one thread");
  static_assert(kHold == HOLD::registers || kStages >= 3, "two rows are held, others on their way");
};

// The tensors of a launch. residual and residual_out are null in rmsnorm.forward.
template <class S>
struct StreamTensors {
  const typename S::T* x;
  const typename S::T* residual;
  const typename S::W* weight;
  typename S::T* y;
  typename S::T* residual_out;
  float* rstd;
  mg::i64 rows, x_stride;
};

// A warp's piece of each slice of its block: where it lies, and how it is copied. Columns count
// from the start of the slice.
template <class S, bool kAdd>
class Piece {
 public:
  using T = typename S::T;

  // `shared` holds kStages slices of x; with kAdd a slice of residual follows each of them.
  // `arrived` holds one barrier per stage and warp.
  __device__ __forceinline__ Piece(const StreamTensors<S>& at, T* shared, mg::CopyBarrier* arrived)
      : at_(at),
        shared_(shared),
        arrived_(arrived + threadIdx.x / 32),
        first_(static_cast<int>(threadIdx.x) / 32 * S::kPiece),
        count_(S::kSlice - first_ < S::kPiece ? S::kSlice - first_ : S::kPiece) {
    if (count_ < 0) count_ = 0;
    if constexpr (S::kCluster > 1) slice_ = static_cast<int>(mg::cluster_rank()) * S::kSlice;
  }

  // The column of the row at which the slice begins.
  __device__ __forceinline__ int slice() const { return S::kCluster > 1 ? slice_ : 0; }

  __device__ __forceinline__ void init_barriers() const {
#pragma unroll
    for (int stage = 0; stage < S::kStages; ++stage) mg::init(arrived_[stage * S::kWarps], 1);
    mg::publish_init();
  }

  __device__ __forceinline__ void prefetch(mg::i64 row) const {
    if (row >= at_.rows || count_ == 0) return;
    const int from = slice() + first_;
    mg::bulk_prefetch_to_l2(at_.x + row * at_.x_stride + from, bytes());
    if constexpr (kAdd) mg::bulk_prefetch_to_l2(at_.residual + row * S::kHidden + from, bytes());
  }

  // Starts the copy of the piece of `row` into `stage`. One lane of the warp calls it.
  __device__ __forceinline__ void request(mg::i64 row, int stage) const {
    if (row >= at_.rows) return;
    mg::CopyBarrier& arrived = arrived_[stage * S::kWarps];
    mg::arrive_expecting(arrived, bytes() * (kAdd ? 2 : 1));
    if (count_ == 0) return;
    T* const to = shared_ + stage * kStageSize + first_;
    const int from = slice() + first_;
    mg::bulk_load_kept(to, at_.x + row * at_.x_stride + from, bytes(), arrived);
    if constexpr (kAdd) {
      mg::bulk_load_kept(to + S::kSlice, at_.residual + row * S::kHidden + from, bytes(), arrived);
    }
  }

  __device__ __forceinline__ void wait(int stage, unsigned int phase) const {
    mg::wait(arrived_[stage * S::kWarps], phase);
  }

  // Where the vector at `column` of x begins. The vector of residual is kSlice elements further on.
  __device__ __forceinline__ T* held(int stage, int column) const {
    return shared_ + stage * kStageSize + column;
  }

  // Calls visit(step, column) for each vector that this thread owns in the piece.
  template <class Visit>
  __device__ __forceinline__ void for_each_vector(const Visit& visit) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int step = 0; step < S::kSteps; ++step) {
      const int column = step * S::kStep + lane * S::kVec;
      if (S::kWhole || column < count_) visit(step, first_ + column);
    }
  }

 private:
  static constexpr int kStageSize = S::kSlice * (kAdd ? 2 : 1);

  __device__ __forceinline__ unsigned int bytes() const {
    return static_cast<unsigned int>(count_) * sizeof(T);
  }

  const StreamTensors<S>& at_;
  T* const shared_;
  mg::CopyBarrier* const arrived_;
  int first_, count_, slice_;  // in columns; slice_ is set in clusters only
};
