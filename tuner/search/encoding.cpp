#include "search/encoding.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <set>

namespace mgtune {
namespace {

// Two values of an ordered parameter differ a little even if they are neighbors, because the times
// of kernels jump at alignments and occupancy limits. Measured: 0.01 to 0.03 make no difference,
// and 0.25 is worse.
Coordinate ordered(const std::string& name) { return {name, 0.02F, 1.0F}; }
Coordinate unordered(const std::string& name) { return {name, 1.0F, 0.0F}; }

constexpr float kAbsent = -2;  // if the design does not have the parameter

// All parameters with the same name, from all designs that have one.
struct Merged {
  std::set<std::int64_t> values;                 // of all these designs
  std::map<std::int64_t, std::int64_t> numbers;  // of those values that stand for whole numbers
  bool ordered = true;                           // in all these designs
  std::size_t designs = 0;                       // their number
};

// How often two divides a number; -1 for numbers that are not sizes, such as a 0 that means "none".
int twos(std::int64_t number) {
  return number > 0 ? std::countr_zero(static_cast<std::uint64_t>(number)) : -1;
}

// The values of twos() for the parameter's numbers; empty if they add nothing to the order of the
// numbers.
std::set<int> exponents(const Merged& parameter) {
  if (!parameter.ordered || parameter.values.size() < 3 ||
      parameter.numbers.size() < parameter.values.size()) {
    return {};
  }
  std::set<int> found;
  bool all_powers = true;
  for (const auto& [value, number] : parameter.numbers) {
    found.insert(twos(number));
    all_powers =
        all_powers && (number <= 0 || std::has_single_bit(static_cast<std::uint64_t>(number)));
  }
  return all_powers || found.size() < 2 ? std::set<int>() : found;
}

// The place of a member in a set, spread evenly over [0, 1].
template <typename T>
float place(const std::set<T>& members, const T& member) {
  if (members.size() < 2) return 0;
  return static_cast<float>(std::distance(members.begin(), members.find(member))) /
         static_cast<float>(members.size() - 1);
}

}  // namespace

MixedEncoding::MixedEncoding(const VariantSet& set) : designs_(set.design_count()) {
  std::map<std::string, Merged> merged;
  for (std::size_t design = 0; design < set.design_count(); ++design) {
    for (const ParameterAxis& axis : set.axes(design)) {
      Merged& parameter = merged[axis.name];
      parameter.values.insert(axis.values.begin(), axis.values.end());
      for (std::size_t i = 0; i < axis.numbers.size(); ++i) {
        parameter.numbers[axis.values[i]] = axis.numbers[i];
      }
      parameter.ordered = parameter.ordered && axis.ordered;
      ++parameter.designs;
    }
  }
  has_design_coordinate_ = set.design_count() > 1;
  if (has_design_coordinate_) coordinates_.push_back(unordered(""));
  std::map<std::string, Parameter> encoded;
  for (const auto& [name, parameter] : merged) {
    Parameter& added = encoded[name];
    // A parameter with the same value in all variants has no coordinate.
    if (parameter.values.size() < 2 && parameter.designs == set.design_count()) continue;
    added.coordinate = coordinates_.size();
    coordinates_.push_back(parameter.ordered ? ordered(name) : unordered(name));
    const std::set<int> found = exponents(parameter);
    if (!found.empty()) {
      added.twos = coordinates_.size();
      coordinates_.push_back(ordered(name + ", factors of two"));
    }
    for (const std::int64_t value : parameter.values) {
      const auto rank = static_cast<float>(added.values.size());
      added.values.push_back({value, parameter.ordered ? place(parameter.values, value) : rank,
                              found.empty() ? 0 : place(found, twos(parameter.numbers.at(value)))});
    }
  }
  for (std::size_t design = 0; design < set.design_count(); ++design) {
    for (const ParameterAxis& axis : set.axes(design)) {
      designs_[design].push_back(encoded[axis.name]);
    }
  }
}

EncodedPoint MixedEncoding::encode(const Variant& variant) const {
  EncodedPoint point(coordinates_.size(), kAbsent);
  const auto design = static_cast<std::size_t>(variant.design);
  if (has_design_coordinate_) point[0] = static_cast<float>(design);
  for (std::size_t i = 0; i < designs_[design].size(); ++i) {
    const Parameter& parameter = designs_[design][i];
    if (!parameter.coordinate.has_value()) continue;
    const auto found =
        std::ranges::lower_bound(parameter.values, variant.values[i], {}, &Value::value);
    point[*parameter.coordinate] = found->coordinate;
    if (parameter.twos.has_value()) point[*parameter.twos] = found->twos;
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
