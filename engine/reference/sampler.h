// Choosing a token from logits. Pure functions.

#pragma once

#include <cstdint>
#include <span>

namespace mgtune::engine {

// The index of the largest element. If several are equal, the first one counts. NaN counts as the
// smallest value; if all elements are NaN, the index is 0.
std::int32_t argmax(std::span<const float> logits);

// Draws a random token. The probabilities are the softmax of the logits divided by the temperature.
// Only the most likely tokens are kept: the fewest whose probabilities add up to top_p. Of tokens
// with equal probabilities the first ones are kept; a top_p outside of (0, 1) keeps all tokens.
// `uniform`, from [0, 1), selects among the kept tokens in the order of the vocabulary. With a
// temperature of 0 the result is argmax().
std::int32_t sample_token(std::span<const float> logits, float temperature, float top_p,
                          float uniform);

}  // namespace mgtune::engine
