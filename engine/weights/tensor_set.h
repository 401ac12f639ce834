// TensorSet: the tensors of a model's files by their names. It owns the mapped files. Immutable
// after it was opened: any number of threads may read.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/status.h"
#include "weights/mapped_file.h"

namespace mgtune::engine {

struct TensorView {
  DType dtype = DType::f32;
  std::vector<std::uint64_t> shape;
  std::string_view bytes;  // of a mapped file; at any alignment
};

using TensorMap = std::map<std::string, TensorView, std::less<>>;

// A checkpoint of a bare model has no prefix before the names of its tensors.
inline constexpr std::array<std::string_view, 3> kTensorPrefixes = {"", "model.", "transformer."};

struct TensorSet {
  std::string path;  // of the file, or of the index of several files, for messages
  std::vector<MappedFile> files;
  TensorMap tensors;

  const std::string& file_of(const TensorView& tensor) const;  // its path; `path` if none has it
};

// "[3, 4]"
std::string shape_text(const std::vector<std::uint64_t>& shape);

}  // namespace mgtune::engine
