// The references of elements.copy and elements.zero.
//
// Algorithm  Threads stride over the elements.
// Traffic    reads and writes each element once.
// Numerics   exact

#include <mg/types.cuh>
#include <mg/vec.cuh>

template <class Visit>
__device__ void for_each_index(mg::i64 count, const Visit& visit) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
    visit(i);
  }
}

template <typename X, typename Y, class Problem>
__global__ void elements_copy_reference(const X* x, double* y, Problem problem) {
  for_each_index(problem.count, [&](mg::i64 i) { y[i] = mg::to_float(x[i]); });
}

template <typename Y, class Problem>
__global__ void elements_zero_reference(double* y, Problem problem) {
  for_each_index(problem.count, [&](mg::i64 i) { y[i] = 0.0; });
}
