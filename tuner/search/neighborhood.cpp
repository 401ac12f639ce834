#include "search/neighborhood.h"

#include <algorithm>
#include <cstddef>

namespace mgtune {
namespace {

constexpr std::ptrdiff_t kReach = 16;  // places to either side

class Neighborhood {
 public:
  Neighborhood(const VariantSet& set, const Variant& variant)
      : set_(set), center_(variant), axes_(set.axes(static_cast<std::size_t>(variant.design))) {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const std::vector<std::int64_t>& values = axes_[i].values;
      places_.push_back(std::ranges::find(values, variant.values[i]) - values.begin());
    }
  }

  std::vector<Variant> find() {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      for (std::ptrdiff_t step = -kReach; step <= kReach; ++step) {
        if (step != 0 && has(i, step)) add(at(center_, i, step));
      }
    }
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        for (const std::ptrdiff_t first : {-1, 1}) {
          for (const std::ptrdiff_t second : {-1, 1}) {
            if (has(i, first) && has(j, second)) add(at(at(center_, i, first), j, second));
          }
        }
      }
    }
    return std::move(found_);
  }

 private:
  bool has(std::size_t parameter, std::ptrdiff_t step) const {
    const std::ptrdiff_t place = places_[parameter] + step;
    return place >= 0 && place < std::ssize(axes_[parameter].values);
  }

  Variant at(Variant variant, std::size_t parameter, std::ptrdiff_t step) const {
    variant.values[parameter] =
        axes_[parameter].values[static_cast<std::size_t>(places_[parameter] + step)];
    return variant;
  }

  void add(Variant variant) {
    if (set_.admits(variant)) found_.push_back(std::move(variant));
  }

  const VariantSet& set_;
  const Variant& center_;
  std::vector<ParameterAxis> axes_;
  std::vector<std::ptrdiff_t> places_;  // of the center's values in their lists
  std::vector<Variant> found_;
};

}  // namespace

std::vector<Variant> neighbors(const VariantSet& set, const Variant& variant) {
  return Neighborhood(set, variant).find();
}

}  // namespace mgtune
