// planted.leaves_shared — y[i] = x[i]
//
// The fault: the last thread of a block writes one element past the end of a shared array.

#include <mg/shared.cuh>
#include <mg/types.cuh>

template <class T, int kThreads>
__global__ void leaves_shared(const T* x, T* y, mg::i64 n) {
  MG_SHARED(T, values, [kThreads]);
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  values[threadIdx.x] = x[i];
  if (threadIdx.x == kThreads - 1) values[threadIdx.x + 1] = 0;  // planted
  y[i] = values[threadIdx.x];
}
