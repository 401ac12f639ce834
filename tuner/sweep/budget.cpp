#include <charconv>
#include <cmath>

#include "sweep/sweep.h"

namespace mgtune {
namespace {

// A double counts up to here without gaps; no space is as large.
constexpr double kMostEvaluations = 1e15;
// Far beyond any sweep, far below what the clock can count.
constexpr double kMostSeconds = 365.0 * 24 * 3600;

// Seconds of a unit; 0 for none, i.e. a number of evaluations; -1 for an unknown one.
double seconds_of_unit(std::string_view unit) {
  if (unit.empty()) return 0;
  if (unit == "s") return 1;
  if (unit == "m") return 60;
  if (unit == "h") return 3600;
  return -1;
}

}  // namespace

Result<Budget> parse_budget(const std::string& text) {
  const auto malformed = [&] {
    return invalid_argument("budget '" + text +
                            "': expected a number of variants per problem (500) or a time of the "
                            "whole sweep (60s, 5m, 1h)");
  };
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number <= 0) return malformed();

  const double unit_seconds = seconds_of_unit(std::string_view(rest, std::size_t(end - rest)));
  Budget budget;
  budget.text = text;
  if (unit_seconds < 0) return malformed();
  if (unit_seconds > 0) {
    budget.seconds = number * unit_seconds;
    if (*budget.seconds > kMostSeconds) {
      return invalid_argument("budget '" + text + "': a sweep ends within a year (8760h)");
    }
  } else {
    if (number != std::floor(number) || number > kMostEvaluations) return malformed();
    budget.evaluations = static_cast<std::int64_t>(number);
  }
  return budget;
}

}  // namespace mgtune
