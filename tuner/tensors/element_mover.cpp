#include "tensors/element_mover.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "device/build_module.h"
#include "family/source_tree.h"
#include "tensors/problem_tensors.h"

namespace mgtune {
namespace {

constexpr std::uint32_t kBlocksOnCpu = 64;
constexpr std::uint32_t kBlocksPerSm = 16;  // 2048 threads, the most that an SM can have

std::string place_name(DType dtype) {
  constexpr std::array kWords{"unsigned char", "unsigned short", "unsigned int",
                              "unsigned long long"};
  std::size_t word = 0;
  while ((std::int64_t{1} << word) < size_in_bytes(dtype)) ++word;
  return fmt::format("place_elements<{}>", kWords[word]);
}

std::string convert_name(DType to, DType from) {
  return fmt::format("convert_elements<{}, {}>", cuda_name(to), cuda_name(from));
}

}  // namespace

std::uint32_t striding_blocks(const DeviceInfo& device) {
  if (device.kind == DeviceKind::cpu) return kBlocksOnCpu;
  const std::int64_t sms = std::max<std::int64_t>(1, device.limits.sm_count);
  return static_cast<std::uint32_t>(sms) * kBlocksPerSm;
}

Result<ElementMover> ElementMover::make(Device& device, Builder& builder,
                                        const std::vector<TensorLayout>& layouts,
                                        DType reference_type) {
  std::set<std::string> names;
  for (const TensorLayout& layout : layouts) {
    if (!layout.present) continue;
    if (layout.role != Role::out && !layout.is_contiguous()) names.insert(place_name(layout.dtype));
    if (layout.role == Role::inout) names.insert(convert_name(reference_type, layout.dtype));
    if (layout.is_output() && reference_type != DType::f64) {
      names.insert(convert_name(DType::f64, reference_type));
    }
  }
  ElementMover mover(device);
  if (names.empty()) return mover;
  MGTUNE_ASSIGN(mover.module_, build_module(device, builder, embedded_source_tree("kernels/common"),
                                            "elements.cu", {names.begin(), names.end()}));
  return mover;
}

Status ElementMover::place(const TensorLayout& layout, void* image, const void* elements) const {
  MGTUNE_TRY(device_->fill_bytes(image, poison_byte(layout.dtype), layout.bytes(), nullptr));
  return launch(place_name(layout.dtype), layout, image, elements);
}

Status ElementMover::convert(const TensorLayout& layout, void* elements, DType to,
                             const void* image) const {
  return launch(convert_name(to, layout.dtype), layout, elements, image);
}

Status ElementMover::launch(const std::string& kernel, const TensorLayout& layout, void* to,
                            const void* from) const {
  if (layout.count == 0) return {};
  if (module_ == nullptr) return internal_error("there is no kernel " + kernel);
  MGTUNE_ASSIGN(const Kernel* const loaded, module_->kernel(kernel));
  std::vector<std::int64_t> axes = layout.shape;
  axes.insert(axes.end(), layout.strides.begin(), layout.strides.end());
  const std::size_t bytes = axes.size() * sizeof(std::int64_t);
  MGTUNE_ASSIGN(const Buffer table, Buffer::allocate(*device_, std::max<std::size_t>(bytes, 1)));
  if (bytes > 0) MGTUNE_TRY(device_->copy_to_device(table.data(), axes.data(), bytes));
  void* memory = table.data();
  auto rank = static_cast<std::int64_t>(layout.shape.size());
  std::int64_t count = layout.count;
  std::array<void*, 5> args{&to, &from, &memory, &rank, &count};
  MGTUNE_TRY(device_->launch({.kernel = loaded,
                              .grid = {striding_blocks(device_->info()), 1, 1},
                              .block = {kStridingThreads, 1, 1},
                              .args = args.data()}));
  return device_->synchronize(nullptr);
}

}  // namespace mgtune
