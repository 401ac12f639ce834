#include "fit/choices.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "fit/variant_features.h"
#include "selection/default_variants.h"
#include "selection/gpu_similarity.h"

namespace mgtune {
namespace {

constexpr float kCannotServe = std::numeric_limits<float>::quiet_NaN();

class ChoicesMaker {
 public:
  ChoicesMaker(const FitData& data, const Problem& problem)
      : data_(data), limits_(device_of(data.gpu).limits), features_(*data.op, limits_) {
    made_.problem = problem;
  }

  // What is known of problem `place` of the data.
  void know(std::size_t place) {
    without_time_ = &data_.without_time[place];
    for (const MeasuredLosses::One& one : data_.measured[place].losses) {
      losses_[one.variant.number] = one.loss;
    }
  }

  ProblemChoices make() {
    for (const VariantPattern& pattern : data_.patterns) {
      const auto variant = variant_of(pattern, made_.problem.binding(), limits_);
      made_.of_pattern.push_back(variant ? place_of(*variant) : std::nullopt);
    }
    const std::vector<Variant> ladder = default_ladder(made_.problem.binding(), limits_);
    for (const auto& [variant, estimate] : ladder_at(made_.problem, ladder, limits_)) {
      if (data_.failed.contains(variant_text(*data_.op, variant))) continue;
      made_.of_ladder = place_of(variant);
      if (made_.of_ladder) break;
    }
    return std::move(made_);
  }

 private:
  // nullopt if the variant cannot serve the problem.
  std::optional<std::size_t> place_of(const Variant& variant) {
    const std::uint32_t number = data_.variants->add(variant);
    const auto [at, is_new] = places_.try_emplace(number, std::nullopt);
    if (!is_new || has_result_without_time(variant)) return at->second;
    std::optional<std::vector<float>> features = features_.of(made_.problem, variant);
    if (!features) return std::nullopt;
    at->second = made_.serving.size();
    made_.serving.push_back({number, *std::move(features)});
    const auto loss = losses_.find(number);
    made_.measured.push_back(loss == losses_.end() ? std::nullopt : std::optional(loss->second));
    return at->second;
  }

  bool has_result_without_time(const Variant& variant) const {
    return without_time_ != nullptr && without_time_->contains(variant_text(*data_.op, variant));
  }

  const FitData& data_;
  const DeviceLimits limits_;
  const VariantFeatures features_;
  const std::set<std::string>* without_time_ = nullptr;  // of the problem, if it was measured
  std::map<std::uint32_t, float> losses_;                // measured, by number
  std::map<std::uint32_t, std::optional<std::size_t>> places_;  // in made_.serving, by number
  ProblemChoices made_;
};

}  // namespace

ProblemChoices choices_at(const FitData& data, std::size_t place) {
  ChoicesMaker maker(data, data.measured[place].problem);
  maker.know(place);
  return maker.make();
}

ProblemChoices choices_at(const FitData& data, const Problem& problem) {
  return ChoicesMaker(data, problem).make();
}

LossTable table_of(std::span<const ProblemChoices> choices, const LossEstimates& estimates) {
  LossTable table;
  for (const ProblemChoices& at : choices) {
    std::vector<float> losses = estimates.at(at.problem, at.serving);
    for (std::size_t i = 0; i < losses.size(); ++i) losses[i] = at.measured[i].value_or(losses[i]);
    for (const std::optional<std::size_t>& place : at.of_pattern) {
      table.losses.push_back(place ? losses[*place] : kCannotServe);
    }
    table.ladder.push_back(at.of_ladder ? losses[*at.of_ladder]
                                        : static_cast<float>(kUnmeasuredLoss));
    table.variants = at.of_pattern.size();
  }
  return table;
}

void remove_failed(FitData& data, std::span<const Problem> problems) {
  if (data.failed.empty()) return;
  const DeviceLimits limits = device_of(data.gpu).limits;
  std::erase_if(data.patterns, [&](const VariantPattern& pattern) {
    return std::ranges::any_of(problems, [&](const Problem& problem) {
      const auto variant = variant_of(pattern, problem.binding(), limits);
      return variant && data.failed.contains(variant_text(*data.op, *variant));
    });
  });
}

LossEstimates estimates_of(const FitData& data) {
  std::vector<const MeasuredLosses*> all;
  for (const MeasuredLosses& measured : data.measured) all.push_back(&measured);
  return {all, *data.variants};
}

}  // namespace mgtune
