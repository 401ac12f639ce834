// CheckKernels: loads and launches the kernels that the checks of one problem use. These are the
// kernels of the operator's reference.cu (check/reference.h has their signatures), and mgtune's own
// fill kernels. All code that launches one of them shares this object. Not thread-safe; the device
// and the problem must outlive it.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "build/builder.h"
#include "core/dtype.h"
#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"

namespace mgtune {

class CheckKernels {
 public:
  // Compiles and loads the kernels of reference.cu with the names `own`, and the kernels of fill.cu
  // with the names `fills`. Here and below, an error in reference.cu is invalid_argument and names
  // that file.
  static Result<std::shared_ptr<CheckKernels>> make(Device& device, Builder& builder,
                                                    const Problem& problem,
                                                    const std::vector<std::string>& own,
                                                    const std::vector<std::string>& fills);

  Result<const Kernel*> own(const std::string& name) const { return own_module_->kernel(name); }
  Result<const Kernel*> fill(const std::string& name) const { return fill_module_->kernel(name); }

  // Each launches a kernel and waits for it. launch_own() launches a kernel of reference.cu and
  // passes the struct Problem as a further argument after `args`; launch_fill() launches a fill
  // kernel.
  Status launch_own(const Kernel* kernel, std::vector<void*>& args) const;
  Status launch_fill(const Kernel* kernel, std::vector<void*>& args) const;

  Device& device() const { return *device_; }
  const std::vector<ScalarValue>& scalars() const { return scalars_; }
  void set_scalar(std::size_t scalar, const ScalarValue& value) { scalars_[scalar] = value; }

  // Turns the failure of a reference kernel into a message that says who is to blame: the family or
  // mgtune.
  Status own_failure(Status failure) const;

 private:
  CheckKernels(Device& device, const Problem& problem) : device_(&device), problem_(&problem) {}
  Status encode_scalars();
  Status load_own(Builder& builder, const std::vector<std::string>& names);
  Status launch(const Kernel* kernel, bool is_own, std::vector<void*>& args) const;

  Device* device_;
  const Problem* problem_;
  std::vector<ScalarValue> scalars_;
  std::unique_ptr<Module> own_module_;   // of reference.cu; null if no kernel of it is used
  std::unique_ptr<Module> fill_module_;  // of kernels/common/fill.cu; null if none is used
};

}  // namespace mgtune
