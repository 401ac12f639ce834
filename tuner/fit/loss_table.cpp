#include "fit/loss_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "fit/measurements.h"
#include "fit/unit_pattern.h"
#include "selection/admission.h"
#include "selection/default_variants.h"
#include "selection/failed_variants.h"
#include "selection/gpu_similarity.h"

namespace mgtune {
namespace {

constexpr float kCannotServe = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargestLoss = 1;  // slower than twice the fastest is equally bad

// A variant that was never within this loss of the fastest is no candidate for rules.
constexpr double kCandidateLoss = 0.25;
constexpr std::size_t kFewestProblems = 3;
constexpr std::size_t kFormsOfVariant = 2;

float loss_against(double best_ns, double median_ns) {
  return std::min(static_cast<float>(median_ns / best_ns - 1), kLargestLoss);
}

// Sorts by text, so that a fit does not depend on the order of rows.
std::vector<std::size_t> order_by_text(const std::vector<std::string>& texts) {
  std::vector<std::size_t> order(texts.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return texts[i]; });
  return order;
}

class FitDataReader {
 public:
  FitDataReader(const Operator& op, const GpuRecord& gpu, const MeasuredRows& measured)
      : measurements_(decode_measurements(op, measured)),
        limits_(device_of(gpu).limits),
        on_gpu_(same_gpus(measurements_, gpu)) {
    data_.op = &op;
    data_.gpu = gpu;
  }

  Result<FitData> read() {
    find_best();
    sort_problems();
    if (data_.problems.size() < kFewestProblems) {
      return not_found(fmt::format(
          "{} has {} problems with times of two variants on {}; rules need at least {}: sweep more "
          "problems, for example with 'mgtune sweep --for-rules'",
          data_.op->full_name(), data_.problems.size(), data_.gpu.model, kFewestProblems));
    }
    sort_candidates();
    fill_table();
    fill_ladder();
    return std::move(data_);
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  bool counts(const Measurements::Row& row) const {
    return on_gpu_[row.gpu] && row.median_ns > 0 && !failed_[row.variant];
  }

  void find_best() {
    failed_.assign(measurements_.variants.size(), false);
    for (const Measurements::Row& row : measurements_.rows) {
      if (on_gpu_[row.gpu] && rules_out(row.outcome)) failed_[row.variant] = true;
    }
    best_ns_.assign(measurements_.problems.size(), 0);
    timed_.assign(measurements_.problems.size(), 0);
    for (const Measurements::Row& row : measurements_.rows) {
      if (!counts(row)) continue;
      double& best = best_ns_[row.problem];
      best = best > 0 ? std::min(best, row.median_ns) : row.median_ns;
      ++timed_[row.problem];
    }
  }

  void sort_problems() {
    std::vector<std::string> texts;
    for (const Problem& problem : measurements_.problems) texts.push_back(problem.text());
    problem_place_.assign(texts.size(), kNone);
    for (const std::size_t i : order_by_text(texts)) {
      if (timed_[i] < 2) continue;
      problem_place_[i] = data_.problems.size();
      data_.problems.push_back(measurements_.problems[i]);
    }
  }

  std::vector<VariantPattern> patterns_at(const Measurements::Row& row) const {
    return unit_patterns(measurements_.variants[row.variant],
                         measurements_.problems[row.problem].binding(), limits_);
  }

  // The candidates are the rungs of the default ladder, so that rules can be as good as the ladder;
  // and, of the patterns that stand for a measured variant, the two that save most where they were
  // measured, compared with kUnmeasuredLoss. The other patterns stand for the same variant, but
  // were measured at fewer problems.
  void sort_candidates() {
    struct Candidate {
      VariantPattern pattern;
      double saved = 0;
      bool is_wanted = false;
    };
    data_.measured.resize(data_.problems.size());
    std::map<std::string, Candidate> candidates;
    for (std::size_t design = 0; design < data_.op->designs.size(); ++design) {
      for (const Default& rung : data_.op->designs[design].defaults) {
        VariantPattern pattern{static_cast<int>(design), rung.values};
        std::string text = pattern_text(*data_.op, pattern);
        candidates.try_emplace(std::move(text), Candidate{std::move(pattern), 0, true});
      }
    }
    std::vector<std::vector<std::map<std::string, Candidate>::iterator>> forms;  // of each row
    std::set<std::string> failed;
    for (const Measurements::Row& row : measurements_.rows) {
      if (!on_gpu_[row.gpu]) continue;
      if (failed_[row.variant]) {
        for (const VariantPattern& pattern : patterns_at(row)) {
          failed.insert(pattern_text(*data_.op, pattern));
        }
      }
      const std::size_t problem = problem_place_[row.problem];
      if (!counts(row) || problem == kNone) continue;
      ++data_.measurements;
      const float loss = loss_against(best_ns_[row.problem], row.median_ns);
      data_.measured[problem].emplace(text_of(row.variant), loss);
      if (loss > kCandidateLoss) continue;
      auto& same = forms.emplace_back();
      for (VariantPattern& pattern : patterns_at(row)) {
        std::string text = pattern_text(*data_.op, pattern);
        const auto at = candidates.try_emplace(std::move(text)).first;
        at->second.pattern = std::move(pattern);
        at->second.saved += cost_of(kUnmeasuredLoss) - cost_of(loss);
        same.push_back(at);
      }
    }
    for (auto& same : forms) {
      std::erase_if(same, [&](const auto& form) { return failed.contains(form->first); });
      std::ranges::stable_sort(same, std::greater(),
                               [](const auto& form) { return form->second.saved; });
      for (std::size_t i = 0; i < std::min(same.size(), kFormsOfVariant); ++i) {
        same[i]->second.is_wanted = true;
      }
    }
    for (auto& [text, candidate] : candidates) {
      if (candidate.is_wanted && !failed.contains(text))
        data_.patterns.push_back(std::move(candidate.pattern));
    }
  }

  std::string text_of(std::size_t variant) const {
    return variant_text(*data_.op, measurements_.variants[variant]);
  }

  // For each problem, the texts of the variants that have a row there but no time.
  std::vector<std::set<std::string>> unbuilt() const {
    std::vector<std::set<std::string>> unbuilt(data_.problems.size());
    for (const Measurements::Row& row : measurements_.rows) {
      const std::size_t problem = problem_place_[row.problem];
      if (!on_gpu_[row.gpu] || problem == kNone || row.median_ns > 0) continue;
      unbuilt[problem].insert(text_of(row.variant));
    }
    return unbuilt;
  }

  void fill_table() {
    LossTable& table = data_.table;
    table.variants = data_.patterns.size();
    table.losses.assign(data_.problems.size() * table.variants, kCannotServe);
    data_.timed.assign(table.losses.size(), false);
    const std::vector<std::set<std::string>> without_time = unbuilt();
    for (std::size_t p = 0; p < data_.problems.size(); ++p) {
      const Problem& problem = data_.problems[p];
      for (std::size_t v = 0; v < table.variants; ++v) {
        const std::optional<Variant> variant =
            variant_of(data_.patterns[v], problem.binding(), limits_);
        if (!variant) continue;
        const std::string text = variant_text(*data_.op, *variant);
        const std::size_t place = p * table.variants + v;
        const auto loss = data_.measured[p].find(text);
        if (loss != data_.measured[p].end()) {
          table.losses[place] = loss->second;
          data_.timed[place] = true;
        } else if (!without_time[p].contains(text) && may_serve(problem, *variant, limits_)) {
          table.losses[place] = static_cast<float>(kUnmeasuredLoss);
        }
      }
    }
  }

  void fill_ladder() {
    data_.table.ladder.assign(data_.problems.size(), static_cast<float>(kUnmeasuredLoss));
    std::vector<std::size_t> wanted(data_.problems.size(), kNone);  // the variant whose time counts
    for (std::size_t p = 0; p < data_.problems.size(); ++p) {
      const Problem& problem = data_.problems[p];
      const std::vector<Variant> ladder = default_ladder(problem.binding(), limits_);
      for (const auto& [variant, estimate] : ladder_at(problem, ladder, limits_)) {
        const auto known = std::ranges::find(measurements_.variants, variant);
        if (known == measurements_.variants.end()) break;
        wanted[p] = static_cast<std::size_t>(known - measurements_.variants.begin());
        if (!failed_[wanted[p]]) break;
      }
    }
    for (const Measurements::Row& row : measurements_.rows) {
      const std::size_t problem = problem_place_[row.problem];
      if (!counts(row) || problem == kNone || wanted[problem] != row.variant) continue;
      data_.table.ladder[problem] = loss_against(best_ns_[row.problem], row.median_ns);
    }
  }

  const Measurements measurements_;
  const DeviceLimits limits_;
  const std::vector<bool> on_gpu_;          // of the measurements' GPUs
  std::vector<bool> failed_;                // of its variants
  std::vector<double> best_ns_;             // of its problems
  std::vector<std::size_t> timed_;          // of its problems: variants with a time
  std::vector<std::size_t> problem_place_;  // in the data; kNone: left out
  FitData data_;
};

}  // namespace

double loss_of_ranking(const LossTable& table, std::size_t problem,
                       std::span<const std::size_t> ranking) {
  for (const std::size_t variant : ranking) {
    if (table.serves(problem, variant)) return table.loss(problem, variant);
  }
  return table.ladder[problem];
}

LossSummary summary_of(std::vector<double> losses) {
  LossSummary summary;
  if (losses.empty()) return summary;
  std::ranges::sort(losses);
  const std::size_t count = losses.size();
  summary.problems = static_cast<std::int64_t>(count);
  summary.median = (losses[(count - 1) / 2] + losses[count / 2]) / 2;
  // The smallest loss that at least 95 % of the problems do not exceed.
  summary.percentile_95 = losses[(count * 95 + 99) / 100 - 1];
  summary.worst = losses.back();
  return summary;
}

Result<FitData> read_fit_data(const Operator& op, const GpuRecord& gpu,
                              const MeasuredRows& measured) {
  return FitDataReader(op, gpu, measured).read();
}

}  // namespace mgtune
