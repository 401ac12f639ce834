// planted.wide_argument — y[i] = x[i]
//
// The fault: the operator file passes n as an i32.

#include <mg/types.cuh>

template <class T, int kThreads>
__global__ void wide_argument(const T* x, T* y, mg::i64 n) {
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) y[i] = x[i];
}
