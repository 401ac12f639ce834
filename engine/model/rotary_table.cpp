#include "model/rotary_table.h"

#include <cmath>
#include <numbers>

namespace mgtune::engine {
namespace {

double scaled_frequency(const RotaryScaling& scaling, double frequency) {
  if (scaling.kind == RotaryScaling::Kind::none) return frequency;
  if (scaling.kind == RotaryScaling::Kind::linear) return frequency / scaling.factor;
  // Llama 3.1: long waves are stretched, short ones are kept, and those between are blended.
  const double turns =
      static_cast<double>(scaling.original_positions) * frequency / (2 * std::numbers::pi);
  if (turns < scaling.low_frequency_factor) return frequency / scaling.factor;
  if (turns > scaling.high_frequency_factor) return frequency;
  const double kept = (turns - scaling.low_frequency_factor) /
                      (scaling.high_frequency_factor - scaling.low_frequency_factor);
  return (1 - kept) * frequency / scaling.factor + kept * frequency;
}

}  // namespace

std::vector<float> rotary_table(const ModelConfig& config, std::uint32_t positions) {
  std::vector<double> frequencies;
  for (std::uint32_t i = 0; i < config.head_dim / 2; ++i) {
    const double frequency = std::pow(config.rotary_theta, -2.0 * i / config.head_dim);
    frequencies.push_back(scaled_frequency(config.rotary_scaling, frequency));
  }
  std::vector<float> table;
  table.reserve(std::size_t{positions} * config.head_dim);
  for (std::uint32_t position = 0; position < positions; ++position) {
    for (const double frequency : frequencies) {
      table.push_back(static_cast<float>(std::cos(position * frequency)));
      table.push_back(static_cast<float>(std::sin(position * frequency)));
    }
  }
  return table;
}

}  // namespace mgtune::engine
