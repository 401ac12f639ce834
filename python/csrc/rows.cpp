#include "rows.h"

#include <stdexcept>

namespace mgtune::torch {
namespace {

// The distance of rows, or 0 if the tensor is no matrix of rows.
std::int64_t stride_of_rows(std::span<const std::int64_t> sizes,
                            std::span<const std::int64_t> strides) {
  const std::size_t last = sizes.size() - 1;
  if (sizes[last] > 1 && strides[last] != 1) return 0;
  std::int64_t stride = 0;  // of the innermost dim with more than one row
  std::int64_t next = 0;    // what the next outer dim's stride has to be
  for (std::size_t i = last; i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (stride == 0) {
      stride = strides[i];
      if (stride < sizes[last]) return 0;
    } else if (strides[i] != next) {
      return 0;
    }
    next = strides[i] * sizes[i];
  }
  return stride == 0 ? sizes[last] : stride;
}

Rows make_rows(const Tensor& tensor, bool is_contiguous_needed) {
  const std::span<const std::int64_t> sizes = tensor.sizes();
  if (sizes.empty()) throw std::invalid_argument("a tensor without dims has no rows");
  Rows rows;
  rows.length = sizes.back();
  rows.count = 1;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) rows.count *= sizes[i];
  rows.stride = rows.length;
  if (rows.count == 0 || rows.length == 0) return rows;
  const std::int64_t stride = stride_of_rows(sizes, tensor.strides());
  if (stride == 0 || (is_contiguous_needed && stride != rows.length)) {
    rows.copy = tensor.contiguous_copy();
    rows.data = rows.copy.data();
  } else {
    rows.stride = stride;
    rows.data = tensor.data();
  }
  return rows;
}

}  // namespace

Rows rows_of(const Tensor& tensor) { return make_rows(tensor, false); }

Rows contiguous_rows_of(const Tensor& tensor) { return make_rows(tensor, true); }

}  // namespace mgtune::torch
