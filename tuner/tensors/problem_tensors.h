// ProblemTensors: device memory for every tensor of a problem, and a check that a launch changed
// only outputs.
//
// The content of a tensor is generated in device memory, and again whenever a launch may have
// changed it. So the content is not copied through the host, unless the host looks at it.
//
// Before a launch outputs are poisoned (0xff bytes, which are NaN, in floating dtypes; 0xa5 in
// integers), and so is the padding between the strides of every tensor. After the launch, guard
// bands, inputs and padding must be unchanged. Move-only. Not thread-safe; device and layouts must
// outlive it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "tensors/guarded_buffer.h"
#include "tensors/tensor_layout.h"

namespace mgtune {

using Bytes = std::vector<unsigned char>;

// The byte with which outputs and the padding of all tensors are filled.
unsigned char poison_byte(DType dtype);

// Puts contiguous `elements` at their places in the layout. The padding is poisoned.
Bytes strided_image(const TensorLayout& layout, const Bytes& elements);

// Whether every byte of an output is still poisoned after the launch.
bool is_untouched(const TensorLayout& layout, const Bytes& image);

class ProblemTensors {
 public:
  static Result<ProblemTensors> allocate(Device& device, const std::vector<TensorLayout>& layouts,
                                         Placement placement);

  // The content of an in or inout tensor before every launch: layout.bytes() bytes. A generator
  // writes these bytes into any memory of the device, the same ones at each call.
  using Generator = std::function<Status(void* memory)>;
  void set_content(std::size_t tensor, Bytes image);
  void set_generator(std::size_t tensor, Generator generate);
  // The content of a tensor of `other`, whose layout is equal.
  void share_content(std::size_t tensor, const ProblemTensors& other, std::size_t of_other);

  // Returns the content on the host. Generated content is generated again for this, unless
  // keep_images() was called: after that the host keeps all contents, and prepare() copies them to
  // the device.
  Result<std::shared_ptr<const Bytes>> content(std::size_t tensor) const;
  Status keep_images();

  Status prepare();          // makes everything ready for a launch
  Status prepare_outputs();  // the same if inputs and guard bands did not change since prepare()
  Status prepare_as(const ProblemTensors& other);  // with the content of `other`, of equal layouts
  std::span<void* const> pointers() const { return pointers_; }  // null for absent tensors

  // The memory of every output after a launch; empty for inputs.
  Result<std::vector<Bytes>> read_outputs() const;

  // Describes what the launch changed but must not change: "x: an input was changed, first at x[3,
  // 5]". "" if there is nothing. `outputs` comes from read_outputs().
  Result<std::string> damage(const std::vector<Bytes>& outputs) const;

  std::vector<GuardedBuffer::Band> guard_bands() const;

 private:
  ProblemTensors(Device& device, const std::vector<TensorLayout>& layouts)
      : device_(&device), layouts_(&layouts) {}
  struct Content {
    std::shared_ptr<const Bytes> image;  // null: generated
    Generator generate;
  };
  Status prepare(const std::vector<Content>& contents, bool is_fresh);
  Status write(std::size_t tensor, const Content& content);
  Result<Bytes> read(std::size_t tensor) const;
  Result<std::string> damage_of(std::size_t tensor, const Bytes& output) const;

  Device* device_;
  const std::vector<TensorLayout>* layouts_;
  std::vector<GuardedBuffer> buffers_;  // without memory for absent tensors
  std::vector<void*> pointers_;         // of the buffers
  std::vector<Content> contents_;       // of in and inout tensors
};

// TimedSets: the sets of tensors through which the timing of a problem's variants rotates.
//
// The sets have no guard bands, like the tensors of a program, because the distance between large
// tensors may affect how DRAM handles their traffic (results/h200/norms.md). They stay allocated as
// long as the object exists. Not thread-safe; device and layouts must outlive it.
class TimedSets {
 public:
  TimedSets(Device& device, const std::vector<TensorLayout>& layouts)
      : device_(device), layouts_(layouts) {}

  // Makes sure that there are at least `sets` sets with the content of `first`. Everything that
  // launches may have changed is fresh in all of them, and in `first`. environment if the sets do
  // not fit into memory.
  Status provide(std::int64_t sets, ProblemTensors& first);

  const ProblemTensors& operator[](std::int64_t set) const {
    return sets_[static_cast<std::size_t>(set)];
  }

 private:
  Device& device_;
  const std::vector<TensorLayout>& layouts_;
  std::vector<ProblemTensors> sets_;
};

}  // namespace mgtune
