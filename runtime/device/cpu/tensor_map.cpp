#include "tensor_map.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "core/dtype.h"
#include "mgcpu/tensor_map.h"

namespace mgtune {
namespace {

constexpr std::uint64_t kMaxExtent = std::uint64_t{1} << 32, kMaxStride = std::uint64_t{1} << 40;
constexpr std::uint32_t kMaxBox = 256, kUnit = 16;  // bytes
constexpr std::array<std::uint32_t, 4> kSwizzleBytes = {0, 32, 64, 128};

Status tensor_map_refused(std::string why) {
  return invalid_argument("the copy engine cannot serve this tensor map: " + std::move(why));
}

}  // namespace

Status encode_cpu_tensor_map(const TensorMapRequest& request, EncodedTensorMap& map) {
  mgcpu::TensorMap out{};
  out.memory = static_cast<const unsigned char*>(request.memory);
  out.rank = request.rank;
  out.element_bytes = static_cast<std::uint32_t>(size_in_bytes(request.dtype));
  out.swizzle_bytes = kSwizzleBytes.at(static_cast<std::size_t>(request.swizzle));
  if (request.rank < 1 || request.rank > kMaxTensorMapRank) {
    return tensor_map_refused(fmt::format("it has {} dimensions", request.rank));
  }
  if (reinterpret_cast<std::uintptr_t>(request.memory) % kUnit != 0) {
    return tensor_map_refused("the tensor does not begin at a multiple of 16 bytes");
  }
  for (std::uint32_t i = 0; i < request.rank; ++i) {
    out.extent[i] = request.extent[i];
    out.box[i] = request.box[i];
    if (request.extent[i] == 0 || request.extent[i] > kMaxExtent) {
      return tensor_map_refused(fmt::format("dimension {} has {} elements", i, request.extent[i]));
    }
    if (request.box[i] == 0 || request.box[i] > kMaxBox) {
      return tensor_map_refused(
          fmt::format("the box has {} elements in dimension {}; 1 to {} are possible",
                      request.box[i], i, kMaxBox));
    }
    if (i == 0) continue;
    out.stride_bytes[i - 1] = request.stride_bytes[i - 1];
    if (request.stride_bytes[i - 1] % kUnit != 0 || request.stride_bytes[i - 1] >= kMaxStride) {
      return tensor_map_refused(
          fmt::format("the stride of dimension {} is {} bytes, not a multiple of 16 "
                      "below 2^40",
                      i, request.stride_bytes[i - 1]));
    }
  }
  const std::uint32_t row_bytes = request.box[0] * out.element_bytes;
  if (row_bytes % kUnit != 0) {
    return tensor_map_refused(
        fmt::format("a row of the box has {} bytes, not a multiple of 16", row_bytes));
  }
  if (out.swizzle_bytes != 0 && row_bytes > out.swizzle_bytes) {
    return tensor_map_refused(
        fmt::format("a row of the box has {} bytes, more than the swizzle of {}", row_bytes,
                    out.swizzle_bytes));
  }
  std::memcpy(map.bytes.data(), &out, sizeof(out));
  return {};
}

}  // namespace mgtune
