// What references of matrix products share: the rows that the check compares, and an exact dot
// product.
//
//   mg::for_each_sampled_element(rows, columns, visit);   visit(row, column), spread over the grid
//   mg::exact_dot(a, b, length)                           in fp64, of consecutive elements
//
// An fp64 product of whole matrices takes too long. The operator files of these references say
// `"sample_rows": 61`, and the reference computes the same 61 rows as the check (tuner/check). 60
// intervals are no power of two, so the rows lie at different places of the tiles.

#pragma once

#include <mg/convert.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

namespace mg {

inline constexpr i64 kSampledRows = 61;

template <class Visit>
__device__ void for_each_sampled_element(i64 rows, i64 columns, const Visit& visit) {
  const i64 samples = rows < kSampledRows ? rows : kSampledRows;
  const i64 threads = i64{gridDim.x} * blockDim.x;
  for (i64 i = i64{blockIdx.x} * blockDim.x + threadIdx.x; i < samples * columns; i += threads) {
    const i64 sample = i / columns;
    const i64 row = samples == rows ? sample : sample * (rows - 1) / (kSampledRows - 1);
    visit(row, i % columns);
  }
}

// `length` is a multiple of 8, and a and b are aligned to 16 bytes. Eight sums are independent, so
// that a thread need not wait for each addition.
template <class T>
__device__ double exact_dot(const T* a, const T* b, i64 length) {
  double sums[8] = {};
  for (i64 i = 0; i < length; i += 8) {
    float from_a[8], from_b[8];
    to_floats(load<8>(a + i), from_a);
    to_floats(load<8>(b + i), from_b);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      sums[j] += static_cast<double>(from_a[j]) * static_cast<double>(from_b[j]);
    }
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace mg
