// faulty.endless_loop — y[i] = x[i]
//
// The fault: every thread first waits for x[0] to become NaN, which nobody writes.

#include <mg/types.cuh>

template <class T, int kThreads>
__global__ void endless_loop(const T* x, T* y, mg::i64 n) {
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  const volatile T* const gate = x;
  while (gate[0] == gate[0]) {
  }
  y[i] = x[i];
}
