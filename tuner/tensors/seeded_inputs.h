// SeededInputs: a problem's tensors with the inputs of one seed, what the reference makes of them,
// and whether outputs of a variant agree with that.
//
// Compares on the device where it is given a DeviceCompare, on the host otherwise; what does not
// pass there is for the host to describe. Holds the tensors' memory, and the reference's results
// where they are needed. Move-only. Not thread-safe.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "build/builder.h"
#include "check/device_compare.h"
#include "tensors/problem_tensors.h"
#include "check/reference.h"
#include "tensors/tensor_layout.h"
#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"
#include "store/records.h"

namespace mgtune {

// Whether a problem's outputs are held to twice the error of a baseline kernel.
bool is_by_baseline(const Problem& problem);

class SeededInputs {
 public:
  // What the seeds of a problem share; all of it outlives them.
  struct Parts {
    Device& device;
    Builder& builder;
    const Problem& problem;
    const std::vector<TensorLayout>& layouts;
    const DeviceCompare* device_compare;  // null: the host compares
  };

  // Fills the tensors and computes the reference; `reference` is needed for this alone.
  static Result<SeededInputs> make(const Parts& parts, const Reference& reference,
                                   std::uint64_t seed, Placement placement);

  Placement placement() const { return placement_; }
  ProblemTensors& tensors() { return tensors_; }
  const ProblemTensors& tensors() const { return tensors_; }

  Status prepare();  // the tensors, for a launch

  // Of a launch's outputs where they lie. False where the host has to look: the launch is wrong, or
  // its worst element needs a bound of its own. Then the record is as it was. Only with a
  // DeviceCompare.
  Result<bool> passes_on_device(CheckRecord& record) const;

  // What is wrong with the outputs, "" when nothing is. The record keeps the worst error so far, as
  // a share of its tolerance.
  Result<std::string> compare(const std::vector<Bytes>& outputs, CheckRecord& record);

 private:
  SeededInputs(const Parts& parts, Placement placement, ProblemTensors tensors)
      : parts_(parts), placement_(placement), tensors_(std::move(tensors)) {}
  Status add_bounds(const Reference& reference);
  Result<double> worst_of_baseline(std::size_t tensor, const Buffer& baseline) const;
  Status read_expected();
  Result<bool> inputs_are_intact() const;
  double tolerance(const TensorLayout& layout) const;

  Parts parts_;
  Placement placement_;
  ProblemTensors tensors_;
  std::vector<Buffer> reference_;              // per tensor; empty for inputs
  std::vector<std::vector<double>> expected_;  // the same on the host, once it was asked for
  std::vector<double> largest_difference_;     // per tensor, that an element may have; where the
                                               // measure is twice_low_precision
  std::vector<std::uint64_t> fingerprints_;    // per tensor; of inputs that are compared on the
                                               // device
};

}  // namespace mgtune
