#include "tune/candidates.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "selection/evidence.h"

namespace mgtune::engine {
namespace {

// The name of the design, and each parameter with its value.
std::set<std::string> words_of(const std::string& variant) {
  std::istringstream words(variant);
  std::set<std::string> all;
  for (std::string word; words >> word;) all.insert(std::move(word));
  return all;
}

}  // namespace

const MeasuredVariant* MeasuredKernel::find(const std::string& variant) const {
  const auto place = std::ranges::find(variants, variant, &MeasuredVariant::variant);
  return place == variants.end() ? nullptr : &*place;
}

Result<MeasuredKernel> measured_kernel(Store& store, const GpuRecord& gpu, const Problem& problem) {
  MGTUNE_ASSIGN(const std::vector<OutcomeView> outcomes,
                store.outcomes(0, problem.op->full_name(), problem.text()));
  std::map<std::string, MeasuredKernel> by_method;
  for (const OutcomeView& row : outcomes) {
    const bool is_right = row.outcome == Outcome::ok || row.outcome == Outcome::raced_out;
    if (!is_right || !row.measurement || !is_same_gpu(row.gpu, gpu)) continue;
    if (!parse_variant(*problem.op, row.variant).ok()) continue;
    MeasuredKernel& kernel = by_method[row.measurement->method];
    kernel.method = row.measurement->method;
    kernel.gpu = row.gpu_id;
    kernel.variants.push_back({row.variant, row.build_sha256, row.measurement->median_ns});
  }
  MeasuredKernel best;
  std::size_t best_rank = 0;
  for (auto& [method, kernel] : by_method) {
    std::ranges::stable_sort(kernel.variants, {}, &MeasuredVariant::median_ns);
    const std::size_t rank = method_rank(method, kernel.variants.front().median_ns);
    if (!best.method.empty() && rank >= best_rank) continue;
    best_rank = rank;
    best = std::move(kernel);
  }
  return best;
}

std::vector<std::string> choose_candidates(std::span<const MeasuredVariant> variants,
                                           const std::string& now, std::size_t max,
                                           double max_ratio) {
  std::vector<std::string> chosen;
  std::set<std::string> known = words_of(now);
  const auto add_words = [&](const std::string& variant) {
    const std::size_t before = known.size();
    known.merge(words_of(variant));
    return known.size() > before;
  };
  for (const MeasuredVariant& one : variants) {
    if (chosen.size() == max || one.median_ns > max_ratio * variants.front().median_ns) break;
    if (one.variant == now) continue;
    const bool brings_something = add_words(one.variant);
    if (brings_something || chosen.empty()) chosen.push_back(one.variant);
  }
  return chosen;
}

std::vector<std::string> nearest_variants(std::span<const MeasuredVariant> variants,
                                          const std::string& pick,
                                          std::span<const std::string> tried, std::size_t max,
                                          double max_ratio) {
  const std::set<std::string> picked = words_of(pick);
  std::vector<std::pair<std::ptrdiff_t, std::string>> near;  // by the parameters that differ
  for (const MeasuredVariant& one : variants) {
    if (one.median_ns > max_ratio * variants.front().median_ns) break;
    if (one.variant == pick || std::ranges::find(tried, one.variant) != tried.end()) continue;
    const std::ptrdiff_t differing = std::ranges::count_if(
        words_of(one.variant), [&](const std::string& word) { return !picked.contains(word); });
    near.emplace_back(differing, one.variant);
  }
  std::ranges::stable_sort(near, {}, &std::pair<std::ptrdiff_t, std::string>::first);
  std::vector<std::string> nearest;
  for (auto& [differing, variant] : near) {
    if (nearest.size() < max) nearest.push_back(std::move(variant));
  }
  return nearest;
}

}  // namespace mgtune::engine
