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

// The help of --model: for commands that need weights, and for commands that can take random ones.
inline constexpr const char* kModelHelp =
    "Folder with config.json and model.safetensors or its shards, or a llama2.c file (.bin)";
inline constexpr const char* kModelOrConfigHelp =
    "Folder of the model or llama2.c file (.bin); with --random-weights also a config.json, or a "
    "shipped config by its name";

struct ModelArguments {
  std::string model;
  std::string dtype;         // of weights, activations and caches
  std::string way = "auto";  // machine() replaces "auto" with the way that it stands for
  std::string device = "auto";

  void declare(ArgumentList& arguments, const std::string& default_dtype,
               const std::string& model_help);
  // Declares all of these arguments except --way.
  void declare_model(ArgumentList& arguments, const std::string& default_dtype,
                     const std::string& model_help);
  Precision precision() const;  // the residual stream is f32
  // The machine uses tuned rows from this file; with "", from the files that programs use by
  // default. If the way compiles kernels, the call also removes the temporary folders of killed
  // processes.
  Result<MachineFactory> machine(const std::string& database = "");

  // Makes a session of the model with this precision and way; the caller sets the other options.
  // With random weights, a config is enough.
  Result<Session> session(SessionOptions options, bool has_random_weights,
                          const std::string& database = "");
};

// The help of --random-weights.
inline constexpr const char* kRandomWeightsHelp =
    "Take random weights: a config.json is enough, or the name of a shipped one: gpt2, "
    "llama-3.1-8b, llama-3.2-1b, mistral-7b, qwen2.5-7b";

// Parses the value of --positions, for example "1,128,512". invalid_argument, with the word, if a
// word is not a position.
Result<std::vector<std::uint32_t>> parse_positions(const std::string& list);

// The ascending positions that are below `end`. If some are not, the result ends with end - 1.
std::vector<std::uint32_t> positions_below(std::uint32_t end,
                                           std::initializer_list<std::uint32_t> positions);

// The arguments --positions and --capacity of `tune` and `show kernels`: the positions whose tokens
// count.
struct TokenPositions {
  std::string list;            // "": 128, 512 and 2,047, as far as the model has positions
  std::uint32_t capacity = 0;  // of the caches; 0: up to the largest position

  void declare(ArgumentList& arguments);  // declares --positions only

  // Sets the capacity if it is 0. invalid_argument if a position is not below it.
  Result<std::vector<std::uint32_t>> resolve(const ModelConfig& config);
};

}  // namespace mgtune::engine
