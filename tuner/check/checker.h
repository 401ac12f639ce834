// Checker: whether a variant computes what the operator's reference says, on one problem.
//
// For each of two seeds: inputs freshly filled with random data, outputs poisoned with NaN, guard
// bands around every tensor (first seed) or allocations that end at a page's edge (second seed, cpu
// device), one launch, then every output compared with the reference kernel's double results
// (check/compare.h). A change to a guard band, to an input, or to the padding between strides is
// wrong too. On the cpu device the first seed's launch is repeated with threads reversed and
// shuffled, and every bit must agree; where the design says order_dependent, each order is compared
// with the reference instead.
//
// On a GPU the comparing is done where the tensors lie (check/device_compare.h); what is not
// plainly right there is read, judged and described by the host.
//
// Holds device memory for the problem between checks. Not thread-safe.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "build/builder.h"
#include "core/status.h"
#include "device/device.h"
#include "launch/loaded_variant.h"
#include "family/problem.h"
#include "store/records.h"

namespace mgtune {

class Checker {
 public:
  // Where outputs are compared first.
  enum class Compare : std::uint8_t { on_host, on_device };

  // Builds the reference and fill kernels of the problem's operator and computes the references.
  // invalid_argument, naming file and kernel, for those that do not compile, load or run: no
  // variant is at fault. unsupported for a fill that no check serves yet. `device` and
  // the operator outlive the object; `builder` too, because a missing barrier is named by building
  // once more.
  //
  // `compare` is as the device's kind asks for; on_device is served for contiguous outputs.
  static Result<std::unique_ptr<Checker>> make(Device& device, Builder& builder,
                                               const Problem& problem,
                                               std::optional<Compare> compare = std::nullopt);
  virtual ~Checker() = default;

  // wrong, launch_failed and unsupported are outcomes in the record, with a message that names the
  // tensor, the index, both values, or what the device said. A Status is a failure of the check
  // itself, or the device, where the variant took that with it (device_lost).
  virtual Result<CheckRecord> check(const LoadedVariant& variant) = 0;

  // Bytes of the problem's tensors: of one set of buffers to launch on.
  virtual std::int64_t set_bytes() const = 0;

  // For each variant, the arguments of launches on `own_sets` sets of tensors with the first seed's
  // data, to be timed in turn (check/timed_sets.h); 0: on the tensors of the check alone, which lie
  // between guard bands, for a problem that leaves no memory for others. Variants share the sets;
  // each has one workspace, as in a program that launches again and again. Only for variants that
  // passed their check. What they point to belongs to the checker and holds until its next call;
  // the sets stay allocated as long as it does. environment when they do not fit.
  virtual Result<std::vector<std::vector<LaunchArguments>>> launch_arguments(
      std::span<const LoadedVariant* const> variants, std::int64_t own_sets) = 0;

 protected:
  Checker() = default;
  Checker(const Checker&) = default;
  Checker& operator=(const Checker&) = default;
};

// SHA-256 over all that decides a check besides the variant: reference and fill sources with their
// includes, the tensors' fills and layouts, scalars, measure, tolerances, and the rules themselves.
std::string reference_hash(const Operator& op);

// "kernels/rmsnorm/reference.cu: rmsnorm_forward_reference": what make() compiles and runs.
std::string reference_text(const Operator& op);

}  // namespace mgtune
