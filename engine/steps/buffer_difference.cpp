#include "steps/buffer_difference.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace mgtune::engine {

double relative_error(DType dtype, std::span<const std::byte> before,
                      std::span<const std::byte> result, std::span<const std::byte> reference) {
  const auto element = static_cast<std::size_t>(size_in_bytes(dtype));
  double of_difference = 0;
  double of_reference = 0;
  for (std::size_t at = 0; at + element <= reference.size(); at += element) {
    const auto changed = [&](std::span<const std::byte> bytes) {
      return std::memcmp(bytes.data() + at, before.data() + at, element) != 0;
    };
    if (!changed(result) && !changed(reference)) continue;
    const double got = element_as_double(result.data() + at, 0, dtype);
    const double wanted = element_as_double(reference.data() + at, 0, dtype);
    if (!std::isfinite(got) || !std::isfinite(wanted)) {
      if (got == wanted || (std::isnan(got) && std::isnan(wanted))) continue;
      return std::numeric_limits<double>::infinity();
    }
    of_difference += (got - wanted) * (got - wanted);
    of_reference += wanted * wanted;
  }
  if (of_difference == 0) return 0;
  return std::sqrt(of_difference / of_reference);
}

double acceptable_error(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 1e-5;
    case DType::f16:
      return 1e-3;
    case DType::bf16:
      return 8e-3;
    default:
      return 0;
  }
}

}  // namespace mgtune::engine
