#include <fmt/format.h>

#include <iostream>
#include <iterator>

#include "command/model_arguments.h"
#include "generate/model_source.h"
#include "program/operation.h"
#include "verify/verify_model.h"
#include "ways/ways.h"

namespace mgtune::engine {
namespace {

class VerifyCommand final : public Command {
 public:
  std::string details() const override {
    return "Examples:\n"
           "  mgengine verify --model stories260K/\n"
           "  mgengine verify --model Llama-3.2-1B/ --dtype bf16 --batch 4 --steps 8\n"
           "\n"
           "The programs of all buckets are validated. Then their logits are compared with those\n"
           "of a second program, in which no instruction is fused and only weights are rounded.\n"
           "The reference runs it. The exit code is 1 if logits are not finite, or differ by more\n"
           "than rounding explains: 0.0001 of the largest logit in f32, 0.01 in f16, 0.08 in "
           "bf16.\n"
           "With --way steps, every instruction of one more step is compared with the reference\n"
           "too. With --way graph, the same is done step by step, and the graphs must give the\n"
           "same bits as the steps.";
  }

  void declare(ArgumentList& arguments) override {
    model_.declare(arguments, "f32", kModelHelp);
    arguments.integer("--batch", rows_, 1, kMaxRows, "How many sequences");
    arguments.integer("--steps", steps_, 1, 1U << 20, "How many tokens per sequence");
    arguments.integer("--queues", queues_, 1, 1024, "Queues that run at the same time");
    arguments.integer("--workers", workers_, 1, 1U << 20,
                      "Into how many parts attention may be split, for example the SMs of the GPU");
  }

  Result<int> run() override {
    MGTUNE_ASSIGN(const ModelSource source, open_model(model_.model));
    SessionOptions options;
    options.rows = rows_;
    options.precision = model_.precision();
    MGTUNE_ASSIGN(options.machine, model_.machine());
    options.queues = queues_;
    options.workers = workers_;
    options.capacity = std::min(source.config.positions, std::max(steps_, 2048U));
    MachineFactory witness;
    if (model_.way == "graph") witness = machine_of("steps", model_.device);
    MGTUNE_ASSIGN(const Verification result,
                  verify_model(source.config, source.tensors, options, steps_, witness));
    const DType dtype = options.precision.activations;
    print(result, dtype);
    return result.is_good(dtype) ? 0 : 1;
  }

 private:
  static std::string programs_text(const Verification& result) {
    std::string text;
    for (const ProgramSummary& program : result.programs) {
      fmt::format_to(
          std::back_inserter(text),
          "valid: positions below {}: {} instructions, {} buffers; {:.2f} MB of weights, "
          "{:.2f} MB of state, {} bytes of scratch\n",
          program.positions, program.instructions, program.buffers,
          static_cast<double>(program.weight_bytes) / 1e6,
          static_cast<double>(program.state_bytes) / 1e6, program.scratch_bytes);
    }
    return text;
  }

  std::string comparisons_text(const Verification& result, DType dtype) const {
    std::string text;
    const auto out = std::back_inserter(text);
    fmt::format_to(
        out,
        "logits: {} steps with --way {} in {}, against the reference in f32 with the same weights: "
        "largest difference {:.3g}, {:.2g} of the largest logit (rounding explains {:.2g}), mean "
        "KL {:.3g}, same token {} of {} times\n",
        result.steps, model_.way, model_.dtype, result.largest_difference, result.error(),
        acceptable_logit_error(dtype), result.mean_kl, result.same_choices, result.choices);
    if (result.has_bits_of_steps) {
      fmt::format_to(out, "bits: the logits {} those of --way steps\n",
                     *result.has_bits_of_steps ? "are" : "are not");
    }
    if (result.compared_buffers > 0) {
      fmt::format_to(out,
                     "instructions: {} buffers after one step with --way steps, against the "
                     "reference: the largest error is {:.2g} of what rounding explains{}\n",
                     result.compared_buffers, result.worst_error,
                     result.worst_buffer.empty() ? "" : ", of " + result.worst_buffer);
    } else if (model_.way != "reference") {
      text += "instructions: not compared, the model has room for one position only\n";
    } else {
      text += "instructions: not compared, --way reference runs no kernels\n";
    }
    return text;
  }

  void print(const Verification& result, DType dtype) const {
    std::cout << programs_text(result);
    if (!result.not_finite.empty()) {
      std::cout << "FAILED: " << result.not_finite << '\n';
      return;
    }
    std::cout << comparisons_text(result, dtype);
    if (result.error() > acceptable_logit_error(dtype) || result.worst_error > 1) {
      std::cout << "FAILED: the difference is more than rounding\n";
    }
    if (!result.has_bits_of_steps.value_or(true)) {
      std::cout << "FAILED: the ways graph and steps do not give the same bits\n";
    }
    if (result.is_good(dtype)) std::cout << "ok\n";
  }

  ModelArguments model_;
  std::uint32_t rows_ = 1;
  std::uint32_t steps_ = 16;
  std::uint32_t queues_ = 1;
  std::uint32_t workers_ = 1;
};

}  // namespace

std::unique_ptr<Command> make_verify_command() { return std::make_unique<VerifyCommand>(); }

}  // namespace mgtune::engine
