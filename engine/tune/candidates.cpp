#include "tune/candidates.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "selection/evidence.h"

namespace mgtune::engine {

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
  std::set<std::string> known;  // words: the name of the design, and each parameter with its value
  const auto add_words = [&](const std::string& variant) {
    bool is_new = false;
    std::istringstream words(variant);
    for (std::string word; words >> word;) is_new |= known.insert(word).second;
    return is_new;
  };
  add_words(now);
  for (const MeasuredVariant& one : variants) {
    if (chosen.size() == max || one.median_ns > max_ratio * variants.front().median_ns) break;
    if (one.variant == now) continue;
    const bool brings_something = add_words(one.variant);
    if (brings_something || chosen.empty()) chosen.push_back(one.variant);
  }
  return chosen;
}

}  // namespace mgtune::engine
