// DeviceCompare: a check's questions about tensors, answered where the tensors lie. Copying them
// to the host and comparing there takes 2 s a variant for 2 x 134 MB; reading them on the GPU takes
// less than a millisecond. The host looks at the data only where something is not plainly right, to
// say what.
//
// Not thread-safe. The device outlives it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "build/builder.h"
#include "check/compare.h"
#include "tensors/tensor_layout.h"
#include "core/status.h"
#include "device/device.h"

namespace mgtune {

class DeviceCompare {
 public:
  // Builds the kernels that the outputs' dtypes need, and f64 where `doubles` are compared too.
  static Result<DeviceCompare> make(Device& device, Builder& builder,
                                    const std::vector<TensorLayout>& layouts, bool doubles = false);

  // Whether compare() serves such an output: a contiguous one.
  static bool serves(const TensorLayout& layout) { return layout.is_contiguous(); }

  // `output` and `reference` are on the device, the latter contiguous doubles; waits for it.
  Result<DifferenceSums> compare(const TensorLayout& layout, const void* output,
                                 const void* reference, std::int64_t sample_rows) const;

  // Equal for equal memory, and for no other but by a chance of 2^-64. `memory` is 8-byte aligned.
  Result<std::uint64_t> fingerprint(const void* memory, std::size_t bytes) const;

 private:
  explicit DeviceCompare(Device& device) : device_(&device) {}
  Status launch(const Kernel* kernel, std::vector<void*> args) const;

  Device* device_;
  std::unique_ptr<Module> module_;
  std::map<DType, const Kernel*> compare_;
  const Kernel* fingerprint_ = nullptr;
  Buffer blocks_;  // what each block found
};

}  // namespace mgtune
