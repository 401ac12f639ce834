// culprits.scale — y[i] = 2 * x[i]
//
// Algorithm  blocks stride over the elements, UNROLL of them a thread and step.
// Traffic    reads n elements of T, writes n.
// Work       n flops.
// Tunables   UNROLL  elements in flight a thread
//            WARPS   of a block
//            BLOCKS  of the grid
//            FAULT   none; of five of the 64 variants, what is wrong with them:
//                    reads_far       one element 64 TiB before x, which no device maps
//                    never_ends      the first thread waits for x[0] to become NaN
//                    writes_nan      0 / 0 in one element
//                    writes_nothing  returns at once: the fastest of all
//                    traps           aborts the launch
// Numerics   exact.

#include <mg/types.cuh>

enum class FAULT { none, reads_far, never_ends, writes_nan, writes_nothing, traps };

template <class T, int kUnroll, FAULT kFault>
__global__ void scale(const T* x, T* y, mg::i64 n) {
  if (kFault == FAULT::writes_nothing) return;
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  const mg::i64 first = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x;
  if (kFault == FAULT::traps && first == 0) __trap();
  if (kFault == FAULT::never_ends && first == 0) {
    const volatile T* const gate = x;
    while (gate[0] == gate[0]) {
    }
  }
  for (mg::i64 start = first; start < n; start += threads * kUnroll) {
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) {
      const mg::i64 i = start + k * threads;
      if (i >= n) break;
      T value = T(2) * x[i];
      if (kFault == FAULT::reads_far && i == 0) value += x[-(mg::i64{1} << 44)];
      if (kFault == FAULT::writes_nan && i == n / 2) value = (value - value) / (value - value);
      y[i] = value;
    }
  }
}
