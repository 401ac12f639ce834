// Reference: the operator's reference and fill kernels on one device, for one problem.
//
// The kernels' signatures are a contract with every reference.cu:
//   NAME<dtype variables, Problem>(tensors, Problem), both lists in declared order. Inputs are as a
//     variant gets them. Outputs are contiguous double*, or float* if the check's reference_type
//     is f32, and an inout tensor holds its input. Absent tensors are null. A check's baseline has
//     the same signature.
//   FILL<T, Problem>(T* out, unsigned long long seed, Problem), contiguous
// `Problem` is a struct with the dims (long long), the scalars (in their dtypes) and the flags
// (bool) of the operator, each as a member with its own name. Kernels are launched with blocks of
// 128 threads, and with enough blocks to fill the device (striding_blocks()). Not thread-safe. The
// device, the problem and the layouts must outlive the object and the tensors that it filled.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "build/builder.h"
#include "check/check_kernels.h"
#include "core/dtype.h"
#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"
#include "family/source_tree.h"
#include "tensors/element_mover.h"
#include "tensors/problem_tensors.h"
#include "tensors/tensor_layout.h"

namespace mgtune {

// The sources that are compiled: the operator's sources and one more file, kReferenceUnit. This
// file defines `Problem` and includes the reference's file.
inline constexpr char kReferenceUnit[] = "mgtune_reference.cu";
SourceTree reference_sources(const Operator& op);

// The SHA-256 over everything that determines a check besides the variant: the reference and fill
// sources with their includes, the fills and layouts of the tensors, scalars, measure, tolerances,
// and the rules themselves.
std::string reference_hash(const Operator& op);

// "kernels/rmsnorm/reference.cu: rmsnorm_forward_reference": what Reference::make() compiles and
// runs.
std::string reference_text(const Operator& op);

class Reference {
 public:
  // Compiles and loads the kernels. unsupported, with the tensor's name, if a tensor has a fill
  // that no check supports. Here and below, an error in reference.cu is invalid_argument and names
  // that file.
  static Result<Reference> make(Device& device, Builder& builder, const Problem& problem,
                                const std::vector<TensorLayout>& layouts);

  // Gives every in and inout tensor new content, which depends only on `seed` and on the index of
  // the tensor. The kernels run when the tensors are prepared. It does not change the tensors that
  // fill_from_outputs() fills.
  Status fill(ProblemTensors& tensors, std::uint64_t seed) const;

  // Runs the reference on the content of `tensors`, or gets the results from a file or a program
  // (given_results()). The result lies on the device: layout.count doubles per output and an empty
  // buffer per input.
  Result<std::vector<Buffer>> compute(ProblemTensors& tensors) const;

  // The same for the check's baseline, a kernel whose error says how large a variant's error may
  // be. Call it only if the check has a baseline.
  Result<std::vector<Buffer>> compute_baseline(ProblemTensors& tensors) const {
    return compute(baseline_, tensors);
  }

  const std::vector<ScalarValue>& scalars() const { return kernels_->scalars(); }  // of checks
  void set_scalar(std::size_t scalar, const ScalarValue& value) {
    kernels_->set_scalar(scalar, value);
  }

 private:
  Reference(Device& device, const Problem& problem, const std::vector<TensorLayout>& layouts)
      : device_(&device), problem_(&problem), layouts_(&layouts), fills_(layouts.size(), nullptr) {}
  Status load(Builder& builder);
  Status fill_from_files(ProblemTensors& tensors) const;
  ProblemTensors::Generator generator(std::size_t tensor, std::uint64_t seed) const;
  Result<std::vector<Buffer>> compute(const Kernel* kernel, ProblemTensors& tensors) const;
  Status widen(std::vector<Buffer>& outputs) const;  // from float to double

  Device* device_;
  const Problem* problem_;
  const std::vector<TensorLayout>* layouts_;
  std::shared_ptr<CheckKernels> kernels_;
  std::shared_ptr<const ElementMover> mover_;
  const Kernel* kernel_ = nullptr;    // null if a file or a program gives the results
  const Kernel* baseline_ = nullptr;  // null if the check has none
  std::vector<const Kernel*> fills_;  // per tensor; null for outputs and absent tensors
};

// Copies to the host a tensor of `count` elements that compute() returned.
Result<std::vector<double>> read_doubles(Device& device, const Buffer& buffer, std::int64_t count);

}  // namespace mgtune
