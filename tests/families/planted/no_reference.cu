// planted.no_reference — y[i] = x[i]
//
// The fault: the operator file names a reference that reference.cu does not have.

#include <mg/types.cuh>

template <class T, int kThreads>
__global__ void no_reference(const T* x, T* y, mg::i64 n) {
  const mg::i64 i = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  y[i] = x[i];
}
