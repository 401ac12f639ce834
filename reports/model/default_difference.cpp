#include "model/default_difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "core/variant_words.h"
#include "text/units.h"

namespace mgtune {
namespace {

// Parameters by name, in the order of the texts.
struct VariantDifference {
  std::size_t shared = 0;  // that both have, equal or not
  std::vector<std::string> changed, only_pick, only_default;
  std::vector<std::string_view> names;  // of the first two
};

VariantDifference compare(const VariantWords& standard, const VariantWords& pick) {
  VariantDifference difference;
  for (const auto& [name, value] : pick.parameters) {
    const std::string* const other = standard.find(name);
    difference.shared += other != nullptr ? 1 : 0;
    if (other == nullptr) {
      difference.only_pick.push_back(fmt::format("{}={}", name, value));
    } else if (*other != value) {
      difference.changed.push_back(fmt::format("{} {} -> {}", name, *other, value));
    } else {
      continue;
    }
    difference.names.push_back(name);
  }
  for (const auto& [name, value] : standard.parameters) {
    if (pick.find(name) == nullptr) {
      difference.only_default.push_back(fmt::format("{}={}", name, value));
    }
  }
  return difference;
}

std::string listed(const std::vector<std::string>& items) {
  return fmt::format("{}", fmt::join(items, ", "));
}

std::string changed_sentence(const VariantDifference& difference, bool same_design) {
  const std::string list = listed(difference.changed);
  if (!same_design) {
    return fmt::format("Of the {} that both have, {} differ{} (default -> pick): {}.",
                       counted(difference.shared, "parameter"), difference.changed.size(),
                       difference.changed.size() == 1 ? "s" : "", list);
  }
  return fmt::format("The pick differs from the default in {} of {} (default -> pick): {}.",
                     difference.changed.size(), counted(difference.shared, "parameter"), list);
}

// The importance of the pick's design by the pick's method; nullptr if too few variants have a
// time.
const DesignImportance* importance_of(const ReportModel& model, const ReportAnalysis& analysis,
                                      const ReportPick& pick) {
  if (!pick.row) return nullptr;
  const std::size_t place = *pick.row - model.problems[pick.problem].first;
  const auto design = static_cast<std::size_t>(analysis.spaces[pick.problem].design[place]);
  for (const ProblemImportance& entry : analysis.importance) {
    if (entry.problem != pick.problem || entry.method != pick.view.tuned.method) continue;
    const auto& designs = entry.importance.designs;
    const auto found = std::ranges::find(designs, design, &DesignImportance::design);
    return found == designs.end() ? nullptr : &*found;
  }
  return nullptr;
}

std::string share(double fraction) {
  return fraction < 0.01 ? "less than 1 %" : fmt::format("{:.0f} %", 100 * fraction);
}

// The most important one of `names`; "" if that is not known.
std::string importance_sentence(const SpaceColumns& space, const DesignImportance* design,
                                const std::vector<std::string_view>& names) {
  if (design == nullptr) return "";
  const auto first = std::ranges::find_if(design->parameters, [&](const ParameterImportance& each) {
    return std::ranges::count(names, space.parameters[each.parameter].name) > 0;
  });
  if (first == design->parameters.end()) return "";
  const std::string& name = space.parameters[first->parameter].name;
  const std::string fact =
      first->total
          ? fmt::format("changing {} alone accounts for {}", name, share(*first->total))
          : fmt::format("the values of {} account on average for {}", name, share(first->main));
  return fmt::format(
      "{} the {} of {}, {} of the variation of the time.",
      names.size() > 1 ? fmt::format("Of what differs, {} matters most: among", name) : "Among",
      counted(design->variants, "timed variant"), space.designs[design->design].name, fact);
}

std::string default_sentence(PickStanding standing) {
  const std::string fact = "The pick is the default itself";
  if (standing == PickStanding::tie) return fact + ": nothing beat it beyond noise.";
  if (standing == PickStanding::default_fastest) return fact + ": no other variant was faster.";
  return fact + ".";
}

}  // namespace

std::vector<std::string> difference_sentences(const ReportModel& model,
                                              const ReportAnalysis& analysis,
                                              const ReportPick& pick) {
  const TunedRecord& tuned = pick.view.tuned;
  if (tuned.variant == tuned.default_variant) return {default_sentence(pick.standing)};
  std::vector<std::string> sentences;
  if (pick.standing == PickStanding::no_default) {
    sentences.emplace_back("The default has no time on this problem.");
  }
  if (tuned.default_variant.empty()) return sentences;
  const VariantWords standard = split_variant(tuned.default_variant);
  const VariantWords words = split_variant(tuned.variant);
  const bool same_design = standard.design == words.design;
  if (!same_design) {
    sentences.push_back(
        fmt::format("The pick is of another design than the default: {} instead of {}.",
                    words.design, standard.design));
  }
  const VariantDifference difference = compare(standard, words);
  if (!difference.changed.empty()) {
    sentences.push_back(changed_sentence(difference, same_design));
  }
  if (!difference.only_pick.empty()) {
    sentences.push_back(fmt::format("Only the pick has {}.", listed(difference.only_pick)));
  }
  if (!difference.only_default.empty()) {
    sentences.push_back(fmt::format("Only the default has {}.", listed(difference.only_default)));
  }
  const std::string importance = importance_sentence(
      analysis.spaces[pick.problem], importance_of(model, analysis, pick), difference.names);
  if (!importance.empty()) sentences.push_back(importance);
  return sentences;
}

}  // namespace mgtune
