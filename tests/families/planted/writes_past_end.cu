// planted.writes_past_end — y[i] = x[i]
//
// The fault: the last thread of the grid also writes y[n].

#include <mg/types.cuh>

template <class T, int kThreads>
__global__ void writes_past_end(const T* x, T* y, mg::i64 n) {
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  y[i] = x[i];
  if (i == n - 1) y[i + 1] = x[i];  // planted
}
