// rmsnorm.forward — y[r, c] = x[r, c] * rstd[r] * weight[c]
//                   rstd[r] = 1 / sqrt(mean(x[r, :]^2) + eps)
//
// Algorithm  THREADS_PER_ROW threads own a row and step over it together, VEC elements each, so
//            that a step reads consecutive addresses. Each thread sums its squares, mg::sum adds
//            the threads' sums (shuffles inside a warp, one round through shared memory above),
//            and a second walk over the same columns scales and writes. A block holds
//            ROWS_PER_BLOCK rows; rows past the end join the sum and neither read nor write.
// Traffic    reads rows * hidden + hidden elements of T, writes rows * hidden, and 4 * rows bytes
//            when rstd is wanted; weight is read once per row, from the caches.
// Work       4 * rows * hidden flops, 1 flop per byte or less: bound by memory.
// Tunables   THREADS_PER_ROW  few: no barrier (<= 32) and many rows in flight; many: less to hold
//                             per thread, more loads in flight when there are few rows
//            ROWS_PER_BLOCK   fills a block when a row needs few threads; idle when rows run out
//            VEC              elements per load; 16 bytes need the fewest instructions, less
//                             serves odd sizes, strides and pointers
//            KEEP             registers: x is read once and held as T, at most 64 elements per
//                             thread; reread: x is read twice, the second time from L1 or L2
// Numerics   squares, sum and scale in fp32; a thread adds at most 512 squares, VEC at a time; y
//            is rounded once, at the end. The sum of squares must stay finite in fp32: |x| below
//            7e16 is safe for every hidden. The order of additions depends on the parameters,
//            never on the run. y must not overlap x or weight.

#include <mg/math.cuh>
#include <mg/reduce.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

enum class KEEP { registers, reread };

template <class T, int kVec>
__device__ float sum_of_squares(const mg::Vec<T, kVec>& x) {
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kVec; ++i) {
    const float value = mg::to_float(x.data[i]);
    sum += value * value;
  }
  return sum;
}

template <class T, int kVec>
__device__ mg::Vec<T, kVec> scaled(const mg::Vec<T, kVec>& x, const mg::Vec<T, kVec>& weight,
                                   float scale) {
  mg::Vec<T, kVec> y;
#pragma unroll
  for (int i = 0; i < kVec; ++i) {
    y.data[i] = mg::from_float<T>(mg::to_float(x.data[i]) * scale * mg::to_float(weight.data[i]));
  }
  return y;
}

// Calls visit(step, column) for each vector of a row that the thread `lane` of it owns. Only the
// last step can lie partly outside, so that only it is guarded: the others' loads go out together.
template <int kHidden, int kThreadsPerRow, int kVec, int kUnroll, class Visit>
__device__ __forceinline__ void for_each_vector(int lane, const Visit& visit) {
  constexpr int kStep = kThreadsPerRow * kVec;  // columns that a row's threads cover at once
  constexpr int kWholeSteps = kHidden / kStep;
#pragma unroll kUnroll
  for (int step = 0; step < kWholeSteps; ++step) visit(step, step * kStep + lane * kVec);
  if constexpr (kHidden % kStep != 0) {
    const int column = kWholeSteps * kStep + lane * kVec;
    if (column < kHidden) visit(kWholeSteps, column);
  }
}

template <class T, int kHidden, int kThreadsPerRow, int kRowsPerBlock, int kVec, KEEP kKeep,
          bool kHasRstd>
__global__ void __launch_bounds__(kThreadsPerRow* kRowsPerBlock)
    rmsnorm_forward(const T* __restrict__ x, const T* __restrict__ weight, T* __restrict__ y,
                    float* __restrict__ rstd, mg::i64 rows, mg::i64 x_stride, float eps) {
  constexpr int kThreads = kThreadsPerRow * kRowsPerBlock;
  constexpr int kSteps = (kHidden + kThreadsPerRow * kVec - 1) / (kThreadsPerRow * kVec);
  constexpr bool kKept = kKeep == KEEP::registers;
  constexpr int kUnroll = kKept ? kSteps : 4;

  static_assert(kVec * sizeof(T) <= 16, "one load is at most 16 bytes");
  static_assert(kHidden % kVec == 0, "every row begins on a whole vector");
  static_assert(kThreads >= 32 && kThreads <= 1024, "a block is 1 to 32 warps");
  static_assert(kSteps * kVec <= (kKept ? 64 : 512), "too many elements for one thread");

  MG_SHARED(float, scratch, [mg::sum_scratch_floats<kThreadsPerRow, kRowsPerBlock>()]);

  const int lane = static_cast<int>(threadIdx.x) % kThreadsPerRow;
  const mg::i64 row = mg::i64{blockIdx.x} * kRowsPerBlock + threadIdx.x / kThreadsPerRow;
  const bool active = row < rows;
  const T* const x_row = x + (active ? row : 0) * x_stride;
  T* const y_row = y + (active ? row : 0) * kHidden;

  mg::Vec<T, kVec> kept[kKept ? kSteps : 1];
  float squares = 0.0f;
  if (active) {
    for_each_vector<kHidden, kThreadsPerRow, kVec, kUnroll>(lane, [&](int step, int column) {
      const mg::Vec<T, kVec> value = mg::load<kVec>(x_row + column);
      if constexpr (kKept) kept[step] = value;
      squares += sum_of_squares(value);
    });
  }

  const float total = mg::sum<kThreadsPerRow>(squares, scratch);
  const float scale = mg::rsqrt(total * (1.0f / kHidden) + eps);

  if (active) {
    for_each_vector<kHidden, kThreadsPerRow, kVec, kUnroll>(lane, [&](int step, int column) {
      mg::Vec<T, kVec> value;
      if constexpr (kKept) {
        value = kept[step];
      } else {
        value = mg::load<kVec>(x_row + column);
      }
      mg::store<kVec>(y_row + column, scaled(value, mg::load<kVec>(weight + column), scale));
    });
  }

  if constexpr (kHasRstd) {
    if (active && lane == 0) rstd[row] = scale;
  }
}
