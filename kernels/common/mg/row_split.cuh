// Where the vectors of a matrix lie when they are counted row by row: blocks take runs of them
// whatever the width of a row, and each thread asks for its own.
//
//   const mg::RowSplit split(start, columns, reciprocal);   start: number of the run's first vector
//   const mg::Place at = split(ahead);                      of vector start + ahead
//
// `columns` is the vectors of a row, at most 2^18; `reciprocal` is 2^37 / columns rounded up,
// computed once, before the launch: "ceil_div(137438953472, columns):u64" in an operator file.
// `ahead` is below 2^18. One division a run, one multiplication a vector.
//
// Why that is exact: n = first column + ahead is below 2^19, and the reciprocal is too large by
// less than 1, so the product n * reciprocal is above n * 2^37 / columns by less than 2^19, which
// is at most 2^37 / columns: too little to reach the next row.

#pragma once

#include <mg/types.cuh>

namespace mg {

struct Place {
  i64 row, column;
};

class RowSplit {
 public:
  __device__ __forceinline__ RowSplit(i64 start, u32 columns, u64 reciprocal)
      : columns_(columns), reciprocal_(reciprocal) {
    const u64 row = static_cast<u64>(start) / columns;
    first_row_ = static_cast<i64>(row);
    first_column_ = static_cast<u32>(static_cast<u64>(start) - row * columns);
  }

  __device__ __forceinline__ Place operator()(u32 ahead) const {
    const u32 along = first_column_ + ahead;
    const u32 down = static_cast<u32>(along * reciprocal_ >> 37);
    return {first_row_ + down, i64{along - down * columns_}};
  }

 private:
  u32 columns_, first_column_;
  u64 reciprocal_;
  i64 first_row_;
};

}  // namespace mg
