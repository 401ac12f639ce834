// Finds tensors of a model's layers that a program does not use. The config then names fewer layers
// or biases than the files have, and the text would be wrong without any message. A pure function.

#pragma once

#include <vector>

#include "core/status.h"
#include "model/model_config.h"
#include "weights/tensor_set.h"
#include "weights/weight_recipe.h"

namespace mgtune::engine {

// corrupt, with the file, the tensor and what the config says, if a tensor of a layer is in no
// recipe. Tables that published models have beside their weights are accepted: the engine computes
// them itself.
Status refuse_unused_tensors(const std::vector<WeightRecipe>& recipes, const ModelConfig& config,
                             const TensorSet& set);

}  // namespace mgtune::engine
