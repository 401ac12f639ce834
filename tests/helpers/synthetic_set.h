// SyntheticSet: a VariantSet of given lists and a rule, for tests of searches: every design is the
// product of its axes, less what the rule refuses. Counts what is asked of it, so that a test can
// say that nobody enumerated ten million points.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "space/variant_set.h"

namespace mgtune {

class SyntheticSet final : public VariantSet {
 public:
  using Rule = std::function<bool(const Variant&)>;
  using Designs = std::vector<std::vector<ParameterAxis>>;

  explicit SyntheticSet(Designs designs, Rule rule = nullptr, std::vector<Variant> ladder = {})
      : designs_(std::move(designs)), rule_(std::move(rule)), ladder_(std::move(ladder)) {}

  // One design with the parameters p0, p1, ... of the values 0 to n - 1.
  static SyntheticSet product(const std::vector<std::int64_t>& sizes, Rule rule = nullptr) {
    std::vector<ParameterAxis> axes;
    for (const std::int64_t size : sizes) {
      ParameterAxis axis{"p" + std::to_string(axes.size()), {}, true};
      for (std::int64_t value = 0; value < size; ++value) axis.values.push_back(value);
      axes.push_back(std::move(axis));
    }
    return SyntheticSet({std::move(axes)}, std::move(rule));
  }

  mutable std::uint64_t admits_calls = 0;
  mutable std::uint64_t enumerated = 0;

  std::size_t design_count() const override { return designs_.size(); }
  std::vector<ParameterAxis> axes(std::size_t design) const override { return designs_[design]; }
  std::uint64_t first_point(std::size_t design) const override {
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < design; ++i) first += product_of(i);
    return first;
  }
  Variant point(std::uint64_t index) const override {
    std::size_t design = 0;
    while (index >= product_of(design)) index -= product_of(design++);
    Variant variant{static_cast<int>(design), {}};
    std::uint64_t below = product_of(design);
    for (const ParameterAxis& axis : designs_[design]) {
      below /= axis.values.size();
      variant.values.push_back(axis.values[index / below]);
      index %= below;
    }
    return variant;
  }
  std::uint64_t index(const Variant& variant) const override {
    const auto design = static_cast<std::size_t>(variant.design);
    std::uint64_t index = 0;
    for (std::size_t i = 0; i < designs_[design].size(); ++i) {
      const std::vector<std::int64_t>& values = designs_[design][i].values;
      const auto place = std::ranges::find(values, variant.values[i]) - values.begin();
      index = index * values.size() + static_cast<std::uint64_t>(place);
    }
    return first_point(design) + index;
  }
  bool admits(const Variant& variant) const override {
    ++admits_calls;
    return rule_ == nullptr || rule_(variant);
  }
  bool for_each_of(std::size_t design, const Visit& visit, WalkLimit& limit) const override {
    for (std::uint64_t i = first_point(design); i < first_point(design + 1); ++i) {
      if (!limit.step()) return false;
      ++enumerated;
      const Variant variant = point(i);
      if ((rule_ == nullptr || rule_(variant)) && !visit(variant)) return false;
    }
    return true;
  }
  std::vector<Variant> ladder() const override { return ladder_; }

 private:
  std::uint64_t product_of(std::size_t design) const {
    std::uint64_t product = 1;
    for (const ParameterAxis& axis : designs_[design]) product *= axis.values.size();
    return product;
  }

  Designs designs_;
  Rule rule_;
  std::vector<Variant> ladder_;
};

}  // namespace mgtune
