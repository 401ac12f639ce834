// RandomStream: random numbers from a seed. They are the same on every platform, unlike the numbers
// of std::uniform_int_distribution and the other standard distributions. One thread.

#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace mgtune {

class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed) : engine_(seed) {}

  // Uniform in [0, bound), bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t unfair = (0 - bound) % bound;  // 2^64 mod bound
    while (true) {
      const std::uint64_t drawn = engine_();
      if (drawn >= unfair) return drawn % bound;
    }
  }

  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(engine_() >> 11U) * 0x1.0p-53; }

  // Normal, with mean 0 and deviation 1, by Box and Muller. 1 - uniform() is never 0.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace mgtune
