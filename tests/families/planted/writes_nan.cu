// planted.writes_nan — y[i] = x[i]
//
// The fault: element 17 is 0 / 0.

#include <mg/types.cuh>

template <class T, int kThreads>
__global__ void writes_nan(const T* x, T* y, mg::i64 n) {
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  const T zero = x[i] - x[i];
  y[i] = i == 17 ? zero / zero : x[i];
}
