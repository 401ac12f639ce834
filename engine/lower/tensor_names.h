// The names and shapes of a model's tensors in its files. Pure functions.

#pragma once

#include <cstdint>
#include <vector>

#include "model/model_config.h"
#include "weights/weight_recipe.h"

namespace mgtune::engine {

enum class LayerTensor : std::uint8_t {
  attention_norm,
  qkv,  // the rows of the projections to queries, then keys, then values
  attention_output,
  inner_norm,
  up,  // if there is a gate: its rows first, then the rows of up
  down,
};

// The parts of a layer's weight, or of its bias.
std::vector<WeightPart> layer_weight(const ModelConfig& config, LayerTensor tensor,
                                     std::uint32_t layer);
std::vector<WeightPart> layer_bias(const ModelConfig& config, LayerTensor tensor,
                                   std::uint32_t layer);

std::vector<WeightPart> embedding_weight(const ModelConfig& config);
std::vector<WeightPart> position_weight(const ModelConfig& config);  // of learned positions
std::vector<WeightPart> final_norm_weight(const ModelConfig& config);
std::vector<WeightPart> final_norm_bias(const ModelConfig& config);
std::vector<WeightPart> head_weight(const ModelConfig& config);  // unless the head is tied

}  // namespace mgtune::engine
