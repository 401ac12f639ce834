// planted.missing_barrier — y[i] = x[i ^ 32]
//
// The fault: no __syncthreads() between writing the shared array and reading the element of
// another warp.

#include <mg/shared.cuh>
#include <mg/types.cuh>

template <class T, int kThreads>
__global__ void missing_barrier(const T* x, T* y, mg::i64 n) {
  MG_SHARED(T, values, [kThreads]);
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  values[threadIdx.x] = x[i];
  y[i] = values[threadIdx.x ^ 32];  // planted
}
