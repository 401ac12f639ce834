#include "fit/fit_data.h"

#include <fmt/format.h>

#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "fit/loss_table.h"
#include "fit/measurements.h"
#include "fit/unit_pattern.h"
#include "fit/variant_features.h"
#include "selection/failed_variants.h"
#include "selection/gpu_similarity.h"

namespace mgtune {
namespace {

constexpr float kLargestLoss = 1;  // slower than twice the fastest is equally bad

// A variant that was never within this loss of the fastest is no candidate for rules.
constexpr double kCandidateLoss = 0.25;
constexpr std::size_t kFewestProblems = 3;
constexpr std::size_t kFormsOfVariant = 2;

// More patterns make a fit slower, and not better.
constexpr std::size_t kMostPatterns = 600;

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
    if (data_.measured.size() < kFewestProblems) {
      return not_found(fmt::format(
          "{} has {} problems with times of two variants on {}; rules need at least {}: sweep more "
          "problems, for example with 'mgtune sweep --for-rules'",
          data_.op->full_name(), data_.measured.size(), data_.gpu.model, kFewestProblems));
    }
    fill_losses();
    sort_candidates();
    return std::move(data_);
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  bool counts(const Measurements::Row& row) const {
    return on_gpu_[row.gpu] && row.median_ns > 0 && !failed_[row.variant];
  }

  std::string text_of(std::size_t variant) const {
    return variant_text(*data_.op, measurements_.variants[variant]);
  }

  void find_best() {
    failed_.assign(measurements_.variants.size(), false);
    for (const Measurements::Row& row : measurements_.rows) {
      if (!on_gpu_[row.gpu] || !rules_out(row.outcome)) continue;
      failed_[row.variant] = true;
      data_.failed.insert(text_of(row.variant));
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
      problem_place_[i] = data_.measured.size();
      data_.measured.push_back({measurements_.problems[i], {}});
    }
    data_.without_time.resize(data_.measured.size());
  }

  // By the variants' texts, so that sums do not depend on the order of rows.
  void fill_losses() {
    const VariantFeatures features(*data_.op, limits_);
    data_.variants = std::make_shared<NearVariants>(*data_.op);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < measurements_.variants.size(); ++i) texts.push_back(text_of(i));
    std::vector<std::size_t> rank(texts.size());
    const std::vector<std::size_t> order = order_by_text(texts);
    for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
    std::vector<std::map<std::size_t, double>> times(data_.measured.size());  // by rank
    for (const Measurements::Row& row : measurements_.rows) {
      const std::size_t problem = problem_place_[row.problem];
      if (!on_gpu_[row.gpu] || problem == kNone) continue;
      if (row.median_ns > 0 && counts(row)) {
        ++data_.measurements;
        times[problem].try_emplace(rank[row.variant], row.median_ns / best_ns_[row.problem]);
      } else if (!(row.median_ns > 0)) {
        data_.without_time[problem].insert(texts[row.variant]);
      }
    }
    for (std::size_t p = 0; p < times.size(); ++p) {
      MeasuredLosses& here = data_.measured[p];
      for (const auto& [place, ratio] : times[p]) {
        const Variant& variant = measurements_.variants[order[place]];
        std::optional<std::vector<float>> of = features.of(here.problem, variant);
        if (!of) continue;  // of an older operator file
        here.losses.push_back(
            {{data_.variants->add(variant), *std::move(of)}, loss_against(1, ratio)});
      }
    }
    data_.variants->close();
  }

  std::vector<VariantPattern> patterns_at(const Measurements::Row& row) const {
    return unit_patterns(measurements_.variants[row.variant],
                         measurements_.problems[row.problem].binding(), limits_);
  }

  struct Candidate {
    VariantPattern pattern;
    double saved = 0;
    bool is_wanted = false, is_rung = false;
  };
  using Candidates = std::map<std::string, Candidate>;  // by the pattern's text

  // The candidates are the rungs of the default ladder, so that rules can be as good as the ladder;
  // and, of the patterns that stand for a measured variant, the two that save most where they were
  // measured, compared with kUnmeasuredLoss. The other patterns stand for the same variant, but
  // were measured at fewer problems. If there are too many, those that save most are kept.
  void sort_candidates() {
    Candidates candidates;
    for (std::size_t design = 0; design < data_.op->designs.size(); ++design) {
      for (const Default& rung : data_.op->designs[design].defaults) {
        VariantPattern pattern{static_cast<int>(design), rung.values};
        std::string text = pattern_text(*data_.op, pattern);
        candidates.try_emplace(std::move(text), Candidate{std::move(pattern), 0, true, true});
      }
    }
    const std::set<std::string> failed = add_measured(candidates);
    std::erase_if(candidates, [&](const auto& candidate) {
      return !candidate.second.is_wanted || failed.contains(candidate.first);
    });
    std::vector<Candidates::iterator> all;
    for (auto at = candidates.begin(); at != candidates.end(); ++at) all.push_back(at);
    std::ranges::stable_sort(all, std::greater(), [](const auto& at) {
      return std::pair(at->second.is_rung, at->second.saved);
    });
    for (std::size_t i = kMostPatterns; i < all.size(); ++i) candidates.erase(all[i]);
    for (auto& [text, candidate] : candidates) {
      data_.patterns.push_back(std::move(candidate.pattern));
    }
  }

  // Returns the texts of the patterns that stand for a variant that failed.
  std::set<std::string> add_measured(Candidates& candidates) const {
    std::vector<std::vector<Candidates::iterator>> forms;  // of each row
    std::set<std::string> failed;
    for (const Measurements::Row& row : measurements_.rows) {
      if (!on_gpu_[row.gpu]) continue;
      if (failed_[row.variant]) {
        for (const VariantPattern& pattern : patterns_at(row)) {
          failed.insert(pattern_text(*data_.op, pattern));
        }
      }
      if (!counts(row) || problem_place_[row.problem] == kNone) continue;
      const float loss = loss_against(best_ns_[row.problem], row.median_ns);
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
    return failed;
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

Result<FitData> read_fit_data(const Operator& op, const GpuRecord& gpu,
                              const MeasuredRows& measured) {
  return FitDataReader(op, gpu, measured).read();
}

}  // namespace mgtune
