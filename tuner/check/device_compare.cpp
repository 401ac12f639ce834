#include "check/device_compare.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "core/dtype.h"
#include "device/build_module.h"
#include "family/source_tree.h"

namespace mgtune {
namespace {

// As kernels/common/compare.cu has them.
constexpr std::uint32_t kCompareThreads = 256;
struct BlockDifferences {
  double squared_difference, squared_reference, worst;
  std::int64_t compared, finiteness;
};
static_assert(sizeof(BlockDifferences) == 40);

constexpr std::uint32_t kCompareBlocks = 512;

std::string kernel_name(DType dtype) {
  return "compare_with_reference<" + std::string(cuda_name(dtype)) + ">";
}

std::uint64_t hash_of_tail(const unsigned char* bytes, std::size_t count) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3U;
  return count == 0 ? 0 : hash;
}

}  // namespace

Result<DeviceCompare> DeviceCompare::make(Device& device, Builder& builder,
                                          const std::vector<TensorLayout>& layouts, bool doubles) {
  DeviceCompare compare(device);
  if (doubles) compare.compare_[DType::f64] = nullptr;
  for (const TensorLayout& layout : layouts) {
    if (layout.present && layout.is_output()) compare.compare_[layout.dtype] = nullptr;
  }
  std::vector<std::string> names{"fingerprint"};
  for (const auto& [dtype, kernel] : compare.compare_) names.push_back(kernel_name(dtype));
  MGTUNE_ASSIGN(compare.module_,
                build_module(device, builder, embedded_source_tree("kernels/common"), "compare.cu",
                             std::move(names)));
  MGTUNE_ASSIGN(compare.fingerprint_, compare.module_->kernel("fingerprint"));
  for (auto& [dtype, kernel] : compare.compare_) {
    MGTUNE_ASSIGN(kernel, compare.module_->kernel(kernel_name(dtype)));
  }
  MGTUNE_ASSIGN(compare.blocks_,
                Buffer::allocate(device, kCompareBlocks * sizeof(BlockDifferences)));
  return compare;
}

Status DeviceCompare::launch(const Kernel* kernel, std::vector<void*> args) const {
  MGTUNE_TRY(device_->launch({.kernel = kernel,
                              .grid = {kCompareBlocks, 1, 1},
                              .block = {kCompareThreads, 1, 1},
                              .args = args.data()}));
  return device_->synchronize(nullptr);
}

Result<DifferenceSums> DeviceCompare::compare(const TensorLayout& layout, const void* output,
                                              const void* reference,
                                              std::int64_t sample_rows) const {
  DifferenceSums sums;
  if (layout.count == 0) return sums;
  std::int64_t rows = layout.shape.empty() ? 1 : layout.shape.front();
  std::int64_t columns = layout.count / rows;
  std::int64_t samples = sample_rows > 0 ? std::min(sample_rows, rows) : rows;
  void* blocks = blocks_.data();
  MGTUNE_TRY(
      launch(compare_.at(layout.dtype), {&blocks, &output, &reference, &rows, &columns, &samples}));
  std::array<BlockDifferences, kCompareBlocks> found;
  MGTUNE_TRY(device_->copy_to_host(found.data(), blocks, sizeof found));
  for (const BlockDifferences& block : found) {
    sums.squared_difference += block.squared_difference;
    sums.squared_reference += block.squared_reference;
    sums.worst = std::max(sums.worst, block.worst);
    sums.compared += block.compared;
    sums.finiteness += block.finiteness;
  }
  return sums;
}

Result<std::uint64_t> DeviceCompare::fingerprint(const void* memory, std::size_t bytes) const {
  std::uint64_t sum = 0;
  auto words = static_cast<std::int64_t>(bytes / sizeof(std::uint64_t));
  if (words > 0) {
    void* blocks = blocks_.data();
    MGTUNE_TRY(launch(fingerprint_, {&blocks, &memory, &words}));
    std::array<std::uint64_t, kCompareBlocks> found;
    MGTUNE_TRY(device_->copy_to_host(found.data(), blocks, sizeof found));
    sum = std::accumulate(found.begin(), found.end(), std::uint64_t{0});
  }
  std::array<unsigned char, sizeof(std::uint64_t)> tail;
  const std::size_t left = bytes % tail.size();
  if (left > 0) {
    const auto* const start = static_cast<const unsigned char*>(memory) + (bytes - left);
    MGTUNE_TRY(device_->copy_to_host(tail.data(), start, left));
  }
  return sum + hash_of_tail(tail.data(), left);
}

}  // namespace mgtune
