// elements.copy: the same values in another dtype, or in the same one.
//
//   y[i] = x[i]
//
// The plain version:
//
//   __global__ void copy(const X* x, Y* y, int count) {
//     int i = blockIdx.x * blockDim.x + threadIdx.x;
//     if (i < count) y[i] = x[i];
//   }
//
// Algorithm  The plain version with VEC elements per thread.
// Traffic    reads count elements of X and writes as many of Y
// Work       a conversion per element
// Tunables   THREADS    More threads make fewer blocks.
//            VEC        The elements of a thread, in accesses of at most 16 bytes.
//            PDL        The grid starts while the previous grid ends.
// Numerics   A value is rounded once, to the nearest one of Y.

#include <mg/convert.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

template <class X, class Y, int kThreads, int kVec, bool kPdl>
__global__ void __launch_bounds__(kThreads) elements_copy(const X* x, Y* y, mg::i64 count) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  const mg::i64 i = (mg::i64{blockIdx.x} * kThreads + threadIdx.x) * kVec;
  if (i >= count) return;
  float values[kVec];
  mg::to_floats(mg::load<kVec>(x + i), values);
  mg::store<kVec>(y + i, mg::from_floats<Y>(values));
}
