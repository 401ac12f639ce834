#include "final/pick.h"

#include <algorithm>
#include <tuple>

namespace mgtune {
namespace {

constexpr double kSmallestGain = 0.01;

bool faster(const Contender& a, const Contender& b) {
  return std::tie(a.median_ns, a.variant) < std::tie(b.median_ns, b.variant);
}

bool preferred(const Contender& a, const Contender& b) {
  return std::tie(a.registers, a.variant) < std::tie(b.registers, b.variant);
}

}  // namespace

bool beats(const Contender& a, const Contender& b) {
  return a.q3_ns < b.q1_ns && a.median_ns < b.median_ns * (1 - kSmallestGain);
}

std::optional<Pick> pick_winner(std::span<const Contender> contenders,
                                const std::string& default_variant) {
  if (contenders.empty()) return std::nullopt;
  const Contender& fastest = *std::min_element(contenders.begin(), contenders.end(), faster);
  const auto fallback = std::find_if(contenders.begin(), contenders.end(), [&](const Contender& c) {
    return c.variant == default_variant;
  });
  const Contender* standard = fallback == contenders.end() ? nullptr : &*fallback;
  if (standard != nullptr && !beats(fastest, *standard)) {
    return Pick{*standard, standard->median_ns, &fastest != standard};
  }
  const Contender* winner = &fastest;
  for (const Contender& contender : contenders) {
    const bool eligible = standard == nullptr || beats(contender, *standard);
    if (eligible && !beats(fastest, contender) && preferred(contender, *winner)) {
      winner = &contender;
    }
  }
  return Pick{*winner, standard == nullptr ? 0 : standard->median_ns, false};
}

}  // namespace mgtune
