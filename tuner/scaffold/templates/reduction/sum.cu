// y[r] = the sum of x[r, c] over the columns c
//
// Algorithm  One block per row. Each thread adds up the elements that it loads; then the block adds
//            up the sums of its threads.
// Traffic    Reads rows * columns elements of T, writes rows floats.
// Work       rows * columns flops.
// Tunables   THREADS  threads per block. More threads hide more latency, but they need more steps
//                     to add up their sums.
//            VEC      elements that a thread loads by one instruction
// Numerics   Sums are formed in float, in an order that depends on THREADS and VEC, but not on the
//            run.

#include <mg/reduce.cuh>  // mg::sum: the sum over the threads of a block
#include <mg/shared.cuh>  // MG_SHARED: shared memory that the checks of the cpu device see
#include <mg/types.cuh>   // integers of fixed width, such as mg::i64
#include <mg/vec.cuh>     // mg::load: several elements by one instruction

// The key "kernel" of sum.json names the template arguments: sum<T, THREADS, VEC>. mgtune compiles
// this file once for each variant, for example with sum<float, 256, 4>.
template <class T, int kThreads, int kVec>
__global__ void __launch_bounds__(kThreads)
    // The parameters come in the order of the key "args".
    sum(const T* x, float* y, mg::i64 columns) {
  // Shared memory for the sums of the warps. mg::sum says how much it needs.
  MG_SHARED(float, scratch, [mg::sum_scratch_floats<kThreads, 1>()]);
  // "grid": ["rows"] launches one block per row.
  const T* const row = x + mg::i64{blockIdx.x} * columns;
  float total = 0;
  // Neighbouring threads load neighbouring elements, so that the loads of a warp are contiguous.
  for (mg::i64 c = mg::i64{threadIdx.x} * kVec; c < columns; c += kThreads * kVec) {
    const mg::Vec<T, kVec> part = mg::load<kVec>(row + c);
#pragma unroll
    for (int j = 0; j < kVec; ++j) total += mg::to_float(part.data[j]);
  }
  // Every thread of the block reaches this line, because there is a barrier inside.
  total = mg::sum<kThreads>(total, scratch);
  if (threadIdx.x == 0) y[blockIdx.x] = total;
}
