// elements.zero: fills a tensor with zeros.
//
//   y[i] = 0
//
// The plain version is this kernel with one element per thread.
//
// Algorithm  A thread writes VEC elements.
// Traffic    writes count elements of Y
// Work       none
// Tunables   THREADS    More threads make fewer blocks.
//            VEC        The elements of a thread, in accesses of at most 16 bytes.
//            PDL        The grid starts while the previous grid ends.
// Numerics   exact

#include <mg/convert.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

template <class Y, int kThreads, int kVec, bool kPdl>
__global__ void __launch_bounds__(kThreads) elements_zero(Y* y, mg::i64 count) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  const mg::i64 i = (mg::i64{blockIdx.x} * kThreads + threadIdx.x) * kVec;
  if (i >= count) return;
  const float zeros[kVec] = {};
  mg::store<kVec>(y + i, mg::from_floats<Y>(zeros));
}
