// ElementMover: copies elements of tensors into another layout or dtype, on the device. It has the
// kernels for the tensors of one problem. Not thread-safe; the device and the layouts must outlive
// it.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "build/builder.h"
#include "core/dtype.h"
#include "core/status.h"
#include "device/device.h"
#include "tensors/tensor_layout.h"

namespace mgtune {

// The threads per block, and the blocks, of kernels with grid-stride loops. The blocks are enough
// to fill a GPU. On the cpu device more blocks would only cost time.
inline constexpr std::uint32_t kStridingThreads = 128;
std::uint32_t striding_blocks(const DeviceInfo& device);

class ElementMover {
 public:
  // Builds the kernels that place() needs for inputs with gaps between their elements, and those
  // that convert() needs: to `reference_type` for inout tensors, and from `reference_type` to
  // doubles for outputs.
  static Result<ElementMover> make(Device& device, Builder& builder,
                                   const std::vector<TensorLayout>& layouts, DType reference_type);

  // Puts contiguous elements at their places. The padding between them is poisoned. `image` has
  // layout.bytes() bytes. Waits for the device, so `elements` may be freed.
  Status place(const TensorLayout& layout, void* image, const void* elements) const;

  // The elements of `image` as contiguous numbers of the dtype `to`, f64 or f32. Waits for the
  // device too.
  Status convert(const TensorLayout& layout, void* elements, DType to, const void* image) const;

 private:
  explicit ElementMover(Device& device) : device_(&device) {}
  Status launch(const std::string& kernel, const TensorLayout& layout, void* to,
                const void* from) const;

  Device* device_;
  std::unique_ptr<Module> module_;  // null if no kernel is needed
};

}  // namespace mgtune
