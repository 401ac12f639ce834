// planted.swapped — y[i] = x[i]
//
// The fault: the operator file swaps the args x and y.

#include <mg/types.cuh>

template <class T, int kThreads>
__global__ void swapped(const T* x, T* y, mg::i64 n) {
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  y[i] = x[i];
}
