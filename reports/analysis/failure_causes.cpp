#include "analysis/failure_causes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "text/explanations.h"

namespace mgtune {
namespace {

constexpr std::string_view kDesign = "design";
// From here on sets of three values are too many to try.
constexpr std::size_t kManyValues = 16;

// The message without its numbers. "nan" and "inf" stay.
std::string kind_of(std::string_view message) {
  std::string kind;
  char before = '\0';  // in the same number
  for (const char c : message) {
    const bool is_digit = c >= '0' && c <= '9';
    const bool is_sign = (c == '-' || c == '+') && before == 'e';
    const bool continues = before != '\0' && (c == '.' || c == 'e' || c == 'x' || is_sign);
    if (is_digit && before == '\0') {
      while (!kind.empty() && kind.back() == '-') kind.pop_back();
      kind += '#';
    }
    before = is_digit || continues ? c : '\0';
    if (before == '\0') kind += c;
  }
  return kind;
}

// The values of a variant and of its problem: parameters first, because they name a fault best.
std::vector<Assignment> values_of(const OutcomeView& view) {
  const VariantWords words = split_variant(view.variant);
  std::vector<Assignment> values = words.parameters;
  std::ranges::move(assignments(view.problem), std::back_inserter(values));
  values.emplace_back(kDesign, words.design);
  return values;
}

// The variants of one operator on one GPU.
class Universe {
 public:
  Universe(const ReportModel& model, const std::vector<std::size_t>& variants)
      : variants_(variants) {
    values_.reserve(variants.size());
    for (const std::size_t index : variants)
      values_.push_back(values_of(model.variants[index].view));
  }

  void explain(FailureCause& cause) const {
    const std::set<std::size_t> failed(cause.variants.begin(), cause.variants.end());
    const std::vector<Assignment> common = common_values(failed);
    const std::size_t fewest = count(common);
    cause.conditions = smallest(common, fewest);
    cause.matching = fewest;
    if (!cause.is_every()) cause.shares = telling_shares(cause.conditions, failed);
  }

 private:
  bool has(std::size_t row, const Assignment& value) const {
    return std::ranges::find(values_[row], value) != values_[row].end();
  }

  bool meets(std::size_t row, const std::vector<Assignment>& conditions) const {
    return std::ranges::all_of(conditions,
                               [&](const Assignment& value) { return has(row, value); });
  }

  std::size_t count(const std::vector<Assignment>& conditions) const {
    std::size_t matching = 0;
    for (std::size_t row = 0; row < values_.size(); ++row)
      matching += meets(row, conditions) ? 1 : 0;
    return matching;
  }

  // The values that all failed variants have. Values of all variants are left out.
  std::vector<Assignment> common_values(const std::set<std::size_t>& failed) const {
    std::vector<Assignment> common;
    bool is_first = true;
    for (std::size_t row = 0; row < values_.size(); ++row) {
      if (!failed.contains(variants_[row])) continue;
      if (is_first) common = values_[row];
      is_first = false;
      std::erase_if(common, [&](const Assignment& value) { return !has(row, value); });
    }
    std::erase_if(common,
                  [&](const Assignment& value) { return count({value}) == values_.size(); });
    return common;
  }

  // A subset of `common` that only `fewest` variants meet, as few as meet all of `common`. It is a
  // smallest one if one or two values suffice, or three if `common` is short. Otherwise no value of
  // it can be left out.
  std::vector<Assignment> smallest(const std::vector<Assignment>& common,
                                   std::size_t fewest) const {
    if (fewest == values_.size()) return {};
    for (const Assignment& a : common) {
      if (count({a}) == fewest) return {a};
    }
    for (std::size_t i = 0; i < common.size(); ++i) {
      for (std::size_t j = i + 1; j < common.size(); ++j) {
        if (count({common[i], common[j]}) == fewest) return {common[i], common[j]};
      }
    }
    if (common.size() <= kManyValues) {
      for (std::size_t i = 0; i < common.size(); ++i) {
        for (std::size_t j = i + 1; j < common.size(); ++j) {
          for (std::size_t k = j + 1; k < common.size(); ++k) {
            std::vector<Assignment> three = {common[i], common[j], common[k]};
            if (count(three) == fewest) return three;
          }
        }
      }
    }
    // Leaves out each value that is not needed, beginning with the last.
    std::vector<Assignment> left = common;
    for (std::size_t i = left.size(); i-- > 0;) {
      std::vector<Assignment> fewer = left;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (count(fewer) == fewest) left = std::move(fewer);
    }
    return left;
  }

  std::vector<ValueShare> telling_shares(const std::vector<Assignment>& conditions,
                                         const std::set<std::size_t>& failed) const {
    std::vector<std::string> names;  // in the order of the first variant that has them
    std::map<std::string, std::vector<ValueShare>> shares;
    for (std::size_t row = 0; row < values_.size(); ++row) {
      if (!meets(row, conditions)) continue;
      for (const Assignment& value : values_[row]) {
        std::vector<ValueShare>& of_name = shares[value.first];
        if (of_name.empty()) names.push_back(value.first);
        auto found = std::ranges::find(of_name, value, &ValueShare::value);
        if (found == of_name.end()) found = of_name.insert(of_name.end(), ValueShare{value});
        ++found->all;
        found->failed += failed.contains(variants_[row]) ? 1 : 0;
      }
    }
    const auto part = [](const ValueShare& share) {
      return static_cast<double>(share.failed) / static_cast<double>(share.all);
    };
    double widest = 0;
    std::vector<ValueShare> telling;
    for (const std::string& name : names) {
      std::vector<ValueShare>& of_name = shares[name];
      const auto [least, most] = std::ranges::minmax_element(of_name, {}, part);
      if (part(*most) - part(*least) <= widest) continue;
      widest = part(*most) - part(*least);
      telling = of_name;
    }
    std::ranges::stable_sort(telling, std::ranges::greater(), part);
    return telling;
  }

  const std::vector<std::size_t>& variants_;
  std::vector<std::vector<Assignment>> values_;  // of each of them
};

std::vector<FailureCause> causes_of(const ReportModel& model,
                                    const std::vector<std::size_t>& variants) {
  std::map<std::pair<Outcome, std::string>, FailureCause> groups;
  for (const std::size_t index : variants) {
    const OutcomeView& view = model.variants[index].view;
    if (!is_failure(view.outcome)) continue;
    FailureCause& cause = groups[{view.outcome, kind_of(headline(view.message))}];
    if (cause.variants.empty()) {
      cause.outcome = view.outcome;
      cause.message = view.message;
    }
    cause.variants.push_back(index);
  }
  std::vector<FailureCause> causes;
  if (groups.empty()) return causes;
  const Universe universe(model, variants);
  for (auto& [key, cause] : groups) {
    universe.explain(cause);
    causes.push_back(std::move(cause));
  }
  std::ranges::stable_sort(causes, std::ranges::greater(),
                           [](const FailureCause& cause) { return cause.variants.size(); });
  return causes;
}

}  // namespace

std::vector<FailureCause> failure_causes(const ReportModel& model) {
  std::vector<std::pair<std::pair<std::int64_t, std::string>, std::vector<std::size_t>>> universes;
  for (std::size_t i = 0; i < model.variants.size(); ++i) {
    const OutcomeView& view = model.variants[i].view;
    const std::pair key(view.gpu_id, view.op);
    auto found = std::ranges::find(universes, key, [](const auto& entry) { return entry.first; });
    if (found == universes.end()) found = universes.insert(found, {key, {}});
    found->second.push_back(i);
  }
  std::vector<FailureCause> causes;
  for (const auto& [key, variants] : universes) {
    std::ranges::move(causes_of(model, variants), std::back_inserter(causes));
  }
  return causes;
}

}  // namespace mgtune
