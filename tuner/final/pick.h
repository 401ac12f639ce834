// Pick: which variant of a problem wins, and whether it beats the default. Pure.
//
// One variant beats another if its whole interquartile range is below the other's and its median is
// more than 1 % lower. Less cannot be distinguished from noise. The default stays unless it is
// beaten. Variants that the fastest one does not beat are tied with it. Of those that beat the
// default, the one with the fewest registers wins, then the first text, so that equal numbers give
// equal picks.

#pragma once

#include <optional>
#include <span>
#include <string>

namespace mgtune {

// A variant that passed its check and was measured in full.
struct Contender {
  std::string variant;  // variant_text()
  std::string build_sha256;
  std::string launch_hash;
  int registers = -1;  // -1: not reported
  double median_ns = 0, q1_ns = 0, q3_ns = 0;
};

struct Pick {
  Contender winner;
  double default_median_ns = 0;  // 0 if the default is not among the contenders
  bool tie = false;              // some are faster than the default, but none by more than noise
};

bool beats(const Contender& a, const Contender& b);

// nullopt if there are no contenders. All must be measured by the same method.
std::optional<Pick> pick_winner(std::span<const Contender> contenders,
                                const std::string& default_variant);

}  // namespace mgtune
