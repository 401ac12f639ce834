#include "api/extent_check.h"

#include <fmt/format.h>

#include <vector>

namespace mgtune {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 48U;

// Bytes from the first element to the end of the last one, or kMaxBytes if there are more.
Result<std::int64_t> span_bytes(const Tensor& tensor, const Slots& slots) {
  const std::int64_t element_bytes = size_in_bytes(tensor.dtype.resolve(slots));
  std::int64_t last = 0;      // index of the last element
  std::int64_t elements = 1;  // of the dims so far, from the last one on
  bool fits = true;
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    MGTUNE_ASSIGN(const std::int64_t extent, tensor.shape[i].evaluate(slots));
    if (extent == 0) return 0;
    std::int64_t stride = elements;
    if (!tensor.strides.empty()) {
      MGTUNE_ASSIGN(stride, tensor.strides[i].evaluate(slots));
    }
    std::int64_t reach = 0;
    fits = fits && !__builtin_mul_overflow(extent - 1, stride, &reach) &&
           !__builtin_add_overflow(last, reach, &last) &&
           !__builtin_mul_overflow(elements, extent, &elements);
  }
  std::int64_t bytes = 0;
  fits = fits && !__builtin_mul_overflow(last, element_bytes, &bytes);
  return fits && bytes < kMaxBytes ? bytes + element_bytes : kMaxBytes;
}

}  // namespace

Status ExtentCheck::check_tensors(std::span<const std::int64_t> dims) const {
  Slots slots = binding_.slots;
  MGTUNE_TRY(dims_.resolve(dims, slots));
  for (const Tensor& tensor : binding_.op->tensors) {
    if (tensor.has_slot >= 0 && slots[std::size_t(tensor.has_slot)] == 0) continue;
    if (tensor.when) {
      const Result<std::int64_t> there = tensor.when->evaluate(slots);
      if (there.ok() && *there == 0) continue;
    }
    const Result<std::int64_t> bytes = span_bytes(tensor, slots);
    if (bytes.ok() && *bytes >= 0 && *bytes < kMaxBytes) continue;
    return invalid_argument(fmt::format("{} {}: tensor '{}' is larger than any memory",
                                        binding_.op->full_name(), dims_.text(slots), tensor.name));
  }
  return {};
}

}  // namespace mgtune
