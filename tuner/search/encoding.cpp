#include "search/encoding.h"

#include <algorithm>
#include <map>
#include <set>

namespace mgtune {
namespace {

// Two values of an ordered parameter differ a little even if they are neighbors, because the times
// of kernels jump at alignments and occupancy limits. Measured: 0.02 is worse than 0.1; 0.05 to
// 0.15 make no difference.
Coordinate ordered(const std::string& name) { return {name, 0.1F, 1.0F}; }
Coordinate unordered(const std::string& name) { return {name, 1.0F, 0.0F}; }

constexpr float kAbsent = -2;  // if the design does not have the parameter

// A parameter of all designs that have one of this name.
struct Merged {
  std::set<std::int64_t> values;  // of all these designs
  bool ordered = true;            // in all these designs
  std::size_t designs = 0;        // their number
};

}  // namespace

MixedEncoding::MixedEncoding(const VariantSet& set) : designs_(set.design_count()) {
  std::map<std::string, Merged> merged;
  for (std::size_t design = 0; design < set.design_count(); ++design) {
    for (const ParameterAxis& axis : set.axes(design)) {
      Merged& parameter = merged[axis.name];
      parameter.values.insert(axis.values.begin(), axis.values.end());
      parameter.ordered = parameter.ordered && axis.ordered;
      ++parameter.designs;
    }
  }
  has_design_coordinate_ = set.design_count() > 1;
  if (has_design_coordinate_) coordinates_.push_back(unordered(""));
  std::map<std::string, std::size_t> places;
  for (const auto& [name, parameter] : merged) {
    // A parameter with the same value in all variants has no coordinate.
    if (parameter.values.size() < 2 && parameter.designs == set.design_count()) continue;
    places[name] = coordinates_.size();
    coordinates_.push_back(parameter.ordered ? ordered(name) : unordered(name));
  }
  for (std::size_t design = 0; design < set.design_count(); ++design) {
    for (const ParameterAxis& axis : set.axes(design)) {
      const auto place = places.find(axis.name);
      Parameter encoded{place == places.end() ? coordinates_.size() : place->second, {}};
      const Merged& parameter = merged[axis.name];
      const float scale = parameter.ordered && parameter.values.size() > 1
                              ? 1.0F / static_cast<float>(parameter.values.size() - 1)
                              : 1.0F;
      float rank = 0;
      for (const std::int64_t value : parameter.values) {
        encoded.values.push_back({value, rank * scale});
        ++rank;
      }
      designs_[design].push_back(std::move(encoded));
    }
  }
}

EncodedPoint MixedEncoding::encode(const Variant& variant) const {
  EncodedPoint point(coordinates_.size(), kAbsent);
  const auto design = static_cast<std::size_t>(variant.design);
  if (has_design_coordinate_) point[0] = static_cast<float>(design);
  for (std::size_t i = 0; i < designs_[design].size(); ++i) {
    const Parameter& parameter = designs_[design][i];
    if (parameter.coordinate == coordinates_.size()) continue;
    const auto found =
        std::ranges::lower_bound(parameter.values, variant.values[i], {}, &Value::value);
    point[parameter.coordinate] = found->coordinate;
  }
  return point;
}

void PointTable::add(const EncodedPoint& point) {
  for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].push_back(point[i]);
  ++size_;
}

EncodedPoint PointTable::row(std::size_t index) const {
  EncodedPoint point;
  point.reserve(columns_.size());
  for (const std::vector<float>& column : columns_) point.push_back(column[index]);
  return point;
}

}  // namespace mgtune
