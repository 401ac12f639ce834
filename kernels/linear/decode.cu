// linear.decode: a linear layer for 1 to 8 rows, with the norm before it and what follows it.
//
//   h = x, or x * weight / sqrt(mean(x^2) + eps),
//           or (x - mean(x)) / sqrt(var(x) + eps) * weight + b
//   s[r, o] = sum over i of h[r, i] * w[o, i]
//   y[r, o] = activation(s[r, o] + bias[o]) + residual[r, o]
//   y[r, o] = silu(gate[r, o]) * up[r, o] + residual[r, o]       silu_gate: s of two matrices
//
// The plain version: one warp per output. Its lanes walk over a row of w side by side.
//
//   __global__ void linear(const T* x, const T* w, T* y, int in, int out) {
//     int o = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
//     if (o >= out) return;
//     float sum = 0;
//     for (int i = lane; i < in; i += 32) sum += float(x[i]) * float(w[o * in + i]);
//     sum = sum_of_warp(sum);
//     if (lane == 0) y[o] = sum;
//   }
//
// Algorithm  The plain version with many loads in flight. Each lane has the vectors of several
//            steps of ROWS_PER_WARP rows of w on their way, to registers (design stream) or to a
//            ring in shared memory (design ring; both are in row_stream.cuh). These loads start
//            before the kernel waits for the previous kernel, because weights do not depend on it.
//            The blocks are persistent: a warp takes output after output, and its loads go on from
//            one output to the next. Each block normalizes x itself and keeps it in shared memory
//            in fp32 (input_rows.cuh).
// Traffic    sizeof(T) * in * out bytes of weights (twice as many with silu_gate). All else is
//            small: x and y, and x once per block from L2. A token of Llama-3.2-1B reads 2.47 GB in
//            65 such launches, so no GPU with 4.3 TB/s takes less than 575 us for it.
// Work       2 * rows flops per weight, and one conversion. At one row and 16 bits that is one flop
//            per byte: the kernel is bound by memory. An SM of an H200 gets about 18 bytes of
//            weights per cycle. These take 9 conversions and 9 * rows fused multiply-adds. The SM
//            can do 128 of them per cycle, so 8 rows take 63 % of its rate. x is read from shared
//            memory: 32 * rows / ROWS_PER_WARP bytes per 16 bytes of weights. The SM can read 128
//            bytes per cycle.
//            decode_mma.cu computes several rows of 16-bit weights on the tensor cores.
// Tunables   THREADS        More threads have more loads in flight. With fewer, the blocks of the
//                           next kernel find room earlier.
//            ROWS_PER_WARP  The outputs of a warp at a time, which share the reads of x. More
//                           outputs leave warps idle if `out` is small.
//            VEC            The elements of a load. The length of a row must be a multiple of it.
//            UNROLL, STAGES The steps in flight of each row of w. More steps need registers
//                           (UNROLL, stream) or shared memory (STAGES, ring).
//            PIECES, COPY   ring: either the lanes or the copy engine (bulk) fill the ring, with
//                           PIECES * 512 bytes of a row at a time.
//            TRIGGER        ring: the next grid may start with this one, or with its last loads.
//            SPLIT          The warps that share a row of w. It is for long rows, and for an `out`
//                           too small to keep all warps busy.
//            BLOCKS_PER_SM  More blocks, each with its own copy of x.
//            ROOM           2: half of the registers of an SM stay free, so that blocks of the next
//                           grid start, and load their first weights, while this grid works.
//            INPUT          shared: x in shared memory. direct: x from the caches, each time.
//            CACHE          How long the caches keep weights.
//            PDL            The grid starts while the previous grid ends, and loads its first
//                           weights.
// Numerics   Products and sums are fp32, in a fixed order, and y is rounded once. Repeated runs
//            give equal bits, whatever the size of the grid.

#include <mg/cache_hint.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/types.cuh>

#include "decode_epilogue.cuh"
#include "input_rows.cuh"
#include "row_stream.cuh"

using CACHE = mg::Cache;

// The tensors and sizes of a launch.
template <class T, class X, class Y>
struct DecodeArguments {
  const X* x;
  const T *norm_weight, *norm_bias, *w, *w_up, *bias;
  const Y* residual;
  Y* y;
  float eps;
  int in, out;
  mg::i64 x_stride, w_stride, residual_stride, y_stride;
};

template <class Input, class Stream, bool kPdl, bool kGelu, bool kHasBias, bool kHasResidual,
          class T, class X, class Y>
__device__ __forceinline__ void compute_rows(const DecodeArguments<T, X, Y>& in) {
  constexpr bool kGate = Stream::kSets == 2;
  if constexpr (kPdl && !Stream::kLetsNextStart) mg::let_next_grid_start();
  const DecodeWeights<T> weights{in.w, in.w_up != nullptr ? in.w_up : in.w + in.out * in.w_stride,
                                 in.out, in.in, in.w_stride};
  RowStream<Stream, DecodeWeights<T>> stream(weights, behind_input<Input>(in.in));
  if constexpr (kPdl) mg::wait_for_previous_grid();
  InputRows<Input> input({in.x, in.norm_weight, in.norm_bias, in.in, in.x_stride, in.eps});
  input.prepare();
  const DecodeEpilogue<T, Y, kGelu, kGate, kHasBias, kHasResidual> epilogue{
      in.bias, in.residual, in.y, in.residual_stride, in.y_stride, in.out};
  stream.run(input, epilogue);
}

template <class T, class X, class Y, int kRows, int kThreads, int kRowsPerWarp, int kVec,
          int kUnroll, int kSplit, int kBlocksPerSm, INPUT kInput, CACHE kCache, bool kPdl,
          bool kRmsNorm, bool kLayerNorm, bool kGelu, bool kGate, bool kHasNormBias, bool kHasBias,
          bool kHasResidual>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    linear_decode(const X* x, const T* norm_weight, const T* norm_bias, const T* w, const T* w_up,
                  const T* bias, const Y* residual, Y* y, float eps, int in, int out,
                  mg::i64 x_stride, mg::i64 w_stride, mg::i64 residual_stride, mg::i64 y_stride) {
  using Input = InputShape<X, T, kRows, kVec, kThreads, norm_of<kRmsNorm, kLayerNorm>(),
                           kHasNormBias, kInput>;
  using Stream =
      StreamShape<T, kRows, kGate ? 2 : 1, kThreads, kRowsPerWarp, kVec, kUnroll, kSplit, kCache>;
  compute_rows<Input, Stream, kPdl, kGelu, kHasBias, kHasResidual>(
      DecodeArguments<T, X, Y>{x, norm_weight, norm_bias, w, w_up, bias, residual, y, eps, in, out,
                               x_stride, w_stride, residual_stride, y_stride});
}

template <class T, class X, class Y, int kRows, int kThreads, int kRowsPerWarp, int kStages,
          int kPieces, int kSplit, int kBlocksPerSm, INPUT kInput, COPY kCopy, TRIGGER kTrigger,
          bool kPdl, bool kRmsNorm, bool kLayerNorm, bool kGelu, bool kGate, bool kHasNormBias,
          bool kHasBias, bool kHasResidual>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    linear_decode_ring(const X* x, const T* norm_weight, const T* norm_bias, const T* w,
                       const T* w_up, const T* bias, const Y* residual, Y* y, float eps, int in,
                       int out, mg::i64 x_stride, mg::i64 w_stride, mg::i64 residual_stride,
                       mg::i64 y_stride) {
  constexpr int kVec = 16 / static_cast<int>(sizeof(T));
  using Input = InputShape<X, T, kRows, kVec, kThreads, norm_of<kRmsNorm, kLayerNorm>(),
                           kHasNormBias, kInput>;
  using Stream = StreamShape<T, kRows, kGate ? 2 : 1, kThreads, kRowsPerWarp, kVec, kStages, kSplit,
                             CACHE::normal, kCopy == COPY::bulk ? Held::bulk_ring : Held::ring,
                             kPieces, kTrigger, kPdl>;
  compute_rows<Input, Stream, kPdl, kGelu, kHasBias, kHasResidual>(
      DecodeArguments<T, X, Y>{x, norm_weight, norm_bias, w, w_up, bias, residual, y, eps, in, out,
                               x_stride, w_stride, residual_stride, y_stride});
}
