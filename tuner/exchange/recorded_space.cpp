#include "exchange/recorded_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace mgtune {
namespace {

bool is_before(const RecordedValue& a, const RecordedValue& b) {
  if (a.number.has_value() != b.number.has_value()) return a.number.has_value();
  if (a.number.has_value() && *a.number != *b.number) return *a.number < *b.number;
  return !a.number.has_value() && a.text < b.text;
}

bool is_same(const RecordedValue& a, const RecordedValue& b) {
  return !is_before(a, b) && !is_before(b, a);
}

std::vector<RecordedValue> values_of(const std::vector<RecordedConfiguration>& configurations,
                                     std::size_t parameter) {
  std::vector<RecordedValue> values;
  values.reserve(configurations.size());
  for (const RecordedConfiguration& configuration : configurations) {
    values.push_back(configuration.values[parameter]);
  }
  std::ranges::sort(values, is_before);
  values.erase(std::unique(values.begin(), values.end(), is_same), values.end());
  return values;
}

// The values of the parameter, or nothing if one of them is not a whole number.
std::vector<std::int64_t> whole_numbers(const RecordedParameter& parameter) {
  constexpr double kLargest = 9e15;  // a double has every whole number up to here
  std::vector<std::int64_t> numbers;
  for (const RecordedValue& value : parameter.values) {
    const double number = value.number.value_or(0.5);
    if (number != std::floor(number) || std::abs(number) > kLargest) return {};
    numbers.push_back(static_cast<std::int64_t>(number));
  }
  return numbers;
}

std::string text_of(const std::vector<RecordedParameter>& parameters,
                    const std::vector<std::int64_t>& places) {
  std::string text;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const RecordedValue& value = parameters[i].values[static_cast<std::size_t>(places[i])];
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", parameters[i].name, value.text);
  }
  return text;
}

}  // namespace

Result<RecordedSpace> RecordedSpace::make(
    std::vector<std::string> parameters, const std::vector<RecordedConfiguration>& configurations) {
  RecordedSpace space;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    space.parameters_.push_back({std::move(parameters[i]), values_of(configurations, i)});
  }
  std::vector<std::pair<std::vector<std::int64_t>, double>> rows;
  bool any_succeeded = false;
  for (const RecordedConfiguration& configuration : configurations) {
    std::vector<std::int64_t> places;
    for (std::size_t i = 0; i < space.parameters_.size(); ++i) {
      const std::vector<RecordedValue>& values = space.parameters_[i].values;
      places.push_back(std::ranges::lower_bound(values, configuration.values[i], is_before) -
                       values.begin());
    }
    if (!std::isfinite(configuration.time) || configuration.time < 0) {
      return corrupt(
          fmt::format("{}: a time of {}", text_of(space.parameters_, places), configuration.time));
    }
    any_succeeded = any_succeeded || configuration.time > 0;
    rows.emplace_back(std::move(places), configuration.time);
  }
  if (rows.empty()) return corrupt("holds no configuration");
  if (!any_succeeded) return corrupt("holds no configuration that succeeded");
  std::ranges::sort(rows);
  for (auto& [places, time] : rows) {
    if (!space.places_.empty() && space.places_.back() == places) {
      return corrupt("holds a configuration twice: " + text_of(space.parameters_, places));
    }
    space.places_.push_back(std::move(places));
    space.times_.push_back(time);
  }
  return space;
}

Result<std::optional<Variant>> RecordedSpace::counterpart(const RecordedSpace& other,
                                                          const Variant& variant) const {
  if (other.parameters_.size() != parameters_.size()) {
    return invalid_argument(
        fmt::format("has {} parameters, not {}", other.parameters_.size(), parameters_.size()));
  }
  Variant same{0, {}};
  for (const RecordedParameter& parameter : parameters_) {
    const auto found =
        std::ranges::find(other.parameters_, parameter.name, &RecordedParameter::name);
    if (found == other.parameters_.end()) {
      return invalid_argument("has no parameter '" + parameter.name + "'");
    }
    const auto at = static_cast<std::size_t>(found - other.parameters_.begin());
    const RecordedValue& value = found->values[static_cast<std::size_t>(variant.values[at])];
    const auto place = std::ranges::lower_bound(parameter.values, value, is_before);
    if (place == parameter.values.end() || !is_same(*place, value)) return std::optional<Variant>();
    same.values.push_back(place - parameter.values.begin());
  }
  return admits(same) ? std::optional(same) : std::nullopt;
}

std::vector<ParameterAxis> RecordedSpace::axes(std::size_t /*design*/) const {
  std::vector<ParameterAxis> axes;
  for (const RecordedParameter& parameter : parameters_) {
    ParameterAxis axis{parameter.name, std::vector<std::int64_t>(parameter.values.size()), true};
    std::iota(axis.values.begin(), axis.values.end(), 0);
    axis.ordered = std::ranges::all_of(
        parameter.values, [](const RecordedValue& value) { return value.number.has_value(); });
    axis.numbers = whole_numbers(parameter);
    axes.push_back(std::move(axis));
  }
  return axes;
}

std::uint64_t RecordedSpace::first_point(std::size_t design) const {
  return design == 0 ? 0 : places_.size();
}

Variant RecordedSpace::point(std::uint64_t index) const { return {0, places_[index]}; }

std::uint64_t RecordedSpace::index(const Variant& variant) const {
  return static_cast<std::uint64_t>(std::ranges::lower_bound(places_, variant.values) -
                                    places_.begin());
}

bool RecordedSpace::admits(const Variant& variant) const {
  return variant.design == 0 && std::ranges::binary_search(places_, variant.values);
}

bool RecordedSpace::for_each_of(std::size_t /*design*/, const Visit& visit,
                                WalkLimit& limit) const {
  return std::ranges::all_of(places_, [&](const std::vector<std::int64_t>& places) {
    return limit.step() && visit({0, places});
  });
}

}  // namespace mgtune
