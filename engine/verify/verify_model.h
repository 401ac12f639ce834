// Checks that the programs of a model are sound and compute what the model says.
//
// The programs under test are compared with a second lowering in f32, with norms of their own and
// one queue. Memory that no instruction has written holds NaN.

#pragma once

#include <cstdint>
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
  bool is_finite = true;           // all logits
  double largest_logit = 0;        // by its absolute value, of the f32 lowering
  double largest_difference = 0;   // between the logits of both
  double mean_kl = 0;              // of the probabilities, in nats, against the f32 lowering
  std::uint32_t same_choices = 0;  // steps and sequences in which both take the same token
  std::uint32_t choices = 0;

  // By the way `steps`: what every instruction writes in one more step, beside what the reference
  // writes from the same inputs. The buffer with the largest error, and that error as a part of
  // what rounding explains.
  std::size_t compared_buffers = 0;
  std::string worst_buffer;
  double worst_error = 0;

  // In f32 the results may differ by rounding alone.
  bool is_good(DType weights) const;
};

// internal if a program is not valid, or if its text or binary form does not give it back.
Result<Verification> verify_model(const ModelConfig& config, const TensorSet& tensors,
                                  const SessionOptions& options, std::uint32_t steps);

}  // namespace mgtune::engine
