// Checks that the programs of a model are sound and compute what the model says.
//
// The programs under test are compared with a second lowering that the reference runs, with norms
// of their own and one queue. Its weights have the same precision, so it computes with the same
// numbers; its activations and caches are f32. Memory that no instruction has written holds NaN.

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

  // With the way `steps` as a witness: whether all logits have the same bits as by that way.
  std::optional<bool> has_bits_of_steps;

  // By the way `steps`: what every instruction writes in one more step, beside what the reference
  // writes from the same inputs. The buffer with the largest error, and that error as a part of
  // what rounding explains.
  std::size_t compared_buffers = 0;
  std::string worst_buffer;
  double worst_error = 0;

  // Of the logits, and as a part of the largest one.
  double error() const { return largest_logit > 0 ? largest_difference / largest_logit : 0; }
  // Whether everything that was compared differs by rounding alone.
  bool is_good(DType dtype) const;
};

// The largest error() that rounding explains where activations and caches are of this dtype.
double acceptable_logit_error(DType dtype);

// `steps` tokens per sequence, one less if the caches would have no room for the step whose
// instructions are compared. Those are of options.machine, if it makes the way `steps`, otherwise
// of `witness`: the way `steps` on the same device, whose logits must have the same bits. An empty
// one is not asked. internal if a program is not valid, or if its text or binary form does not give
// it back.
Result<Verification> verify_model(const ModelConfig& config, const TensorSet& tensors,
                                  const SessionOptions& options, std::uint32_t steps,
                                  const MachineFactory& witness = {});

}  // namespace mgtune::engine
