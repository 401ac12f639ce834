// DeviceCompare: compares a check's tensors on the device. Copying two tensors of 134 MB to the
// host and comparing them there takes 2 s per variant; reading them on the GPU takes less than a
// millisecond. The host looks at the data only if the device does not find all values right.
//
// Questions are queued, and read() waits once for the answers to all of them, because waiting for a
// GPU and copying from it takes longer than most answers.
//
// Not thread-safe. The device must outlive it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "build/builder.h"
#include "check/compare.h"
#include "core/status.h"
#include "device/device.h"
#include "tensors/guarded_buffer.h"
#include "tensors/tensor_layout.h"

namespace mgtune {

class DeviceCompare {
 public:
  // Builds the kernels for the dtypes of the outputs, and for f64 if `doubles` are compared too.
  static Result<DeviceCompare> make(Device& device, Builder& builder,
                                    const std::vector<TensorLayout>& layouts, bool doubles = false);

  // Whether compare() supports such an output: it must be contiguous.
  static bool serves(const TensorLayout& layout) { return layout.is_contiguous(); }

  // The guard bands of some buffers, on the device.
  struct Bands {
    Buffer table;
    std::int64_t count = 0;
  };
  Result<Bands> upload(std::span<const GuardedBuffer::Band> bands) const;

  // The ask_...() functions below queue questions. There is room for two questions about each
  // tensor, and for one more question of each kind.
  //
  // How much `output` differs from `reference`. Both are on the device; `reference` has contiguous
  // doubles.
  Status ask_differences(const TensorLayout& layout, const void* output, const void* reference,
                         std::int64_t sample_rows);
  // A number that is the same for two memory blocks with the same content. For different content it
  // is the same with a probability of 2^-64. `memory` is 8-byte aligned.
  Status ask_fingerprint(const void* memory, std::size_t bytes);
  // How many bytes of the bands have changed.
  Status ask_changes(const Bands& bands);

  // The answers, in the order of the questions. Waits for the device. Afterwards the queue is
  // empty.
  struct Answers {
    std::vector<DifferenceSums> differences;
    std::vector<std::uint64_t> numbers;  // fingerprints and changes
  };
  Result<Answers> read();
  void forget() { differences_ = numbers_ = 0; }  // empties the queue

  // Each asks one question and returns its answer. Questions that were queued before are dropped.
  Result<DifferenceSums> compare(const TensorLayout& layout, const void* output,
                                 const void* reference, std::int64_t sample_rows);
  Result<std::uint64_t> fingerprint(const void* memory, std::size_t bytes);

 private:
  explicit DeviceCompare(Device& device) : device_(&device) {}
  Status launch(const Kernel* kernel, std::vector<void*> args) const;
  void* next_number();
  Status has_room(std::size_t asked, std::size_t most) const;

  Device* device_;
  std::unique_ptr<Module> module_;
  std::map<DType, const Kernel*> compare_;
  const Kernel* fingerprint_ = nullptr;
  const Kernel* changed_bands_ = nullptr;
  std::size_t most_differences_ = 0, most_numbers_ = 0;
  std::size_t differences_ = 0, numbers_ = 0;  // queued
  Buffer blocks_;  // the results of each block: first the numbers, then the differences
};

}  // namespace mgtune
