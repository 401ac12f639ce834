// A tensor of any number of dims as a matrix: the last dim is the row, all other dims count rows.
#pragma once

#include <cstdint>

#include "tensor.h"

namespace mgtune::torch {

struct Rows {
  std::int64_t count = 0;
  std::int64_t length = 0;  // elements of a row
  std::int64_t stride = 0;  // elements from one row to the next; `length` if there is no other row
  void* data = nullptr;
  Tensor copy;  // where the rows are if the tensor itself is no such matrix

  bool is_contiguous() const { return stride == length; }
  // The value of a stride dim of a launch: -1 is its default.
  std::int64_t stride_dim() const { return is_contiguous() ? -1 : stride; }
};

// The rows of a tensor. A tensor whose rows do not lie at equal distances, or whose elements do not
// lie side by side, is copied first; so is a row that is repeated by expand(). Throws
// std::invalid_argument for a tensor without dims.
Rows rows_of(const Tensor& tensor);

// The same with rows that lie side by side.
Rows contiguous_rows_of(const Tensor& tensor);

}  // namespace mgtune::torch
