// z[i] = x[i] + y[i]
//
// Algorithm  Each thread adds VEC neighbouring elements.
// Traffic    Reads 2 * n elements of T, writes n.
// Work       n flops.
// Tunables   THREADS  threads per block
//            VEC      elements per thread. They are loaded by one instruction of VEC * sizeof(T)
//                     bytes. More elements mean fewer instructions, but also fewer threads.
// Numerics   The sum is formed in float and rounded once.

#include <mg/types.cuh>  // integers of fixed width, such as mg::i64
#include <mg/vec.cuh>    // mg::load and mg::store: several elements by one instruction

// The key "kernel" of add.json names the template arguments: add<T, THREADS, VEC>. mgtune compiles
// this file once for each variant, for example with add<float, 256, 4>.
// __launch_bounds__ tells the compiler how large a block is, so that enough registers are there.
template <class T, int kThreads, int kVec>
__global__ void __launch_bounds__(kThreads)
    // The parameters come in the order of the key "args". "n:i64" is passed as an mg::i64.
    add(const T* x, const T* y, T* z, mg::i64 n) {
  // The first of the kVec elements of this thread. The product needs 64 bits for a large n.
  const mg::i64 i = (mg::i64{blockIdx.x} * kThreads + threadIdx.x) * kVec;
  // The last block may have more threads than elements. The constraint "n % VEC == 0" says that a
  // thread has either all of its elements or none.
  if (i >= n) return;
  // The pointers are aligned to VEC * sizeof(T) bytes, because the key "align" demands it.
  const mg::Vec<T, kVec> a = mg::load<kVec>(x + i);
  const mg::Vec<T, kVec> b = mg::load<kVec>(y + i);
  mg::Vec<T, kVec> sum;
#pragma unroll
  for (int j = 0; j < kVec; ++j) {
    // Arithmetic is done in float, because a bf16 keeps only 8 bits.
    sum.data[j] = mg::from_float<T>(mg::to_float(a.data[j]) + mg::to_float(b.data[j]));
  }
  mg::store<kVec>(z + i, sum);
}
