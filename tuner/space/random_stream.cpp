#include "space/random_stream.h"

#include <cmath>

namespace mgtune {

std::uint64_t RandomStream::below(std::uint64_t bound) {
  const std::uint64_t unfair = (0 - bound) % bound;  // 2^64 mod bound
  while (true) {
    const std::uint64_t drawn = engine_();
    if (drawn >= unfair) return drawn % bound;
  }
}

double RandomStream::uniform() { return static_cast<double>(engine_() >> 11U) * 0x1.0p-53; }

// Box and Muller. 1 - uniform() is never 0.
double RandomStream::normal() {
  constexpr double kTwoPi = 6.283185307179586;
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(kTwoPi * uniform());
}

}  // namespace mgtune
