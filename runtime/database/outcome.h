// Outcome: how a variant ended on a problem. The texts are the words in SQL, JSON and on the
// screen. Pure functions.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mgtune {

enum class Outcome : std::uint8_t {
  ok,
  wrong,
  crashed,
  timeout,
  compile_failed,
  launch_failed,
  unsupported,
  raced_out,  // clearly slower than the best so far; its measurement is cut short
  unstable,
};
inline constexpr std::size_t kOutcomes = static_cast<std::size_t>(Outcome::unstable) + 1;
std::string_view to_string(Outcome outcome);
std::optional<Outcome> outcome_from_string(std::string_view text);

}  // namespace mgtune
