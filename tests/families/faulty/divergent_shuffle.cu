// faulty.divergent_shuffle — y[i] = x of the thread whose number differs in the lowest bit
//
// The fault: only half of each warp reaches the shuffle, and its mask names all of it.

#include <mg/types.cuh>

template <class T, int kThreads>
__global__ void divergent_shuffle(const T* x, T* y, mg::i64 n) {
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  T value = x[i];
  if (threadIdx.x % 32 < 16) value = __shfl_xor_sync(0xffffffffu, value, 1);
  __syncthreads();
  y[i] = value;
}
