// Checker: checks whether a variant computes the same results as the operator's reference, on one
// problem.
//
// It checks two seeds. For each, the inputs have new random data and the outputs are poisoned with
// NaN. With the first seed there are guard bands around every tensor. With the second seed, on the
// cpu device, allocations end at the edge of a page. After one launch every output is compared with
// the double results of the reference kernel (check/compare.h). A change to a guard band, to an
// input, or to the padding between strides is wrong too. On the cpu device the launch of the first
// seed is repeated with threads reversed and shuffled, and every bit must be the same. If the
// design says order_dependent, the result of each order is compared with the reference instead.
//
// If the results of two orders differ, a barrier is missing: the variant is then built once more
// with the race checker, which names threads and lines.
//
// On a GPU the device compares the tensors (check/device_compare.h). If the device does not find
// all values right, the host reads the data, decides, and describes the error.
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
#include "check/compare.h"
#include "check/device_compare.h"
#include "check/reference.h"
#include "core/status.h"
#include "device/device.h"
#include "family/problem.h"
#include "launch/loaded_variant.h"
#include "store/records.h"
#include "tensors/problem_tensors.h"
#include "tensors/seeded_inputs.h"
#include "tensors/tensor_layout.h"
#include "tensors/workspace_buffer.h"

namespace mgtune {

class Checker {
 public:
  // The side that compares outputs first.
  enum class Compare : std::uint8_t { on_host, on_device };

  // Builds the reference and fill kernels of the problem's operator and computes the references.
  // invalid_argument, naming file and kernel, if a kernel does not compile, load or run; no variant
  // is at fault then. unsupported for a fill that no check supports yet. `device` and the operator
  // must outlive the object. So must `builder`, because a missing barrier is located by one more
  // build.
  //
  // If `compare` is not given, the device's kind decides. on_device works for contiguous outputs
  // only.
  static Result<std::unique_ptr<Checker>> make(Device& device, Builder& builder,
                                               const Problem& problem,
                                               std::optional<Compare> compare = std::nullopt);
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  // If the variant is wrong, launch_failed or unsupported, this is the outcome in the record, and
  // the message names the tensor, the index and both values, or has the device's message. A Status
  // is a failure of the check itself, or of the device if the variant made the device fail
  // (device_lost).
  //
  // Only tests under a sanitizer pass Orders::forward: the sanitizer finds the same errors in every
  // order.
  enum class Orders : std::uint8_t { all, forward };
  Result<CheckRecord> check(const LoadedVariant& variant, Orders orders = Orders::all);

  // One launch on the cpu device, of a build in which each access of the kernel is checked: races
  // on shared memory, accesses out of bounds, and variables that the compiler sees used without a
  // value. With `unwritten` it also finds reads of memory that nothing has written, and variables
  // that may have no value. launch_failed for a fault, which the message describes with its line;
  // timeout if the kernel does not end; ok if nothing was found, or if this program has no such
  // checks. Any other status is a failure of the check itself.
  Status find_faults(const LoadedVariant& variant, bool unwritten);

  // One launch with the inputs of the first seed, threads in order forward.
  struct LaunchReport {
    Outcome outcome = Outcome::ok;
    std::string message;
    std::vector<OutputReport> outputs;  // empty if the launch failed
  };
  Result<LaunchReport> launch_once(const LoadedVariant& variant);

  // The bytes of one set of buffers, which holds all tensors of the problem.
  std::int64_t set_bytes() const;

  // Returns for each variant the arguments of its launches, which rotate through `own_sets` sets of
  // tensors with the data of the first seed (TimedSets). If a problem leaves no memory for such
  // sets, pass 0: then the launches use only the tensors of the check, which have guard bands.
  // Variants share the sets. Each variant has one workspace, as in a program that launches again
  // and again. Only for variants that passed their check. The checker owns the memory that the
  // arguments point to; it is valid until its next call. The sets stay allocated as long as the
  // checker exists. environment if they do not fit into memory.
  Result<std::vector<std::vector<LaunchArguments>>> launch_arguments(
      std::span<const LoadedVariant* const> variants, std::int64_t own_sets);

 private:
  // The result of one launch.
  struct Run {
    Outcome outcome = Outcome::ok;
    std::string message;
    std::vector<Bytes> outputs;  // per tensor; empty for inputs, and unless ok or wrong

    bool ok() const { return outcome == Outcome::ok; }
  };

  Checker(Device& device, Builder& builder, const Problem& problem)
      : device_(device), builder_(builder), problem_(problem), timed_sets_(device, layouts_) {}
  Status prepare(Compare compare);
  bool can_compare_on_device() const;

  Result<Run> launch(const LoadedVariant& variant, SeededInputs& inputs);
  Result<Run> launch_prepared(const LoadedVariant& variant, SeededInputs& inputs);
  // Whether the device's comparison shows for certain that a launch of the variant passes. If it
  // does not, `run` is the launch that the host must look at, or a launch that failed.
  Result<bool> passes_on_device(const LoadedVariant& variant, SeededInputs& inputs, Run& run,
                                CheckRecord& record);
  Result<Run> read(const SeededInputs& inputs) const;
  Status prepare_workspace(const LoadedVariant& variant, Placement placement);
  // Returns the workspace that was used last, so that its memory can be reused, and frees all
  // others.
  WorkspaceBuffer last_workspace();
  Result<WorkspaceBuffer> make_workspace(const LoadedVariant& variant, Placement placement,
                                         WorkspaceBuffer last) const;
  LaunchArguments arguments(const ProblemTensors& tensors, const WorkspaceBuffer& workspace) const;

  Result<Run> try_other_orders(const LoadedVariant& variant, const Run& forward,
                               CheckRecord& record);
  Status launch_checked(const LoadedVariant& variant, const LaunchArguments& arguments,
                        bool unwritten);
  Result<std::string> race_note(const LoadedVariant& variant);

  Device& device_;
  Builder& builder_;
  Problem problem_;
  std::vector<TensorLayout> layouts_;
  std::vector<std::int64_t> dims_;  // the dynamic and hint dims
  std::vector<ScalarValue> scalars_;
  std::optional<DeviceCompare> device_compare_;
  std::vector<SeededInputs> inputs_;
  WorkspaceBuffer workspace_;  // of the variant that is checked
  TimedSets timed_sets_;
  std::vector<WorkspaceBuffer> timed_workspaces_;  // of the variants being timed
};

}  // namespace mgtune
