#include "analysis/space_columns.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "core/text.h"
#include "core/variant_words.h"

namespace mgtune {
namespace {

class Builder {
 public:
  explicit Builder(std::size_t variants) : variants_(variants) {
    columns_.design.reserve(variants);
  }

  void add(std::string_view text) {
    const VariantWords words = split_variant(text);
    const std::int32_t design = design_of(words);
    const std::size_t row = columns_.design.size();
    columns_.design.push_back(design);
    const std::vector<std::size_t>& parameters =
        columns_.designs[static_cast<std::size_t>(design)].parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      columns_.parameters[parameters[i]].index[row] =
          value_of(parameters[i], words.parameters[i].second);
    }
  }

  SpaceColumns finish() && {
    for (ParameterColumn& column : columns_.parameters) sort_values(column);
    return std::move(columns_);
  }

 private:
  std::int32_t design_of(const VariantWords& words) {
    std::string key = words.design;
    for (const Assignment& parameter : words.parameters) {
      key.append(1, ' ').append(parameter.first);
    }
    const auto [place, is_new] =
        designs_.try_emplace(std::move(key), static_cast<std::int32_t>(columns_.designs.size()));
    if (!is_new) return place->second;
    DesignColumns design{words.design, {}};
    for (const Assignment& parameter : words.parameters) {
      design.parameters.push_back(parameter_of(parameter.first));
    }
    columns_.designs.push_back(std::move(design));
    return place->second;
  }

  std::size_t parameter_of(std::string_view name) {
    const auto found = std::ranges::find(columns_.parameters, name, &ParameterColumn::name);
    if (found != columns_.parameters.end()) {
      return static_cast<std::size_t>(found - columns_.parameters.begin());
    }
    columns_.parameters.push_back(
        {std::string(name), {}, std::vector<std::int32_t>(variants_, -1)});
    values_.emplace_back();
    return columns_.parameters.size() - 1;
  }

  std::int32_t value_of(std::size_t parameter, std::string_view value) {
    std::vector<std::string>& values = columns_.parameters[parameter].values;
    const auto [place, is_new] = values_[parameter].try_emplace(
        std::string(value), static_cast<std::int32_t>(values.size()));
    if (is_new) values.emplace_back(value);
    return place->second;
  }

  static void sort_values(ParameterColumn& column) {
    std::vector<std::size_t> order(column.values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      const int natural = compare_naturally(column.values[a], column.values[b]);
      return natural != 0 ? natural < 0 : column.values[a] < column.values[b];
    });
    std::vector<std::string> values;
    std::vector<std::int32_t> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      values.push_back(std::move(column.values[order[i]]));
      place[order[i]] = static_cast<std::int32_t>(i);
    }
    for (std::int32_t& index : column.index) {
      if (index >= 0) index = place[static_cast<std::size_t>(index)];
    }
    column.values = std::move(values);
  }

  std::size_t variants_;
  SpaceColumns columns_;
  std::unordered_map<std::string, std::int32_t> designs_;
  std::vector<std::unordered_map<std::string, std::int32_t>> values_;  // of each parameter
};

}  // namespace

SpaceColumns space_columns(std::span<const ReportVariant> variants) {
  Builder builder(variants.size());
  for (const ReportVariant& variant : variants) builder.add(variant.view.variant);
  return std::move(builder).finish();
}

}  // namespace mgtune
