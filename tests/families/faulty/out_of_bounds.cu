// faulty.out_of_bounds — y[i] = x[i]
//
// The fault: the last thread of the grid also writes y[n], one element past the end.

#include <mg/types.cuh>

template <class T, int kThreads>
__global__ void out_of_bounds(const T* x, T* y, mg::i64 n) {
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  y[i] = x[i];
  if (i == n - 1) y[n] = x[i];
}
