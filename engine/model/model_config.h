// ModelConfig: a decoder-only language model as data: its sizes, and which norm, positions and
// activation it has. It is read from config.json of a Hugging Face model, or from the header of a
// llama2.c file (weights/llama2c_file.h). Pure functions on plain data.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "program/instruction.h"

namespace mgtune::engine {

// How the names of a model's tensors are formed.
enum class NameScheme : std::uint8_t {
  llama,  // layers.0.self_attn.q_proj.weight: Llama, Mistral, Qwen2
  gpt2,   // h.0.attn.c_attn.weight, with matrices that are [in, out]
};

// A change of the frequencies of a rotary embedding, for contexts that are longer than in training.
struct RotaryScaling {
  enum class Kind : std::uint8_t { none, linear, llama3 };
  Kind kind = Kind::none;
  double factor = 1;
  double low_frequency_factor = 1;  // llama3 only, like the two below
  double high_frequency_factor = 4;
  std::int64_t original_positions = 8192;
};

struct ModelConfig {
  std::string family;  // "llama", as model_type in config.json
  NameScheme names = NameScheme::llama;
  std::uint32_t layers = 0;
  std::uint32_t width = 0;  // of the residual stream
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t inner = 0;  // columns between the two parts of the feed-forward network
  std::uint32_t vocabulary = 0;
  std::uint32_t positions = 0;  // that the model was made for
  Norm norm = Norm::rms;
  float epsilon = 1e-5F;
  Activation activation = Activation::silu_gate;
  Rotation rotation = Rotation::halves;  // none: learned positions
  double rotary_theta = 10000;
  RotaryScaling rotary_scaling;
  std::uint32_t window = 0;  // keys that a query sees; 0: all
  bool qkv_bias = false;
  bool output_bias = false;              // of attention
  bool inner_bias = false;               // of the feed-forward network
  bool tied_head = false;                // the head is the embedding
  std::vector<std::int32_t> end_tokens;  // text ends with any of these
};

// `file` is the name for messages. invalid_argument with file and field for a config that is wrong
// or incomplete; unsupported, likewise, for a model that this engine cannot run.
Result<ModelConfig> parse_model_config(const std::string& file, std::string_view text);

// The names that a file has for the sizes of a model.
struct SizeNames {
  std::string_view layers;
  std::string_view width;
  std::string_view heads;
  std::string_view kv_heads;
  std::string_view head_dim;
  std::string_view inner;
  std::string_view vocabulary;
  std::string_view positions;
};

// The names in config.json, for each of the two schemes.
const SizeNames& size_names(NameScheme scheme);

// invalid_argument if the sizes are impossible, for example if the number of heads is not a
// multiple of the number of key heads. `where` is the file for messages, and `names` are its words.
// This checks both config.json and the headers of llama2.c.
Status check_model_sizes(const ModelConfig& config, std::string_view where, const SizeNames& names);

}  // namespace mgtune::engine
