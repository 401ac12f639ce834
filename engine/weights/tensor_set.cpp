#include "weights/tensor_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mgtune::engine {

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace mgtune::engine
