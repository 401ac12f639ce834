#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iostream>

#include "command/model_arguments.h"
#include "generate/generator.h"
#include "generate/model_source.h"

namespace mgtune::engine {
namespace {

class GenerateCommand final : public Command {
 public:
  std::string details() const override {
    return "Examples:\n"
           "  mgengine generate --model stories260K/ --prompt \"Once upon a time\" --tokens 196\n"
           "  mgengine generate --model Llama-3.2-1B/ --prompt \"My name is\" --temperature 0.8 "
           "--top-p 0.9\n"
           "\n"
           "The text goes to standard output as it is made, the speed to standard error.";
  }

  void declare(ArgumentList& arguments) override {
    model_.declare(arguments, "f32", kModelHelp);
    arguments.value("--prompt", prompt_, "TEXT", "The text to continue");
    arguments.integer("--tokens", tokens_, 1, 1U << 20, "How many new tokens, at most");
    arguments.number("--temperature", temperature_, 0, 100,
                     "0 takes the most likely token; above 0 tokens are random, likely ones more "
                     "often");
    arguments.number("--top-p", top_p_, 0, 1,
                     "Choose among the most likely tokens that have this probability together");
    arguments.seed("--seed", seed_, "Of the random numbers: the same seed gives the same text");
    arguments.value("--tokenizer", tokenizer_, "FILE",
                    "tokenizer.json or tok*.bin (default: in the model's folder)");
  }

  Result<int> run() override {
    if (top_p_ == 0) {
      return invalid_argument("--top-p 0 keeps no token: it must be above 0, and at most 1");
    }
    MGTUNE_ASSIGN(const ModelSource source, open_model(model_.model));
    const std::string path = tokenizer_.empty() ? source.tokenizer : tokenizer_;
    if (path.empty()) {
      return invalid_argument(
          fmt::format("{}: there is no tokenizer beside the model; name one with --tokenizer FILE",
                      model_.model));
    }
    MGTUNE_ASSIGN(const std::unique_ptr<Tokenizer> tokenizer,
                  open_tokenizer(path, source.config.vocabulary));
    MGTUNE_ASSIGN(std::vector<std::int32_t> prompt, tokenizer->encode(prompt_));
    if (prompt.empty()) {
      return invalid_argument("the prompt has no tokens; give some text with --prompt TEXT");
    }
    SessionOptions options;
    options.precision = model_.precision();
    MGTUNE_ASSIGN(options.machine, model_.machine());
    options.sample = temperature_ > 0;
    const std::uint64_t needed = prompt.size() + tokens_ - 1;
    if (prompt.size() > source.config.positions) {
      return invalid_argument(
          fmt::format("the prompt has {} tokens, but the model was made for {}: shorten the prompt",
                      prompt.size(), source.config.positions));
    }
    if (needed > source.config.positions) {
      return invalid_argument(
          fmt::format("the prompt has {} tokens, and {} new ones are asked for, but the model was "
                      "made for {}; choose fewer with --tokens",
                      prompt.size(), tokens_, source.config.positions));
    }
    // Only a few capacities are possible, so kernels are seldom compiled again and tuned variants
    // fit.
    options.capacity = std::min(source.config.positions,
                                std::max(2048U, std::bit_ceil(static_cast<std::uint32_t>(needed))));
    MGTUNE_ASSIGN(Session session, Session::create(source.config, source.tensors, options));
    return generate_text(session, *tokenizer, prompt, source.config);
  }

 private:
  Result<int> generate_text(Session& session, const Tokenizer& tokenizer,
                            const std::vector<std::int32_t>& prompt, const ModelConfig& config) {
    GenerateOptions options;
    options.tokens = tokens_;
    options.temperature = static_cast<float>(temperature_);
    options.top_p = static_cast<float>(top_p_);
    options.seed = seed_;
    options.end_tokens = config.end_tokens;
    std::cout << prompt_ << std::flush;
    MGTUNE_ASSIGN(const Generated generated,
                  generate(session, tokenizer, prompt, options,
                           [](std::string_view text) { std::cout << text << std::flush; }));
    std::cout << '\n';
    const auto count = static_cast<double>(generated.tokens.size());
    std::cerr << fmt::format("{} new tokens in {:.3f} s: {:.1f} tokens/s (way {}, {})\n",
                             generated.tokens.size(), generated.seconds, count / generated.seconds,
                             model_.way, model_.dtype);
    return 0;
  }

  ModelArguments model_;
  std::string prompt_;
  std::string tokenizer_;
  std::uint32_t tokens_ = 64;
  double temperature_ = 0;
  double top_p_ = 1;
  std::uint64_t seed_ = 1;
};

}  // namespace

std::unique_ptr<Command> make_generate_command() { return std::make_unique<GenerateCommand>(); }

}  // namespace mgtune::engine
