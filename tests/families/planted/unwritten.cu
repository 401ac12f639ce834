// planted.unwritten — y[i] = x[i] + x[i - 1] within a block of 64, y[i] = x[i] for its first thread
//
// The fault: only even threads write the shared array.

#include <mg/shared.cuh>
#include <mg/types.cuh>

template <class T, int kThreads>
__global__ void unwritten(const T* x, T* y, mg::i64 n) {
  MG_SHARED(T, values, [kThreads]);
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  if (threadIdx.x % 2 == 0) values[threadIdx.x] = x[i];
  __syncthreads();
  y[i] = threadIdx.x == 0 ? x[i] : x[i] + values[threadIdx.x - 1];  // planted
}
