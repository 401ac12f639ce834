// Where the vectors of a matrix lie when they are counted row by row and cut into tiles that care
// nothing for rows. Made for a tile that begins at vector `start`; then
//
//   tile.offset<kVec>(ahead, stride)     the first element of vector start + ahead, in a tensor
//   whose
//                                        rows are `stride` elements apart
//
//   OneRun       no gaps between rows: the stride plays no part
//   WideRows     a row has at least as many vectors as a tile, which so meets two rows at most
//   NarrowRows   any
//
// `columns` is the vectors of a row, at most 2^18, and `reciprocal` 2^62 / columns rounded up,
// computed once, before the launch: "ceil_div(4611686018427387904, columns):u64" in an operator
// file. WideRows multiplies by it once a tile, NarrowRows once a vector.
//
// Why that is exact: the reciprocal is too large by less than 1, so n * reciprocal / 2^62 is above
// n / columns by less than n / 2^62, which for n < 2^44 is too little to reach the next row.

#pragma once

#include <mg/types.cuh>

namespace mg {

// vector / columns; vector is below 2^44.
__device__ __forceinline__ u64 row_of(u64 vector, u64 reciprocal) {
#if defined(MGTUNE_CPU_DEVICE)
  __extension__ using Product = unsigned __int128;
  return static_cast<u64>(Product{vector} * reciprocal >> 62);
#else
  return __umul64hi(4 * vector, reciprocal);
#endif
}

class OneRun {
 public:
  __device__ __forceinline__ explicit OneRun(i64 start) : start_(start) {}

  template <int kVec>
  __device__ __forceinline__ i64 offset(u32 ahead, i64 /*stride*/) const {
    return (start_ + ahead) * kVec;
  }

 private:
  i64 start_;
};

class WideRows {
 public:
  __device__ __forceinline__ WideRows(i64 start, u32 columns, u64 reciprocal)
      : row_(row_of(start, reciprocal)),
        column_(static_cast<u32>(start - row_ * columns)),
        columns_(columns) {}

  template <int kVec>
  __device__ __forceinline__ i64 offset(u32 ahead, i64 stride) const {
    const i64 first = row_ * stride + i64{column_} * kVec;
    const i64 gap = stride - i64{columns_} * kVec;
    return first + i64{ahead} * kVec + (column_ + ahead < columns_ ? 0 : gap);
  }

 private:
  i64 row_;
  u32 column_, columns_;
};

class NarrowRows {
 public:
  __device__ __forceinline__ NarrowRows(i64 start, u32 columns, u64 reciprocal)
      : start_(start), columns_(columns), reciprocal_(reciprocal) {}

  template <int kVec>
  __device__ __forceinline__ i64 offset(u32 ahead, i64 stride) const {
    const i64 vector = start_ + ahead;
    const i64 row = row_of(vector, reciprocal_);
    return row * stride + (vector - row * columns_) * kVec;
  }

 private:
  i64 start_;
  u32 columns_;
  u64 reciprocal_;
};

}  // namespace mg
