// The inputs of a product y = x w^T, as the kernels of several families take them: w has the layout
// of PyTorch's Linear. kWeights matrices of the same shape may be multiplied by the same x, as gate
// and up are.
//
//   x      m x k, rows x_stride elements apart
//   w[i]   n x k, rows w_stride[i] elements apart
//
// n, k and the strides are multiples of 8, and the pointers are aligned to 16 bytes. So each row
// consists of whole pieces of 16 bytes.
//
// Every main loop over these inputs ends with `epilogue(row, column, values)`, once for each run of
// 8 columns: values[i][j] is the sum of x[row] * w[i][column + j] in fp32, for row < m and
// column + 7 < n. `column` is a multiple of 8.

#pragma once

#include <mg/types.cuh>

namespace mg {

template <class T_, int kWeights_>
struct GemmInputs {
  using T = T_;
  static constexpr int kWeights = kWeights_;
  const T* x;
  const T* w[kWeights];
  i64 x_stride, w_stride[kWeights];
  int m, n, k;
};

}  // namespace mg
