// Conversions of whole rows between the floating dtypes of buffers and float. They round to nearest
// even. The memory may have any alignment. Pure functions.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/dtype.h"

namespace mgtune::engine {

// Whether a buffer of this dtype can hold weights and activations: f32, f16 or bf16.
bool is_element_dtype(DType dtype);

// The dtype must be an element dtype, and `from` must have to.size() elements.
void load_floats(DType dtype, const void* from, std::span<float> to);
std::vector<float> load_floats(DType dtype, const void* from, std::size_t count);

// Rounds to the dtype. `to` must have room for all numbers.
void store_floats(DType dtype, std::span<const float> from, void* to);

}  // namespace mgtune::engine
