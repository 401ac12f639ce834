// Reference: the operator's reference and fill kernels on one device, for one problem.
//
// The kernels' signatures are a contract with every reference.cu:
//   NAME<dtype variables>(tensors, scalars, flags as bool, all dims as long long), each in declared
//     order; inputs as a variant gets them, outputs (inout too, holding the input) contiguous
//     double*, absent tensors null; a check's baseline likewise
//   FILL<T>(T* out, unsigned long long seed, all dims as long long), contiguous
// Launched as 64 blocks of 128 threads. Not thread-safe; device, problem and layouts outlive it.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "build/builder.h"
#include "tensors/problem_tensors.h"
#include "tensors/tensor_layout.h"
#include "core/scalar_value.h"
#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"

namespace mgtune {

class Reference {
 public:
  // Compiles and loads the kernels. unsupported, naming it, for a fill not served here.
  // Here and below, what reference.cu gets wrong is invalid_argument and names it.
  static Result<Reference> make(Device& device, Builder& builder, const Problem& problem,
                                const std::vector<TensorLayout>& layouts);

  // Gives every in and inout tensor fresh content, a function of `seed` and the tensor's place;
  // but for those that fill_from_outputs() serves.
  Status fill(ProblemTensors& tensors, std::uint64_t seed) const;

  // Runs the reference on the content of `tensors`. On the device: layout.count doubles an output,
  // an empty buffer an input.
  Result<std::vector<Buffer>> compute(ProblemTensors& tensors) const {
    return compute(kernel_, tensors);
  }

  // Likewise of the kernel by whose errors variants are judged; only where the check names one.
  Result<std::vector<Buffer>> compute_baseline(ProblemTensors& tensors) const {
    return compute(baseline_, tensors);
  }

  const std::vector<ScalarValue>& scalars() const { return scalars_; }  // as checks pass them
  void set_scalar(std::size_t scalar, const ScalarValue& value) { scalars_[scalar] = value; }

 private:
  Reference(Device& device, const Problem& problem, const std::vector<TensorLayout>& layouts);
  Status load(Builder& builder);
  Result<Bytes> fill_elements(std::size_t tensor, std::uint64_t seed) const;
  Result<std::vector<Buffer>> compute(const Kernel* kernel, ProblemTensors& tensors) const;
  Status launch(const Kernel* kernel, bool is_own, std::vector<void*>& args) const;

  Device* device_;
  const Problem* problem_;
  const std::vector<TensorLayout>* layouts_;
  std::vector<ScalarValue> scalars_;
  std::vector<std::int64_t> dims_;  // all, in declared order
  std::vector<std::unique_ptr<Module>> modules_;
  const Kernel* kernel_ = nullptr;
  const Kernel* baseline_ = nullptr;  // null where the check has none
  std::vector<const Kernel*> fills_;  // per tensor; null for outputs and absent ones
};

// What compute() gave for a tensor of `count` elements, on the host.
Result<std::vector<double>> read_doubles(Device& device, const Buffer& buffer, std::int64_t count);

}  // namespace mgtune
