// planted.unwritten_local — y[i] = x[i]
//
// The fault: the sum does not start with a value.

#include <mg/types.cuh>

template <class T, int kThreads>
__global__ void unwritten_local(const T* x, T* y, mg::i64 n) {
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  T sum;
  for (int k = 0; k < 2; ++k) sum += x[i] / 2;  // planted
  y[i] = sum;
}
