#include "database/outcome.h"

#include <array>

namespace mgtune {
namespace {

constexpr std::array<std::string_view, kOutcomes> kOutcomeWords = {
    "ok",          "wrong",     "crashed", "timeout", "compile_failed", "launch_failed",
    "unsupported", "raced_out", "unstable"};

}  // namespace

std::string_view to_string(Outcome outcome) {
  return kOutcomeWords[static_cast<std::size_t>(outcome)];
}

std::optional<Outcome> outcome_from_string(std::string_view text) {
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    if (kOutcomeWords[i] == text) return static_cast<Outcome>(i);
  }
  return std::nullopt;
}

}  // namespace mgtune
