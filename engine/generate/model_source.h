// ModelSource: a model on disk: its config, its tensors, and where its tokenizer is. It is a folder
// of Hugging Face (config.json, model.safetensors, tokenizer.json), or a llama2.c file.

#pragma once

#include <string>

#include "core/status.h"
#include "model/model_config.h"
#include "weights/tensor_set.h"

namespace mgtune::engine {

struct ModelSource {
  ModelConfig config;
  TensorSet tensors;
  std::string tokenizer;  // the path of its file; empty if there is none
};

// `path` is a folder, or a llama2.c file. A folder without config.json has one llama2.c file: the
// only .bin whose name does not begin with "tok". io, corrupt, or what parse_model_config() says.
Result<ModelSource> open_model(const std::string& path);

// Reads the config alone. `path` is a model as above, a file config.json without weights, or the
// name of a shipped config (configs/models), such as "llama-3.2-1b". corrupt if its text is wrong.
Result<ModelConfig> open_config(const std::string& path);

}  // namespace mgtune::engine
