#include "weights/tensor_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>

namespace mgtune::engine {

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

const std::string& TensorSet::file_of(const TensorView& tensor) const {
  const std::less_equal<> not_after;
  for (const MappedFile& file : files) {
    const char* const begin = file.bytes().data();
    const char* const end = begin + file.bytes().size();
    if (not_after(begin, tensor.bytes.data()) &&
        not_after(tensor.bytes.data() + tensor.bytes.size(), end)) {
      return file.path();
    }
  }
  return path;
}

}  // namespace mgtune::engine
