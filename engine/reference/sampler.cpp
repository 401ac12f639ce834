#include "reference/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace mgtune::engine {

std::int32_t argmax(std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < logits.size(); ++i) {
    const bool is_first_number = std::isnan(logits[best]) && !std::isnan(logits[i]);
    if (logits[i] > logits[best] || is_first_number) best = i;
  }
  return static_cast<std::int32_t>(best);
}

std::int32_t sample_token(std::span<const float> logits, float temperature, float top_p,
                          float uniform) {
  const std::int32_t likeliest = argmax(logits);
  if (!(temperature > 0)) return likeliest;
  struct Candidate {
    std::int32_t token;
    double weight;
  };
  std::vector<Candidate> candidates;
  const double largest = logits[static_cast<std::size_t>(likeliest)];
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double weight = std::exp((logits[i] - largest) / temperature);
    if (!(weight > 0)) continue;
    candidates.push_back({static_cast<std::int32_t>(i), weight});
    sum += weight;
  }
  if (top_p > 0 && top_p < 1) {
    std::ranges::stable_sort(candidates, std::greater<>(), &Candidate::weight);
    const double wanted = sum * top_p;
    sum = 0;
    std::size_t kept = 0;
    while (kept < candidates.size() && sum < wanted) sum += candidates[kept++].weight;
    candidates.resize(kept);
    std::ranges::sort(candidates, std::less<>(), &Candidate::token);
  }
  double rest = sum * uniform;
  for (const Candidate& candidate : candidates) {
    rest -= candidate.weight;
    if (rest < 0) return candidate.token;
  }
  return candidates.empty() ? likeliest : candidates.back().token;
}

}  // namespace mgtune::engine
