// Checker: whether a variant computes the results of the operator's reference, on one problem.
//
// It checks two seeds. For each, the inputs have new random data and the outputs are poisoned with
// NaN. With the first seed there are guard bands around every tensor. With the second seed, on the
// cpu device, allocations end at the edge of a page. After one launch every output is compared with
// the double results of the reference kernel (check/compare.h). A change to a guard band, to an
// input, or to the padding between strides is wrong too. On the cpu device the launch of the first
// seed is repeated with threads reversed and shuffled, and every bit must be the same. If the
// design says order_dependent, the result of each order is compared with the reference instead.
//
// On a GPU the device compares the tensors (check/device_compare.h). If something is not plainly
// right, the host reads the data, decides, and describes the error.
//
// It keeps device memory for the problem between checks. Not thread-safe.

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
#include "family/problem.h"
#include "launch/loaded_variant.h"
#include "store/records.h"

namespace mgtune {

class Checker {
 public:
  // The side that compares outputs first.
  enum class Compare : std::uint8_t { on_host, on_device };

  // Builds the reference and fill kernels of the problem's operator and computes the references.
  // invalid_argument, naming file and kernel, if they do not compile, load or run: then no variant
  // is at fault. unsupported for a fill that no check supports yet. `device` and the operator must
  // outlive the object. So must `builder`, because a missing barrier is located by one more build.
  //
  // Without `compare` the device's kind decides. on_device works for contiguous outputs.
  static Result<std::unique_ptr<Checker>> make(Device& device, Builder& builder,
                                               const Problem& problem,
                                               std::optional<Compare> compare = std::nullopt);
  virtual ~Checker() = default;

  // wrong, launch_failed and unsupported are outcomes in the record. The message names the tensor,
  // the index and both values, or has the device's message. A Status is a failure of the check
  // itself, or of the device if the variant made it fail (device_lost).
  virtual Result<CheckRecord> check(const LoadedVariant& variant) = 0;

  // The bytes of the problem's tensors: of one set of buffers.
  virtual std::int64_t set_bytes() const = 0;

  // For each variant, the arguments of launches that rotate through `own_sets` sets of tensors with
  // the data of the first seed (tensors/timed_sets.h). 0 means only the tensors of the check, which
  // have guard bands, for a problem that leaves no memory for more. Variants share the sets. Each
  // variant has one workspace, as in a program that launches again and again. Only for variants
  // that passed their check. The checker owns the memory that the arguments point to; it is valid
  // until its next call. The sets stay allocated as long as the checker exists. environment if they
  // do not fit into memory.
  virtual Result<std::vector<std::vector<LaunchArguments>>> launch_arguments(
      std::span<const LoadedVariant* const> variants, std::int64_t own_sets) = 0;

 protected:
  Checker() = default;
  Checker(const Checker&) = default;
  Checker& operator=(const Checker&) = default;
};

// The SHA-256 over everything that determines a check besides the variant: the reference and fill
// sources with their includes, the fills and layouts of the tensors, scalars, measure, tolerances,
// and the rules themselves.
std::string reference_hash(const Operator& op);

// "kernels/rmsnorm/reference.cu: rmsnorm_forward_reference": what make() compiles and runs.
std::string reference_text(const Operator& op);

}  // namespace mgtune
