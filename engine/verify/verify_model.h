// Checks that the programs of a model are sound and compute what the model says.
//
// The programs under test are compared with a second lowering of the model, which the reference
// runs. It has a norm instruction for each norm, and one queue. Its weights have the same
// precision, so it computes with the same numbers; its activations and caches are f32. Memory that
// no instruction has written holds NaN.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "generate/session.h"
#include "weights/tensor_set.h"

namespace mgtune::engine {

struct ProgramSummary {
  std::uint32_t positions = 0;  // of its bucket
  std::size_t instructions = 0;
  std::size_t buffers = 0;
  std::uint64_t weight_bytes = 0;
  std::uint64_t state_bytes = 0;
  std::uint64_t scratch_bytes = 0;
};

struct Verification {
  std::vector<ProgramSummary> programs;  // all of them valid
  std::uint32_t steps = 0;
  std::string not_finite;          // the first logit that is not; the rest then means nothing
  double largest_logit = 0;        // by its absolute value, of the reference
  double largest_difference = 0;   // between the logits of both
  double mean_kl = 0;              // of the probabilities, in nats, against the reference
  std::uint32_t same_choices = 0;  // steps and sequences in which both take the same token
  std::uint32_t choices = 0;

  // If the way `steps` is the witness: whether all logits have the same bits as with this way.
  std::optional<bool> has_bits_of_steps;

  // With the way `steps`, every instruction of one more step is compared with what the reference
  // writes from the same inputs. worst_buffer has the largest error; worst_error is this error
  // divided by the largest one that rounding explains.
  std::size_t compared_buffers = 0;
  std::string worst_buffer;
  double worst_error = 0;

  // The largest difference of the logits, divided by the largest logit.
  double error() const { return largest_logit > 0 ? largest_difference / largest_logit : 0; }
  // Whether everything that was compared differs by rounding alone.
  bool is_good(DType dtype) const;
};

// The largest error() that rounding explains where activations and caches are of this dtype.
double acceptable_logit_error(DType dtype);

// Compares `steps` tokens per sequence, or as many as the caches have room for. The instructions of
// one more step are compared if `witness` is given or options.machine makes the way `steps`; the
// caches need room for this step too. `witness` makes the way `steps` on the same device, and its
// logits must have the same bits; it may be empty. internal if a program is not valid, or if its
// text or binary form, read again, is another program.
Result<Verification> verify_model(const ModelConfig& config, const TensorSet& tensors,
                                  const SessionOptions& options, std::uint32_t steps,
                                  const MachineFactory& witness = {});

}  // namespace mgtune::engine
