// TensorLayout: where the elements of one tensor of a problem are in its memory. Plain data.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/status.h"
#include "family/operator.h"
#include "family/problem.h"

namespace mgtune {

struct TensorLayout {
  std::string name;
  Role role = Role::in;
  DType dtype = DType::f32;
  bool present = true;                       // absent tensors are null at launch, without elements
  std::vector<std::int64_t> shape, strides;  // strides in elements
  std::int64_t count = 0;                    // elements in the shape
  std::int64_t span = 0;   // elements of memory from the first to the last, padding included
  std::int64_t align = 1;  // bytes that every caller guarantees

  bool is_output() const { return role != Role::in; }
  bool is_contiguous() const;  // in row-major order, without padding
  std::size_t bytes() const { return static_cast<std::size_t>(span * size_in_bytes(dtype)); }
};

// The layouts of all tensors of the operator, in declared order. invalid_argument for a negative
// extent or stride, and for a tensor larger than 2^62 bytes.
Result<std::vector<TensorLayout>> tensor_layouts(const Problem& problem);

// "y[3, 17]" for the element with this number in row-major order.
std::string element_name(const TensorLayout& layout, std::int64_t element);

// Calls visit(element, offset) for every element in row-major order; both count elements.
template <typename Visit>
void for_each_element(const TensorLayout& layout, Visit visit) {
  std::vector<std::int64_t> position(layout.shape.size(), 0);
  std::int64_t offset = 0;
  for (std::int64_t element = 0; element < layout.count; ++element) {
    visit(element, offset);
    for (std::size_t axis = position.size(); axis-- > 0;) {
      offset += layout.strides[axis];
      if (++position[axis] < layout.shape[axis]) break;
      offset -= layout.shape[axis] * layout.strides[axis];
      position[axis] = 0;
    }
  }
}

}  // namespace mgtune
