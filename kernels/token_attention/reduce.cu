// token_attention.reduce: joins the parts of attention that token_attention.partial has computed.
//
//   o[r, h] = sum over s of w[s] * x[r, h, s] / sum over s of w[s],
//   w[s] = exp(statistics[r, h, s] - the largest of statistics[r, h])
//
// Parts without keys have the statistic -Inf, and so the weight 0. A head without keys gives zeros.
//
// The plain version is this kernel with one thread per row and head.
//
// Algorithm  A block has one head of one row. Each thread walks over the statistics, and adds up
//            every THREADS-th column.
// Traffic    reads rows * heads * splits * (head_dim + 1) floats and writes o. These are a few KiB
//            that the previous kernel has left in L2: the time is that of a launch.
// Work       2 flops per element that is read, and 2 * splits exponentials per thread
// Tunables   THREADS    With fewer than head_dim, threads have several columns.
//            PDL        The grid starts while the previous grid ends.
// Numerics   fp32, the parts in order. o is rounded once.

#include <mg/grid_dependency.cuh>
#include <mg/math.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

template <class Y, int kThreads, bool kPdl>
__global__ void __launch_bounds__(kThreads)
    token_attention_reduce(const float* x, const float* statistics, Y* o, int splits,
                           int head_dim) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  const mg::i64 head = mg::i64{blockIdx.y} * gridDim.x + blockIdx.x;
  const float* const logs = statistics + head * splits;
  const float* const parts = x + head * splits * head_dim;
  float largest = -mg::infinity();
  for (int s = 0; s < splits; ++s) largest = fmaxf(largest, logs[s]);
  const bool is_empty = largest == -mg::infinity();
  for (int c = static_cast<int>(threadIdx.x); c < head_dim; c += kThreads) {
    float sum = 0.0f, output = 0.0f;
    for (int s = 0; s < splits && !is_empty; ++s) {
      const float weight = expf(logs[s] - largest);
      sum += weight;
      output += weight * parts[mg::i64{s} * head_dim + c];
    }
    o[head * head_dim + c] = mg::from_float<Y>(is_empty ? 0.0f : output / sum);
  }
}
