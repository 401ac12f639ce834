// Where the vectors of a matrix lie if they are counted row by row and cut into tiles without
// regard to rows. A tile begins at vector `start`; for it:
//
//   tile.offset<kVec>(ahead, stride)     the first element of vector start + ahead, in a tensor
//                                        whose rows are `stride` elements apart
//
//   OneRun       There are no gaps between rows; the stride is ignored.
//   WideRows     A row has at least as many vectors as a tile, so a tile meets at most two rows.
//   NarrowRows   Any rows.
//
// `columns` is the number of vectors in a row, at most 2^18. `reciprocal` is 2^62 / columns,
// rounded up. It is computed once, before the launch: "ceil_div(4611686018427387904, columns):u64"
// in an operator file. WideRows multiplies by it once per tile, NarrowRows once per vector.
//
// Why the division is exact: the reciprocal is too large by less than 1. So n * reciprocal / 2^62
// exceeds n / columns by less than n / 2^62. For n < 2^44 this is too little to reach the next row.

#pragma once

#include <mg/types.cuh>

namespace mg {

// Returns vector / columns. `vector` must be below 2^44.
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
