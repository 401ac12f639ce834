// HappensBefore: which instructions have certainly ended before which others begin, in every run of
// the program. Immutable; any number of threads may read.

#pragma once

#include <cstdint>
#include <vector>

#include "program/program.h"

namespace mgtune::engine {

class HappensBefore {
 public:
  // `order` is one order in which the program can run: run_order().
  HappensBefore(const Program& program, const std::vector<std::uint32_t>& order);

  bool is_before(std::uint32_t first, std::uint32_t second) const {
    return (ancestors_[second][first / 64] >> (first % 64) & 1) != 0;
  }
  bool are_ordered(std::uint32_t a, std::uint32_t b) const {
    return is_before(a, b) || is_before(b, a);
  }

 private:
  void add(std::uint32_t instruction, std::uint32_t ancestor);

  std::vector<std::vector<std::uint64_t>> ancestors_;  // a bit per instruction
};

}  // namespace mgtune::engine
