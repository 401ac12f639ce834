#include "fit/choices.h"

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
  ChoicesMaker(const FitData& data, const Problem& problem, const std::set<std::string>& excluded,
               const MeasuredLosses* measured)
      : data_(data),
        limits_(device_of(data.gpu).limits),
        features_(*data.op, limits_),
        excluded_(excluded) {
    made_.problem = problem;
    if (measured == nullptr) return;
    for (const MeasuredLosses::One& one : measured->losses) losses_[one.variant.number] = one.loss;
  }

  Choices make() {
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
    if (!is_new || excluded_.contains(variant_text(*data_.op, variant))) return at->second;
    std::optional<std::vector<float>> features = features_.of(made_.problem, variant);
    if (!features) return std::nullopt;
    at->second = made_.serving.size();
    made_.serving.push_back({number, *std::move(features)});
    const auto loss = losses_.find(number);
    made_.measured.push_back(loss == losses_.end() ? std::nullopt : std::optional(loss->second));
    return at->second;
  }

  const FitData& data_;
  const DeviceLimits limits_;
  const VariantFeatures features_;
  const std::set<std::string>& excluded_;
  std::map<std::uint32_t, float> losses_;                       // measured, by number
  std::map<std::uint32_t, std::optional<std::size_t>> places_;  // in made_.serving, by number
  Choices made_;
};

}  // namespace

Choices choices_at(const FitData& data, std::size_t place) {
  const MeasuredLosses& measured = data.measured[place];
  return ChoicesMaker(data, measured.problem, data.without_time[place], &measured).make();
}

Choices choices_at(const FitData& data, const Problem& problem) {
  return ChoicesMaker(data, problem, {}, nullptr).make();
}

LossTable table_of(std::span<const Choices> choices, const LossEstimates& estimates) {
  LossTable table;
  for (const Choices& at : choices) {
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

LossEstimates estimates_of(const FitData& data) {
  std::vector<const MeasuredLosses*> all;
  for (const MeasuredLosses& measured : data.measured) all.push_back(&measured);
  return {all, *data.variants};
}

}  // namespace mgtune
