#include "fit/fit_data.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
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
constexpr std::size_t kFormsOfVariant = 2;

// With so many patterns a fit of 400 problems takes 12 s. In a prototype, rules of rmsnorm.backward
// from 1,500 patterns were no better at held-out problems.
constexpr std::size_t kMostPatterns = 600;

float loss_against(double best_ns, double median_ns) {
  return std::min(static_cast<float>(median_ns / best_ns - 1), kLargestLoss);
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
    find_failed();
    sort_times();
    sort_problems();
    if (data_.measured.empty()) {
      return not_found(data_.op->full_name() + " has no problem with times of two variants on " +
                       data_.gpu.model);
    }
    sort_candidates();
    return std::move(data_);
  }

 private:
  // A variant that serves a problem and has a time there.
  struct Time {
    std::size_t problem = 0, variant = 0;  // of the measurements
    double median_ns = 0;
    std::vector<float> features;
    float loss = 0;
  };

  std::string text_of(std::size_t variant) const {
    return variant_text(*data_.op, measurements_.variants[variant]);
  }

  void find_failed() {
    for (const Measurements::Row& row : measurements_.rows) {
      if (on_gpu_[row.gpu] && rules_out(row.outcome)) data_.failed.insert(text_of(row.variant));
    }
  }

  // By the texts of problem and variant, so that a fit does not depend on the order of rows. Of two
  // times of a variant at a problem, the smaller one counts.
  void sort_times() {
    const VariantFeatures features(*data_.op, limits_);
    std::map<std::string, std::map<std::string, Time>> sorted;
    for (const Measurements::Row& row : measurements_.rows) {
      if (!on_gpu_[row.gpu]) continue;
      const Problem& problem = measurements_.problems[row.problem];
      const std::string of_problem = problem.text(), of_variant = text_of(row.variant);
      if (!(row.median_ns > 0)) {
        without_time_[of_problem].insert(of_variant);
        continue;
      }
      if (data_.failed.contains(of_variant)) continue;
      std::optional<std::vector<float>> of =
          features.of(problem, measurements_.variants[row.variant]);
      if (!of) continue;  // an older operator file admitted it
      const auto [at, is_new] = sorted[of_problem].try_emplace(
          of_variant, Time{row.problem, row.variant, row.median_ns, *std::move(of), 0});
      if (!is_new) at->second.median_ns = std::min(at->second.median_ns, row.median_ns);
    }
    for (auto& [problem, of_problem] : sorted) {
      if (of_problem.size() < 2) continue;
      std::vector<Time>& times = times_.emplace_back();
      double best_ns = std::numeric_limits<double>::infinity();
      for (auto& [variant, time] : of_problem) {
        best_ns = std::min(best_ns, time.median_ns);
        times.push_back(std::move(time));
      }
      for (Time& time : times) time.loss = loss_against(best_ns, time.median_ns);
    }
  }

  void sort_problems() {
    data_.variants = std::make_shared<NearVariants>(*data_.op);
    for (const std::vector<Time>& times : times_) {
      const Problem& problem = measurements_.problems[times.front().problem];
      MeasuredLosses& here = data_.measured.emplace_back(MeasuredLosses{problem, {}});
      for (const Time& time : times) {
        const std::uint32_t number = data_.variants->add(measurements_.variants[time.variant]);
        here.losses.push_back({{number, time.features}, time.loss});
      }
      data_.measurements += times.size();
      data_.without_time.push_back(without_time_[problem.text()]);
    }
    data_.variants->close();
  }

  struct Candidate {
    VariantPattern pattern;
    double saved = 0;
    bool is_wanted = false, is_rung = false;
  };
  using ByText = std::map<std::string, Candidate>;  // the pattern's

  // The candidates are the rungs of the default ladder, so that rules can be as good as the ladder;
  // and, of the patterns that stand for a measured variant, the two that save most where they were
  // measured, compared with kUnmeasuredLoss. The other patterns stand for the same variant, but
  // were measured at fewer problems. If there are too many, those that save most are kept.
  void sort_candidates() {
    ByText candidates;
    for (std::size_t design = 0; design < data_.op->designs.size(); ++design) {
      for (const Default& rung : data_.op->designs[design].defaults) {
        VariantPattern pattern{static_cast<int>(design), rung.values};
        std::string text = pattern_text(*data_.op, pattern);
        candidates.try_emplace(std::move(text), Candidate{std::move(pattern), 0, true, true});
      }
    }
    add_measured(candidates);
    std::erase_if(candidates, [](const auto& candidate) { return !candidate.second.is_wanted; });
    std::vector<ByText::iterator> all;
    for (auto at = candidates.begin(); at != candidates.end(); ++at) all.push_back(at);
    std::ranges::stable_sort(all, std::greater(), [](const auto& at) {
      return std::pair(at->second.is_rung, at->second.saved);
    });
    for (std::size_t i = kMostPatterns; i < all.size(); ++i) candidates.erase(all[i]);
    for (auto& [text, candidate] : candidates) {
      data_.patterns.push_back(std::move(candidate.pattern));
    }
  }

  void add_measured(ByText& candidates) const {
    std::vector<std::vector<ByText::iterator>> forms;  // of each time
    for (const std::vector<Time>& times : times_) {
      for (const Time& time : times) {
        if (time.loss > kCandidateLoss) continue;
        auto& same = forms.emplace_back();
        for (VariantPattern& pattern :
             unit_patterns(measurements_.variants[time.variant],
                           measurements_.problems[time.problem].binding(), limits_)) {
          std::string text = pattern_text(*data_.op, pattern);
          const auto at = candidates.try_emplace(std::move(text)).first;
          at->second.pattern = std::move(pattern);
          at->second.saved += cost_of(kUnmeasuredLoss) - cost_of(time.loss);
          same.push_back(at);
        }
      }
    }
    for (auto& same : forms) {
      std::ranges::stable_sort(same, std::greater(),
                               [](const auto& form) { return form->second.saved; });
      for (std::size_t i = 0; i < std::min(same.size(), kFormsOfVariant); ++i) {
        same[i]->second.is_wanted = true;
      }
    }
  }

  const Measurements measurements_;
  const DeviceLimits limits_;
  const std::vector<bool> on_gpu_;                             // of the measurements' GPUs
  std::map<std::string, std::set<std::string>> without_time_;  // by the problem's text
  std::vector<std::vector<Time>> times_;                       // of each problem of the data
  FitData data_;
};

}  // namespace

Result<FitData> read_fit_data(const Operator& op, const GpuRecord& gpu,
                              const MeasuredRows& measured) {
  return FitDataReader(op, gpu, measured).read();
}

}  // namespace mgtune
