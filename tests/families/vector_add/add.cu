// vector_add.add — z[i] = x[i] + y[i]
//
// Algorithm  one thread per element.
// Traffic    reads 2 * n elements of T, writes n.
// Work       n flops.
// Tunables   THREADS  threads per block
//            MODE     good; wrong: the last element of every block's range is off by one part in a
//                     thousand; broken: a static_assert that fails
// Numerics   one rounding.

#include <mg/types.cuh>

enum class MODE { good, wrong, broken };

template <class T, int kThreads, MODE kMode>
__global__ void vector_add(const T* x, const T* y, T* z, mg::i64 n) {
  static_assert(kMode != MODE::broken, "this variant is broken on purpose");
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= n) return;
  T sum = x[i] + y[i];
  if (kMode == MODE::wrong && threadIdx.x == kThreads - 1) sum = sum * T(1.001f);
  z[i] = sum;
}
