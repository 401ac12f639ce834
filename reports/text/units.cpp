#include "text/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mgtune {
namespace {

// Four significant digits without an exponent; trailing zeros stay, so that columns compare.
std::string four_digits(double value) {
  const double magnitude = std::abs(value);
  int decimals = 3;
  for (const double limit : {9.9995, 99.995, 999.95}) decimals -= magnitude >= limit ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::string time_text(double time_ns) {
  static constexpr std::array<std::string_view, 4> kUnits = {"ns", "us", "ms", "s"};
  std::size_t unit = 0;
  double value = time_ns;
  while (std::abs(value) >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", four_digits(value), kUnits[unit]);
}

std::string ratio_text(double ratio) {
  return std::abs(ratio - 1) < 0.0995 ? fmt::format("{:.3f}x", ratio)
                                      : fmt::format("{:.2f}x", ratio);
}

std::string percent_text(double part) { return fmt::format("{:.1f} %", 100 * part); }

std::string bandwidth_text(double gbps) {
  return fmt::format("{:.{}f}", gbps, gbps >= 99.95 ? 0 : gbps >= 9.995 ? 1 : 2);
}

std::string metric_text(double value) {
  const double magnitude = std::abs(value);
  if (magnitude >= 1 && magnitude < 1e7) return four_digits(value);
  if (magnitude >= 1e-4 && magnitude < 1) return fmt::format("{:.4g}", value);
  return value == 0 ? "0" : fmt::format("{:.3e}", value);
}

std::string energy_text(double joules) {
  static constexpr std::array<std::string_view, 4> kUnits = {"nJ", "uJ", "mJ", "J"};
  std::size_t unit = 0;
  double value = joules * 1e9;
  while (std::abs(value) >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", four_digits(value), kUnits[unit]);
}

std::string error_text(double error) { return fmt::format("{:.1e}", error); }

std::string bytes_text(std::int64_t bytes) {
  static constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const bool whole = value == std::floor(value) || value >= 100;
  return fmt::format("{:.{}f} {}", value, whole ? 0 : 1, kUnits[unit]);
}

std::string duration_text(double seconds) {
  const auto total = static_cast<std::int64_t>(std::llround(std::max(0.0, seconds)));
  if (total < 60) return fmt::format("{} s", total);
  if (total < 3600) return fmt::format("{}:{:02}", total / 60, total % 60);
  return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

}  // namespace mgtune
