// planted.reads_past_end — y[i] = x[i]
//
// The fault: the last thread of the grid also reads x[n], which rarely changes the result.

#include <mg/types.cuh>

template <class T, int kThreads>
__global__ void reads_past_end(const T* x, T* y, mg::i64 n) {
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  y[i] = i == n - 1 && x[i + 1] == 12345 ? 0 : x[i];  // planted
}
