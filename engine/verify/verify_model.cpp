#include "verify/verify_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

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

void note_not_finite(const std::vector<float>& logits, std::string_view whose, std::uint32_t step,
                     std::uint32_t row, Verification& result) {
  const auto is_other = [](float logit) { return !std::isfinite(logit); };
  const auto first = std::ranges::find_if(logits, is_other);
  if (first == logits.end() || !result.not_finite.empty()) return;
  result.not_finite = fmt::format(
      "of {}, {} of {} logits are not finite in step {} of sequence {}; that of token "
      "{} is {}",
      whose, std::ranges::count_if(logits, is_other), logits.size(), step, row,
      first - logits.begin(), *first);
}

void compare_logits(const std::vector<float>& expected, const std::vector<float>& logits,
                    Verification& result) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    result.largest_logit = std::max(result.largest_logit, std::abs(double{expected[i]}));
    result.largest_difference =
        std::max(result.largest_difference, std::abs(double{logits[i]} - expected[i]));
  }
  result.mean_kl += kl_divergence(expected, logits);
  result.same_choices += argmax(expected) == argmax(logits) ? 1 : 0;
  ++result.choices;
}

bool have_equal_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

// acceptable_error() is 0 for integers, so any error of theirs becomes infinite.
double part_of_acceptable(const BufferDifference& difference, DType dtype) {
  if (difference.error == 0) return 0;
  return difference.error / acceptable_error(dtype);
}

StepsMachine* steps_machine_of(Session& session) {
  return dynamic_cast<StepsMachine*>(&session.machine());
}

// Compares the instructions of one more step.
Status compare_instructions(Session& session, Verification& result) {
  StepsMachine* const machine = steps_machine_of(session);
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

// Any tokens will do. These are spread over the vocabulary.
std::vector<std::int32_t> tokens_of_step(const Session& session, std::uint32_t step) {
  std::vector<std::int32_t> tokens;
  for (std::uint32_t row = 0; row < session.rows(); ++row) {
    const std::uint64_t token = (std::uint64_t{step} * session.rows() + row + 1) * 7919;
    tokens.push_back(static_cast<std::int32_t>(token % session.vocabulary()));
  }
  return tokens;
}

// What is under test, and what it is compared with.
struct Sessions {
  Session tested;
  Session expected;
  std::optional<Session> witness;
};

Status compare_step(Sessions& sessions, std::uint32_t step, Verification& result) {
  const std::vector<std::int32_t> tokens = tokens_of_step(sessions.tested, step);
  MGTUNE_TRY(sessions.tested.step(tokens));
  MGTUNE_TRY(sessions.expected.step(tokens));
  if (sessions.witness) MGTUNE_TRY(sessions.witness->step(tokens));
  for (std::uint32_t row = 0; row < sessions.tested.rows(); ++row) {
    MGTUNE_ASSIGN(const std::vector<float> wanted, sessions.expected.logits(row));
    MGTUNE_ASSIGN(const std::vector<float> logits, sessions.tested.logits(row));
    note_not_finite(wanted, "the reference", step, row, result);
    note_not_finite(logits, "the programs", step, row, result);
    compare_logits(wanted, logits, result);
    if (!sessions.witness) continue;
    MGTUNE_ASSIGN(const std::vector<float> same, sessions.witness->logits(row));
    result.has_bits_of_steps =
        result.has_bits_of_steps.value_or(true) && have_equal_bits(logits, same);
  }
  return {};
}

}  // namespace

double acceptable_logit_error(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 1e-2;
    case DType::bf16:
      return 8e-2;
    default:
      return 1e-4;
  }
}

bool Verification::is_good(DType dtype) const {
  return not_finite.empty() && error() <= acceptable_logit_error(dtype) && worst_error <= 1 &&
         has_bits_of_steps.value_or(true);
}

Result<Verification> verify_model(const ModelConfig& config, const TensorSet& tensors,
                                  const SessionOptions& options, std::uint32_t steps,
                                  const MachineFactory& witness) {
  SessionOptions plain;
  plain.rows = options.rows;
  plain.capacity = options.capacity;
  plain.precision.weights = options.precision.weights;
  plain.fuse_norms = false;
  SessionOptions other = options;
  other.machine = witness;
  MGTUNE_ASSIGN(Session tested, Session::create(config, tensors, options));
  MGTUNE_ASSIGN(Session expected, Session::create(config, tensors, plain));
  Sessions sessions{std::move(tested), std::move(expected), std::nullopt};
  if (witness) {
    MGTUNE_ASSIGN(sessions.witness, Session::create(config, tensors, other));
  }
  Verification result;
  for (const Program& program : sessions.tested.programs()) {
    MGTUNE_ASSIGN(const ProgramSummary summary, check_program(program));
    result.programs.push_back(summary);
  }
  Session& by_steps = sessions.witness ? *sessions.witness : sessions.tested;
  const std::uint32_t one_more = steps_machine_of(by_steps) != nullptr ? 1 : 0;
  result.steps = std::clamp(steps, 1U, std::max(sessions.tested.capacity() - one_more, 1U));
  for (std::uint32_t step = 0; step < result.steps && result.not_finite.empty(); ++step) {
    MGTUNE_TRY(compare_step(sessions, step, result));
  }
  if (!result.not_finite.empty()) return result;
  result.mean_kl /= std::max(result.choices, 1U);
  MGTUNE_TRY(compare_instructions(by_steps, result));
  return result;
}

}  // namespace mgtune::engine
