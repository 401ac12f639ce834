// planted.wrong_index — y[i] = x[i]
//
// The fault: from element 100 on, the next element is read.

#include <mg/types.cuh>

template <class T, int kThreads>
__global__ void wrong_index(const T* x, T* y, mg::i64 n) {
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  y[i] = x[i >= 100 && i + 1 < n ? i + 1 : i];
}
