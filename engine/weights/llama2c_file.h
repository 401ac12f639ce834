// A model in the format of llama2.c: a header of seven numbers, then all weights in f32, in a fixed
// order. Its tensors get the names that Hugging Face gives them, so that they are loaded alike.

#pragma once

#include <string>
#include <string_view>

#include "core/status.h"
#include "model/model_config.h"
#include "weights/tensor_set.h"

namespace mgtune::engine {

struct Llama2cModel {
  ModelConfig config;
  TensorMap tensors;  // they point into the bytes
};

// `file` is the name for messages. corrupt, with file and field, if a number of the header is
// impossible or if the file has another size than the header says.
Result<Llama2cModel> parse_llama2c(const std::string& file, std::string_view bytes);

}  // namespace mgtune::engine
