#include "sweep/first_variants.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "selection/variant_selection.h"
#include "source/rule_files.h"

namespace mgtune {
namespace {

std::vector<Variant> variants_of_rules(const std::string& database, const Problem& problem,
                                       const DeviceInfo& device) {
  RuleFiles files;
  files.add_folder(rules_folder_of(database));
  files.add_installed();
  Evidence evidence;
  for (Rules& rules : files.load(*problem.op).rules) {
    evidence.rules.push_back(std::make_shared<const Rules>(std::move(rules)));
  }
  const std::shared_ptr<const Rules> rules = rules_for(problem.binding(), device, evidence);
  std::vector<Variant> variants;
  if (rules == nullptr) return variants;
  const Slots values =
      RuleNames(*problem.op).values(problem, device.limits, bandwidth_for(device, *rules));
  for (const std::size_t place : rules->leaf_of(values).ranking) {
    const std::optional<Variant> variant =
        variant_of(rules->variants[place], problem.binding(), device.limits);
    if (variant) variants.push_back(*variant);
  }
  return variants;
}

}  // namespace

std::vector<Variant> first_variants(const VariantLists& try_first, const std::string& database,
                                    const Problem& problem, const DeviceInfo& device) {
  std::vector<Variant> variants;
  const auto named = try_first.find(problem.op->full_name());
  if (named != try_first.end()) variants = named->second;
  for (Variant& variant : variants_of_rules(database, problem, device)) {
    if (std::ranges::count(variants, variant) == 0) variants.push_back(std::move(variant));
  }
  return variants;
}

}  // namespace mgtune
