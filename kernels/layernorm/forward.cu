// layernorm.forward: y = (x - mean(x)) / sqrt(variance(x) + eps) * weight + bias, for each row.
//
// The plain version is this kernel with one thread per row.
//
// Algorithm  A block takes a row. It reads the row three times: for the mean, for the squared
//            distances from the mean, and to write the result. The second and the third time the
//            row is in the caches. linear.decode and linear.qkv have this norm built in; this
//            kernel is for rows whose normalized form is needed by itself.
// Traffic    reads rows * columns elements of T from memory and writes as many of Y.
// Work       8 * rows * columns flops: bound by memory, or for few rows by the two sums, one after
//            the other.
// Tunables   THREADS    More threads have more loads in flight, and need more time for a sum.
//            VEC        The elements of an access.
//            PDL        The grid starts while the previous grid ends.
// Numerics   Sums are fp32, in a fixed order. The variance is the mean of the squared distances
//            from the mean, so a large mean costs no digits. y is rounded once.

#include <mg/convert.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/math.cuh>
#include <mg/reduce.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

// Calls visit(column, floats) for this thread's part of a row.
template <int kThreads, int kVec, class T, class Visit>
__device__ __forceinline__ void for_each_vector(const T* from, int columns, const Visit& visit) {
  for (int column = static_cast<int>(threadIdx.x) * kVec; column < columns;
       column += kThreads * kVec) {
    float values[kVec];
    mg::to_floats(mg::load<kVec>(from + column), values);
    visit(column, values);
  }
}

template <class T, class W, int kThreads, int kVec, bool kPdl, bool kHasBias>
__global__ void __launch_bounds__(kThreads)
    layernorm_forward(const T* x, const W* weight, const W* bias, T* y, float eps, int columns,
                      mg::i64 x_stride) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  constexpr int kScratch = mg::sum_scratch_floats<kThreads, 1>();
  MG_SHARED(float, of_values, [kScratch]);
  MG_SHARED(float, of_squares, [kScratch]);
  const T* const from = x + blockIdx.x * x_stride;
  T* const to = y + mg::i64{blockIdx.x} * columns;
  const float count = static_cast<float>(columns);
  float sum = 0.0f, squares = 0.0f;
  for_each_vector<kThreads, kVec>(from, columns, [&](int, const float(&values)[kVec]) {
#pragma unroll
    for (int i = 0; i < kVec; ++i) sum += values[i];
  });
  const float mean = mg::sum<kThreads>(sum, of_values) / count;
  for_each_vector<kThreads, kVec>(from, columns, [&](int, const float(&values)[kVec]) {
#pragma unroll
    for (int i = 0; i < kVec; ++i) squares += (values[i] - mean) * (values[i] - mean);
  });
  const float scale = mg::rsqrt(mg::sum<kThreads>(squares, of_squares) / count + eps);
  for_each_vector<kThreads, kVec>(from, columns, [&](int column, const float(&values)[kVec]) {
    float weights[kVec], biases[kVec] = {}, results[kVec];
    mg::to_floats(mg::load_pieces<kVec>(weight + column), weights);
    if constexpr (kHasBias) mg::to_floats(mg::load_pieces<kVec>(bias + column), biases);
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      results[i] = (values[i] - mean) * scale * weights[i] + biases[i];
    }
    mg::store<kVec>(to + column, mg::from_floats<T>(results));
  });
}
