// Choosing a token from logits. Pure functions.

#pragma once

#include <cstdint>
#include <span>

namespace mgtune::engine {

// The index of the largest element, the lowest one of equals. NaN counts as the smallest, and
// without a number the index is 0.
std::int32_t argmax(std::span<const float> logits);

// A random token: softmax of the logits divided by the temperature, cut to the fewest most likely
// tokens whose probabilities add up to top_p, and from these, in the order of the vocabulary, by
// `uniform` from [0, 1). With a temperature of 0 it is argmax(). top_p outside of (0, 1) cuts
// nothing. Of tokens with equal probabilities the first ones are kept.
std::int32_t sample_token(std::span<const float> logits, float temperature, float top_p,
                          float uniform);

}  // namespace mgtune::engine
