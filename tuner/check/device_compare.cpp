#include "check/device_compare.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "core/dtype.h"
#include "device/build_module.h"
#include "family/source_tree.h"

namespace mgtune {
namespace {

// These must be the same as in kernels/common/compare.cu.
constexpr std::uint32_t kCompareThreads = 256;
struct BlockDifferences {
  double squared_difference, squared_reference, worst;
  std::int64_t compared, finiteness;
};
static_assert(sizeof(BlockDifferences) == 40);

static_assert(sizeof(GuardedBuffer::Band) == 24);

constexpr std::uint32_t kCompareBlocks = 512;

std::string kernel_name(DType dtype) {
  return "compare_with_reference<" + std::string(cuda_name(dtype)) + ">";
}

constexpr std::size_t kNumberBytes = kCompareBlocks * sizeof(std::uint64_t);
constexpr std::size_t kDifferenceBytes = kCompareBlocks * sizeof(BlockDifferences);

DifferenceSums sum_of(std::span<const BlockDifferences> blocks) {
  DifferenceSums sums;
  for (const BlockDifferences& block : blocks) {
    sums.squared_difference += block.squared_difference;
    sums.squared_reference += block.squared_reference;
    sums.worst = std::max(sums.worst, block.worst);
    sums.compared += block.compared;
    sums.finiteness += block.finiteness;
  }
  return sums;
}

}  // namespace

Result<DeviceCompare> DeviceCompare::make(Device& device, Builder& builder,
                                          const std::vector<TensorLayout>& layouts, bool doubles) {
  DeviceCompare compare(device);
  if (doubles) compare.compare_[DType::f64] = nullptr;
  for (const TensorLayout& layout : layouts) {
    if (layout.present && layout.is_output()) compare.compare_[layout.dtype] = nullptr;
  }
  std::vector<std::string> names{"fingerprint", "changed_bands"};
  for (const auto& [dtype, kernel] : compare.compare_) names.push_back(kernel_name(dtype));
  MGTUNE_ASSIGN(compare.module_,
                build_module(device, builder, embedded_source_tree("kernels/common"), "compare.cu",
                             std::move(names)));
  MGTUNE_ASSIGN(compare.fingerprint_, compare.module_->kernel("fingerprint"));
  MGTUNE_ASSIGN(compare.changed_bands_, compare.module_->kernel("changed_bands"));
  for (auto& [dtype, kernel] : compare.compare_) {
    MGTUNE_ASSIGN(kernel, compare.module_->kernel(kernel_name(dtype)));
  }
  compare.most_differences_ = compare.most_numbers_ = 2 * (layouts.size() + 1);
  MGTUNE_ASSIGN(compare.blocks_,
                Buffer::allocate(device, compare.most_numbers_ * kNumberBytes +
                                             compare.most_differences_ * kDifferenceBytes));
  return compare;
}

Result<DeviceCompare::Bands> DeviceCompare::upload(
    std::span<const GuardedBuffer::Band> bands) const {
  Bands uploaded{.table = {}, .count = static_cast<std::int64_t>(bands.size())};
  MGTUNE_ASSIGN(uploaded.table, Buffer::allocate(*device_, bands.size_bytes()));
  if (bands.empty()) return uploaded;
  MGTUNE_TRY(device_->copy_to_device(uploaded.table.data(), bands.data(), bands.size_bytes()));
  return uploaded;
}

Status DeviceCompare::launch(const Kernel* kernel, std::vector<void*> args) const {
  return device_->launch({.kernel = kernel,
                          .grid = {kCompareBlocks, 1, 1},
                          .block = {kCompareThreads, 1, 1},
                          .args = args.data()});
}

Status DeviceCompare::has_room(std::size_t asked, std::size_t most) const {
  return asked < most ? Status() : internal_error("more questions than there is room for");
}

void* DeviceCompare::next_number() {
  return static_cast<unsigned char*>(blocks_.data()) + numbers_++ * kNumberBytes;
}

Status DeviceCompare::ask_differences(const TensorLayout& layout, const void* output,
                                      const void* reference, std::int64_t sample_rows) {
  MGTUNE_TRY(has_room(differences_, most_differences_));
  void* blocks = static_cast<unsigned char*>(blocks_.data()) + most_numbers_ * kNumberBytes +
                 differences_++ * kDifferenceBytes;
  if (layout.count == 0) return device_->fill_bytes(blocks, 0, kDifferenceBytes, nullptr);
  std::int64_t rows = layout.shape.empty() ? 1 : layout.shape.front();
  std::int64_t columns = layout.count / rows;
  std::int64_t samples = sample_rows > 0 ? std::min(sample_rows, rows) : rows;
  return launch(compare_.at(layout.dtype),
                {&blocks, &output, &reference, &rows, &columns, &samples});
}

Status DeviceCompare::ask_fingerprint(const void* memory, std::size_t bytes) {
  MGTUNE_TRY(has_room(numbers_, most_numbers_));
  void* blocks = next_number();
  auto words = static_cast<std::int64_t>(bytes / sizeof(std::uint64_t));
  auto tail = static_cast<std::int64_t>(bytes % sizeof(std::uint64_t));
  return launch(fingerprint_, {&blocks, &memory, &words, &tail});
}

Status DeviceCompare::ask_changes(const Bands& bands) {
  MGTUNE_TRY(has_room(numbers_, most_numbers_));
  void* blocks = next_number();
  void* table = bands.table.data();
  std::int64_t count = bands.count;
  return launch(changed_bands_, {&blocks, &table, &count});
}

Result<DeviceCompare::Answers> DeviceCompare::read() {
  MGTUNE_TRY(device_->synchronize(nullptr));
  Answers answers;
  std::vector<std::uint64_t> numbers(numbers_ * kCompareBlocks);
  if (!numbers.empty()) {
    MGTUNE_TRY(device_->copy_to_host(numbers.data(), blocks_.data(), numbers_ * kNumberBytes));
  }
  for (auto at = numbers.begin(); at != numbers.end(); at += kCompareBlocks) {
    answers.numbers.push_back(std::accumulate(at, at + kCompareBlocks, std::uint64_t{0}));
  }
  std::vector<BlockDifferences> differences(differences_ * kCompareBlocks);
  if (!differences.empty()) {
    const auto* const first =
        static_cast<const unsigned char*>(blocks_.data()) + most_numbers_ * kNumberBytes;
    MGTUNE_TRY(device_->copy_to_host(differences.data(), first, differences_ * kDifferenceBytes));
  }
  for (std::size_t i = 0; i < differences_; ++i) {
    answers.differences.push_back(
        sum_of(std::span(differences).subspan(i * kCompareBlocks, kCompareBlocks)));
  }
  forget();
  return answers;
}

Result<DifferenceSums> DeviceCompare::compare(const TensorLayout& layout, const void* output,
                                              const void* reference, std::int64_t sample_rows) {
  forget();
  MGTUNE_TRY(ask_differences(layout, output, reference, sample_rows));
  MGTUNE_ASSIGN(const Answers answers, read());
  return answers.differences.front();
}

Result<std::uint64_t> DeviceCompare::fingerprint(const void* memory, std::size_t bytes) {
  forget();
  MGTUNE_TRY(ask_fingerprint(memory, bytes));
  MGTUNE_ASSIGN(const Answers answers, read());
  return answers.numbers.front();
}

}  // namespace mgtune
