// RandomStream: random numbers from a seed that are the same on every platform. Those of
// std::uniform_int_distribution and the others are not. One thread.

#pragma once

#include <cstdint>
#include <random>

namespace mgtune {

class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t below(std::uint64_t bound);  // uniform in [0, bound), bound > 0
  double uniform();                          // in [0, 1)
  double normal();                           // mean 0, deviation 1

 private:
  std::mt19937_64 engine_;
};

}  // namespace mgtune
