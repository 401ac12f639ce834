// Checker: whether a variant computes what the operator's reference says, on one problem.
//
// For each of two seeds: inputs freshly filled with random data, outputs poisoned with NaN, guard
// bands around every tensor (first seed) or allocations that end at a page's edge (second seed, cpu
// device), one launch, then every output compared with the reference kernel's double results. NaN or
// infinity where the reference has none fails; so does a change to a guard band or to an input. On the cpu
// device the launch is repeated with threads reversed and shuffled, and every bit must agree unless
// the design says order_dependent.
//
// Holds device memory for the problem between checks. Not thread-safe.

#pragma once

#include <memory>
#include <string>

#include "build/builder.h"
#include "core/status.h"
#include "device/device.h"
#include "dispatch/loaded_variant.h"
#include "family/problem.h"
#include "store/records.h"

namespace mgtune {

class Checker {
 public:
  // Builds the reference and fill kernels of the problem's operator and computes the references.
  static Result<std::unique_ptr<Checker>> make(Device& device, Builder& builder,
                                               const Problem& problem);
  virtual ~Checker() = default;

  // wrong, launch_failed and unsupported are outcomes in the record, with a message that names the
  // tensor, the index, both values, or what the device said. A Status is a failure of the check itself.
  virtual Result<CheckRecord> check(const LoadedVariant& variant) = 0;

 protected:
  Checker() = default;
  Checker(const Checker&) = default;
  Checker& operator=(const Checker&) = default;
};

// SHA-256 over reference and fill sources, the tensors' fills, measure and tolerances.
std::string reference_hash(const Operator& op);

}  // namespace mgtune
