#include "verify/verify_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "program/binary_form.h"
#include "program/text_form.h"
#include "reference/sampler.h"
#include "steps/steps_machine.h"

namespace mgtune::engine {
namespace {

Result<ProgramSummary> check_program(const Program& program) {
  const Result<Program> from_text = program_from_text(program_text(program));
  const Result<Program> from_bytes = program_from_bytes(program_bytes(program));
  if (!from_text.ok() || !from_bytes.ok() || *from_text != program || *from_bytes != program) {
    return internal_error(
        fmt::format("the program for {} positions is not the same after writing "
                    "and reading it",
                    program.positions));
  }
  return ProgramSummary{program.positions,
                        program.instructions.size(),
                        program.buffers.size(),
                        *arena_bytes(program, BufferKind::weight),
                        *arena_bytes(program, BufferKind::state),
                        *arena_bytes(program, BufferKind::scratch)};
}

std::vector<double> log_probabilities(const std::vector<float>& logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  std::vector<double> result;
  result.reserve(logits.size());
  for (const float logit : logits) result.push_back(logit - largest - std::log(sum));
  return result;
}

double kl_divergence(const std::vector<float>& expected, const std::vector<float>& logits) {
  const std::vector<double> p = log_probabilities(expected);
  const std::vector<double> q = log_probabilities(logits);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::exp(p[i]) * (p[i] - q[i]);
  return sum;
}

void compare_logits(const std::vector<float>& expected, const std::vector<float>& logits,
                    Verification& result) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    result.is_finite = result.is_finite && std::isfinite(logits[i]) && std::isfinite(expected[i]);
    result.largest_logit = std::max(result.largest_logit, std::abs(double{expected[i]}));
    result.largest_difference =
        std::max(result.largest_difference, std::abs(double{logits[i]} - expected[i]));
  }
  result.mean_kl += kl_divergence(expected, logits);
  result.same_choices += argmax(expected) == argmax(logits) ? 1 : 0;
  ++result.choices;
}

// Of integers every error is too large.
double part_of_acceptable(const BufferDifference& difference, DType dtype) {
  if (difference.error == 0) return 0;
  return difference.error / acceptable_error(dtype);
}

Status compare_instructions(Session& session, Verification& result) {
  auto* const machine = dynamic_cast<StepsMachine*>(&session.machine());
  if (machine == nullptr || session.position() >= session.capacity()) return {};
  const Program& program = session.program();
  MGTUNE_ASSIGN(const std::vector<BufferDifference> differences,
                machine->step_compared(program, {}));
  result.compared_buffers = differences.size();
  for (const BufferDifference& difference : differences) {
    const Buffer& buffer = program.buffers[difference.buffer];
    const double error = part_of_acceptable(difference, buffer.dtype);
    if (error <= result.worst_error) continue;
    result.worst_error = error;
    result.worst_buffer = buffer.name;
  }
  return {};
}

}  // namespace

bool Verification::is_good(DType weights) const {
  if (worst_error > 1) return false;
  return is_finite && (weights != DType::f32 || largest_difference <= 1e-4 * largest_logit);
}

Result<Verification> verify_model(const ModelConfig& config, const TensorSet& tensors,
                                  const SessionOptions& options, std::uint32_t steps) {
  SessionOptions plain;
  plain.rows = options.rows;
  plain.capacity = options.capacity;
  plain.fuse_norms = false;
  MGTUNE_ASSIGN(Session session, Session::create(config, tensors, options));
  MGTUNE_ASSIGN(Session expected, Session::create(config, tensors, plain));
  Verification result;
  for (const Program& program : session.programs()) {
    MGTUNE_ASSIGN(const ProgramSummary summary, check_program(program));
    result.programs.push_back(summary);
  }
  result.steps = std::min(steps, session.capacity());
  for (std::uint32_t step = 0; step < result.steps; ++step) {
    std::vector<std::int32_t> tokens;
    for (std::uint32_t row = 0; row < session.rows(); ++row) {
      // Any tokens will do. These are spread over the vocabulary.
      const std::uint64_t token = (std::uint64_t{step} * session.rows() + row + 1) * 7919;
      tokens.push_back(static_cast<std::int32_t>(token % session.vocabulary()));
    }
    MGTUNE_TRY(session.step(tokens));
    MGTUNE_TRY(expected.step(tokens));
    for (std::uint32_t row = 0; row < session.rows(); ++row) {
      MGTUNE_ASSIGN(const std::vector<float> logits, session.logits(row));
      MGTUNE_ASSIGN(const std::vector<float> wanted, expected.logits(row));
      compare_logits(wanted, logits, result);
    }
  }
  result.mean_kl /= std::max(result.choices, 1U);
  MGTUNE_TRY(compare_instructions(session, result));
  return result;
}

}  // namespace mgtune::engine
