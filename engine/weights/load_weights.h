// Fills the arena of a program's weights from a model's tensors, or with random numbers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/status.h"
#include "model/model_config.h"
#include "program/program.h"
#include "weights/tensor_set.h"
#include "weights/weight_recipe.h"

namespace mgtune::engine {

// A piece of memory of zeros. environment if the machine does not have that much.
Result<std::vector<std::byte>> allocate_arena(std::uint64_t bytes);

// corrupt, with the file and the tensor, if a tensor is missing, is there under two names, or has
// another shape than the config says, or if a tensor of a layer is not used
// (weights/unused_tensors.h); unsupported if its dtype holds no weights.
Result<std::vector<std::byte>> load_weights(const Program& program,
                                            const std::vector<WeightRecipe>& recipes,
                                            const ModelConfig& config, const TensorSet& tensors);

// Numbers from a uniform distribution with the standard deviation 0.02; norms get ones. For
// benchmarks: the speed does not depend on the values.
Result<std::vector<std::byte>> random_weights(const Program& program,
                                              const std::vector<WeightRecipe>& recipes,
                                              const ModelConfig& config, std::uint64_t seed);

}  // namespace mgtune::engine
