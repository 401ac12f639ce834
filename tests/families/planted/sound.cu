// planted.sound — y[i] = x[i]
//
// This one has no fault.

#include <mg/types.cuh>

template <class T, int kThreads>
__global__ void sound(const T* x, T* y, mg::i64 n) {
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  y[i] = x[i];
}
