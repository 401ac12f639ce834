// ArrayFile: an array that was read from a .npy file, or from one tensor of a .safetensors file.
//
// The files come from users, so nothing in them is trusted: a header that claims more than the file
// holds is refused, and so are shapes whose size overflows. Arrays lie in row-major order with the
// lowest byte first. The type of bf16 in a .npy file is '<V2', as ml_dtypes writes it. Plain data
// and pure functions, except for read_array_file().

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/status.h"
#include "family/operator.h"
#include "tensors/problem_tensors.h"
#include "tensors/tensor_layout.h"

namespace mgtune {

struct ArrayFile {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::string elements;  // the bytes

  std::int64_t count() const;  // of elements; 1 for an empty shape
};

// The whole content of a .npy file. invalid_argument if the content is not such a file, or if
// mgtune has no dtype for the array.
Result<ArrayFile> parse_npy(std::string_view content);
std::string npy_text(const ArrayFile& array);  // the inverse

// One tensor of a .safetensors file. Fails like parse_npy(), and with invalid_argument if the file
// has no such tensor; the message lists some that it has.
Result<ArrayFile> parse_safetensors(std::string_view content, const std::string& name);

// Reads the array that `source` names, in a file below `folder`. Messages name the file; not_found
// if the file is missing.
Result<ArrayFile> read_array_file(const std::string& folder, const ArraySource& source);

// The elements as the tensor holds them, without padding. Floating elements are rounded to the
// tensor's dtype. invalid_argument if the shape differs from the tensor's, or if integers have
// another dtype.
Result<Bytes> elements_for(const ArrayFile& array, const TensorLayout& layout);

// The elements as doubles. invalid_argument for another shape than the tensor's.
Result<std::vector<double>> doubles_for(const ArrayFile& array, const TensorLayout& layout);

}  // namespace mgtune
