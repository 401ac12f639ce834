// DeviceCompare: compares a check's tensors on the device. For 2 x 134 MB, copying to the host and
// comparing there takes 2 s per variant; reading them on the GPU takes less than a millisecond. The
// host looks at the data only if the device does not find all values right.
//
// Not thread-safe. The device must outlive it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "build/builder.h"
#include "check/compare.h"
#include "core/status.h"
#include "device/device.h"
#include "tensors/tensor_layout.h"

namespace mgtune {

class DeviceCompare {
 public:
  // Builds the kernels for the dtypes of the outputs, and for f64 if `doubles` are compared too.
  static Result<DeviceCompare> make(Device& device, Builder& builder,
                                    const std::vector<TensorLayout>& layouts, bool doubles = false);

  // Whether compare() supports such an output: it must be contiguous.
  static bool serves(const TensorLayout& layout) { return layout.is_contiguous(); }

  // `output` and `reference` are on the device; `reference` is contiguous doubles. Waits for the
  // result.
  Result<DifferenceSums> compare(const TensorLayout& layout, const void* output,
                                 const void* reference, std::int64_t sample_rows) const;

  // Equal for equal memory. For different memory it is equal with a probability of 2^-64. `memory`
  // is 8-byte aligned.
  Result<std::uint64_t> fingerprint(const void* memory, std::size_t bytes) const;

 private:
  explicit DeviceCompare(Device& device) : device_(&device) {}
  Status launch(const Kernel* kernel, std::vector<void*> args) const;

  Device* device_;
  std::unique_ptr<Module> module_;
  std::map<DType, const Kernel*> compare_;
  const Kernel* fingerprint_ = nullptr;
  Buffer blocks_;  // the result of each block
};

}  // namespace mgtune
