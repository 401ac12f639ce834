// planted.never_ends — y[i] = x[i]
//
// The fault: every thread waits for x[0] to become NaN.

#include <mg/types.cuh>

template <class T, int kThreads>
__global__ void never_ends(const T* x, T* y, mg::i64 n) {
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  const volatile T* const gate = x;
  while (gate[0] == gate[0]) {  // planted
  }
  y[i] = x[i];
}
