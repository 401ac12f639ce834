// The kernels that bring the elements of a tensor into another layout, for the inputs and the
// references of a check.
//
//   place_elements     puts contiguous elements at their places in a strided image
//   convert_elements   takes the elements of a strided image, as contiguous numbers of another type
//
// Algorithm  One thread per element: it finds the place of the element from its number in row-major
//            order, and copies it. Threads stride over the grid. `axes` has `rank` extents and then
//            as many strides, which count elements.
// Traffic    It reads and writes every element once.
// Numerics   place_elements moves bits. convert_elements is exact for all but huge integers, which
//            it rounds to the nearest number of the type.

#include <mg/types.cuh>
#include <mg/vec.cuh>

__device__ inline mg::i64 place_of(mg::i64 element, const long long* axes, mg::i64 rank) {
  mg::i64 place = 0;
  for (mg::i64 axis = rank - 1; axis >= 0; --axis) {
    place += element % axes[axis] * axes[rank + axis];
    element /= axes[axis];
  }
  return place;
}

// Calls visit(element) for this thread's elements.
template <class Visit>
__device__ void for_each_own(mg::i64 count, const Visit& visit) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
    visit(i);
  }
}

// `Word` is an integer of the size of an element.
template <typename Word>
__global__ void place_elements(Word* image, const Word* elements, const long long* axes,
                               long long rank, long long count) {
  for_each_own(count, [&](mg::i64 i) { image[place_of(i, axes, rank)] = elements[i]; });
}

template <typename To, typename From>
__device__ To converted(From value) {
  return static_cast<To>(value);
}
template <typename To>
__device__ To converted(__half value) {
  return static_cast<To>(mg::to_float(value));
}
template <typename To>
__device__ To converted(__nv_bfloat16 value) {
  return static_cast<To>(mg::to_float(value));
}

template <typename To, typename From>
__global__ void convert_elements(To* elements, const From* image, const long long* axes,
                                 long long rank, long long count) {
  for_each_own(count,
               [&](mg::i64 i) { elements[i] = converted<To>(image[place_of(i, axes, rank)]); });
}
