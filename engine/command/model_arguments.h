// The arguments that the commands share: which model, in which precision, run in which way.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "command/command.h"
#include "core/status.h"
#include "generate/session.h"
#include "lower/lower.h"

namespace mgtune::engine {

// Of --model, for commands that need weights, and for those that may take random ones.
inline constexpr const char* kModelHelp =
    "Folder with config.json and model.safetensors or its shards, or a llama2.c file (.bin)";
inline constexpr const char* kModelOrConfigHelp =
    "Folder of the model or llama2.c file (.bin); with --random-weights also a config.json, or a "
    "shipped config by its name";

struct ModelArguments {
  std::string model;
  std::string dtype;         // of weights, activations and caches
  std::string way = "auto";  // machine() replaces it with the way that it means
  std::string device = "auto";

  void declare(ArgumentList& arguments, const std::string& default_dtype,
               const std::string& model_help);
  // All but --way.
  void declare_model(ArgumentList& arguments, const std::string& default_dtype,
                     const std::string& model_help);
  Precision precision() const;  // the residual stream is f32
  // With tuned rows from this file; "": from where programs have them. Removes the temporary
  // folders of killed processes if the way compiles kernels.
  Result<MachineFactory> machine(const std::string& database = "");

  // The model in its precision and way; the other options are the caller's. With random weights, a
  // config is enough.
  Result<Session> session(SessionOptions options, bool has_random_weights,
                          const std::string& database = "");
};

// Of --random-weights.
inline constexpr const char* kRandomWeightsHelp =
    "Take random weights: a config.json is enough, or the name of a shipped one: gpt2, "
    "llama-3.1-8b, llama-3.2-1b, mistral-7b, qwen2.5-7b";

// Of --positions: "1,128,512". invalid_argument, naming the word, if one is no position.
Result<std::vector<std::uint32_t>> parse_positions(const std::string& list);

// Of these positions, those that a model with `end` positions has; the first that it lacks becomes
// its last one.
std::vector<std::uint32_t> positions_below(std::uint32_t end,
                                           std::initializer_list<std::uint32_t> positions);

// Of --positions and --capacity of `tune` and `show kernels`: whose tokens are timed.
struct TokenPositions {
  std::string list;            // "": 128, 512 and 2,047, as far as the model has positions
  std::uint32_t capacity = 0;  // of the caches; 0: up to the largest position

  void declare(ArgumentList& arguments);  // --positions alone

  // Sets the capacity if it is 0. invalid_argument if a position is not below it.
  Result<std::vector<std::uint32_t>> resolve(const ModelConfig& config);
};

}  // namespace mgtune::engine
