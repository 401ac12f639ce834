#include "search/target.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace mgtune {
namespace {

constexpr double kUnlikely = 0.05;

}  // namespace

Result<double> parse_target(const std::string& text, const std::string& strategy) {
  double target = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, target);
  if (read.ec != std::errc() || read.ptr != end || !(target > 0) || !(target < 1)) {
    return invalid_argument("--target: expected a number between 0 and 1, such as 0.98, got '" +
                            text + "'");
  }
  if (!strategy.empty() && !estimates_gain(strategy)) {
    return invalid_argument("--target: the strategy " + strategy +
                            " visits everything and cannot tell what is left; use adaptive or "
                            "random");
  }
  return target;
}

bool is_reached(double target, const Search& search) {
  return search.chance_of_gain(1 - target) < kUnlikely;
}

std::string gain_text(double target) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g %%", 100 * (1 - target));
  return text;
}

}  // namespace mgtune
