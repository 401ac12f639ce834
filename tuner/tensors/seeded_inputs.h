// SeededInputs: a problem's tensors with the inputs of one seed, and the reference's results for
// these inputs. It checks whether the outputs of a variant agree with these results.
//
// It compares on the device if it has a DeviceCompare, otherwise on the host. If outputs do not
// pass on the device, the host describes the error. It owns the memory of the tensors and the
// reference's results, which it keeps on the device or on the host, where they are needed.
// Move-only. Not thread-safe.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "build/builder.h"
#include "check/compare.h"
#include "check/device_compare.h"
#include "check/reference.h"
#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"
#include "store/records.h"
#include "tensors/problem_tensors.h"
#include "tensors/tensor_layout.h"

namespace mgtune {

// Whether a baseline kernel decides how large the errors may be: a problem's outputs may have twice
// its error.
bool is_by_baseline(const Problem& problem);

class SeededInputs {
 public:
  // What the objects for all seeds of a problem share. All members must outlive these objects.
  struct Context {
    Device& device;
    Builder& builder;
    const Problem& problem;
    const std::vector<TensorLayout>& layouts;
    DeviceCompare* device_compare;  // null: the host compares
  };

  // Fills the tensors and computes the reference. `reference` is needed only during this call.
  static Result<SeededInputs> make(const Context& context, const Reference& reference,
                                   std::uint64_t seed, Placement placement);

  Placement placement() const { return placement_; }
  ProblemTensors& tensors() { return tensors_; }
  const ProblemTensors& tensors() const { return tensors_; }

  Status prepare();  // the tensors, for a launch

  // Prepares a launch that judge_on_device() judges. Inputs and guard bands are nearly always
  // unchanged since the previous launch, so they are not written again; the device checks
  // afterwards that they are unchanged. This function and judge_on_device() need a DeviceCompare.
  Status prepare_outputs();

  // Compares a launch's outputs on the device, after prepare_outputs(). The record changes only if
  // they pass.
  enum class Verdict : std::uint8_t {
    passes,
    look,    // the host must look: the launch is wrong, or its worst element needs its own bound
    repeat,  // inputs or guard bands had changed before the launch, so it proves nothing
  };
  Result<Verdict> judge_on_device(CheckRecord& record);

  // Describes what is wrong with the outputs; "" if they are right. The record gets the error if
  // the error is the largest so far, relative to its tolerance.
  Result<std::string> compare(const std::vector<Bytes>& outputs, CheckRecord& record);

  // Describes each output on its own, right or wrong.
  Result<std::vector<OutputReport>> describe(const std::vector<Bytes>& outputs);

 private:
  SeededInputs(const Context& context, Placement placement, ProblemTensors tensors)
      : context_(context), placement_(placement), tensors_(std::move(tensors)) {}
  Status set_allowed_errors(const Reference& reference);
  Result<double> worst_of_baseline(std::size_t tensor, const Buffer& baseline) const;
  Status read_expected();
  Status ask_what_must_stay();

  Context context_;
  Placement placement_;
  ProblemTensors tensors_;
  std::vector<Buffer> reference_;              // per tensor; empty for inputs
  std::vector<std::vector<double>> expected_;  // the same on the host, if it was needed
  std::vector<double> allowed_;                // per tensor: the relative error, or the largest
                                               // difference if is_by_baseline()
  DeviceCompare::Bands bands_;                 // these two only if the device compares
  std::vector<std::uint64_t> must_stay_;       // the answers of ask_what_must_stay()
};

}  // namespace mgtune
