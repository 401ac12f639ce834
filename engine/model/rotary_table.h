// The cosines and sines of a model's rotary embedding. A pure function.

#pragma once

#include <cstdint>
#include <vector>

#include "model/model_config.h"

namespace mgtune::engine {

// positions x (head_dim / 2) x 2: for each position and frequency the cosine, then the sine.
std::vector<float> rotary_table(const ModelConfig& config, std::uint32_t positions);

}  // namespace mgtune::engine
