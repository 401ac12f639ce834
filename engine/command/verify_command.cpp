#include <fmt/format.h>

#include <iostream>
#include <iterator>

#include "command/model_arguments.h"
#include "generate/model_source.h"
#include "program/operation.h"
#include "verify/verify_model.h"

namespace mgtune::engine {
namespace {

class VerifyCommand final : public Command {
 public:
  std::string details() const override {
    return "Examples:\n"
           "  mgengine verify --model stories260K/\n"
           "  mgengine verify --model Llama-3.2-1B/ --dtype bf16 --batch 4 --steps 8\n"
           "\n"
           "The programs of all buckets are validated. Then their logits are compared with those "
           "of\n"
           "a second program in f32, in which no instruction is fused. The exit code is 1 if "
           "logits\n"
           "are not finite, or if they differ in f32 by more than rounding explains. By the way\n"
           "steps every instruction of one more step is compared with the reference too.";
  }

  void declare(ArgumentList& arguments) override {
    model_.declare(arguments, "f32");
    arguments.integer("--batch", rows_, 1, kMaxRows, "How many sequences");
    arguments.integer("--steps", steps_, 1, 1U << 20, "How many tokens per sequence");
    arguments.integer("--queues", queues_, 1, 1024, "Queues that run at the same time");
    arguments.integer("--workers", workers_, 1, 1U << 20,
                      "Parallel units that attention should have work for");
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
    MGTUNE_ASSIGN(const Verification result,
                  verify_model(source.config, source.tensors, options, steps_));
    const bool is_good = result.is_good(options.precision.weights);
    print(result, is_good);
    return is_good ? 0 : 1;
  }

 private:
  void print(const Verification& result, bool is_good) const {
    std::string text;
    const auto out = std::back_inserter(text);
    for (const ProgramSummary& program : result.programs) {
      fmt::format_to(
          out,
          "valid: positions below {}: {} instructions, {} buffers; {:.2f} MB of weights, "
          "{:.2f} MB of state, {} bytes of scratch\n",
          program.positions, program.instructions, program.buffers,
          static_cast<double>(program.weight_bytes) / 1e6,
          static_cast<double>(program.state_bytes) / 1e6, program.scratch_bytes);
    }
    fmt::format_to(
        out,
        "{} steps in {} against f32: largest difference of a logit {:.3g} (largest logit "
        "{:.3g}), mean KL {:.3g}, same token {} of {} times\n",
        result.steps, model_.dtype, result.largest_difference, result.largest_logit, result.mean_kl,
        result.same_choices, result.choices);
    if (result.compared_buffers > 0) {
      fmt::format_to(out,
                     "{} buffers compared with the reference after their instructions: the largest "
                     "error is {:.2g} of what rounding explains{}\n",
                     result.compared_buffers, result.worst_error,
                     result.worst_buffer.empty() ? "" : ", of " + result.worst_buffer);
    }
    if (!result.is_finite) text += "FAILED: a logit is not finite\n";
    if (result.is_finite && !is_good) text += "FAILED: the difference is more than rounding\n";
    if (is_good) text += "ok\n";
    std::cout << text;
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
