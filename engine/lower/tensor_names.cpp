#include "lower/tensor_names.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace mgtune::engine {
namespace {

// A piece of a layer: its name in both schemes comes from the two functions below.
struct Piece {
  std::string_view name;
  std::uint64_t out = 0;
  std::uint64_t in = 0;  // 0 for a norm
};

std::vector<Piece> llama_pieces(const ModelConfig& config, LayerTensor tensor) {
  const std::uint64_t q_width = std::uint64_t{config.heads} * config.head_dim;
  const std::uint64_t kv_width = std::uint64_t{config.kv_heads} * config.head_dim;
  switch (tensor) {
    case LayerTensor::attention_norm:
      return {{"input_layernorm", config.width}};
    case LayerTensor::qkv:
      return {{"self_attn.q_proj", q_width, config.width},
              {"self_attn.k_proj", kv_width, config.width},
              {"self_attn.v_proj", kv_width, config.width}};
    case LayerTensor::attention_output:
      return {{"self_attn.o_proj", config.width, q_width}};
    case LayerTensor::inner_norm:
      return {{"post_attention_layernorm", config.width}};
    case LayerTensor::up:
      return {{"mlp.gate_proj", config.inner, config.width},
              {"mlp.up_proj", config.inner, config.width}};
    case LayerTensor::down:
      break;
  }
  return {{"mlp.down_proj", config.width, config.inner}};
}

std::vector<Piece> gpt2_pieces(const ModelConfig& config, LayerTensor tensor) {
  switch (tensor) {
    case LayerTensor::attention_norm:
      return {{"ln_1", config.width}};
    case LayerTensor::qkv:
      return {{"attn.c_attn", 3 * std::uint64_t{config.width}, config.width}};
    case LayerTensor::attention_output:
      return {{"attn.c_proj", config.width, config.width}};
    case LayerTensor::inner_norm:
      return {{"ln_2", config.width}};
    case LayerTensor::up:
      return {{"mlp.c_fc", config.inner, config.width}};
    case LayerTensor::down:
      break;
  }
  return {{"mlp.c_proj", config.width, config.inner}};
}

std::vector<WeightPart> layer_parts(const ModelConfig& config, LayerTensor tensor,
                                    std::uint32_t layer, std::string_view suffix) {
  const bool is_gpt2 = config.names == NameScheme::gpt2;
  const bool is_bias = suffix == "bias";
  std::vector<WeightPart> parts;
  for (const Piece& piece : is_gpt2 ? gpt2_pieces(config, tensor) : llama_pieces(config, tensor)) {
    WeightPart part;
    part.tensor = fmt::format("{}.{}.{}.{}", is_gpt2 ? "h" : "layers", layer, piece.name, suffix);
    part.shape = {piece.out};
    if (piece.in != 0 && !is_bias) {
      part.transposed = is_gpt2;
      part.shape = is_gpt2 ? std::vector{piece.in, piece.out} : std::vector{piece.out, piece.in};
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

std::vector<WeightPart> layer_weight(const ModelConfig& config, LayerTensor tensor,
                                     std::uint32_t layer) {
  return layer_parts(config, tensor, layer, "weight");
}

std::vector<WeightPart> layer_bias(const ModelConfig& config, LayerTensor tensor,
                                   std::uint32_t layer) {
  return layer_parts(config, tensor, layer, "bias");
}

std::vector<WeightPart> embedding_weight(const ModelConfig& config) {
  const bool is_gpt2 = config.names == NameScheme::gpt2;
  return {{is_gpt2 ? "wte.weight" : "embed_tokens.weight", {config.vocabulary, config.width}}};
}

std::vector<WeightPart> position_weight(const ModelConfig& config) {
  return {{"wpe.weight", {config.positions, config.width}}};
}

std::vector<WeightPart> final_norm_weight(const ModelConfig& config) {
  return {{config.names == NameScheme::gpt2 ? "ln_f.weight" : "norm.weight", {config.width}}};
}

std::vector<WeightPart> final_norm_bias(const ModelConfig& config) {
  return {{config.names == NameScheme::gpt2 ? "ln_f.bias" : "norm.bias", {config.width}}};
}

std::vector<WeightPart> head_weight(const ModelConfig& config) {
  return {{"lm_head.weight", {config.vocabulary, config.width}}};
}

}  // namespace mgtune::engine
