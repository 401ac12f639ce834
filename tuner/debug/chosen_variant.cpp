#include "debug/chosen_variant.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/variant_words.h"
#include "plan/absent_gpu.h"
#include "results/explanation.h"
#include "space/space.h"

namespace mgtune {

Result<Variant> named_variant(const Problem& problem, const DeviceLimits& device,
                              const std::string& words) {
  const Operator& op = *problem.op;
  std::string text = words;
  std::ranges::replace(text, ',', ' ');
  VariantWords named = split_variant(text);
  for (const Variant& defaults : default_ladder(problem.binding(), device)) {
    const VariantWords complete = split_variant(variant_text(op, defaults));
    if (complete.design != named.design) continue;
    // Names that the design does not have stay in the list, so that parse_variant() refuses them.
    std::vector<Assignment> parameters;
    for (const Assignment& assignment : complete.parameters) {
      const std::string* const value = named.find(assignment.first);
      parameters.emplace_back(assignment.first, value == nullptr ? assignment.second : *value);
    }
    for (const Assignment& assignment : named.parameters) {
      if (complete.find(assignment.first) == nullptr) parameters.push_back(assignment);
    }
    named.parameters = std::move(parameters);
    break;
  }
  return parse_variant(op, named.text());
}

Result<ChosenVariant> choose_variant_to_run(const Problem& problem, const DeviceInfo& device,
                                            const std::string& named, const std::string& kernel,
                                            const std::string& database, Catalog& catalog) {
  const Operator& op = *problem.op;
  if (!named.empty()) {
    MGTUNE_ASSIGN(Variant variant, named_variant(problem, device.limits, named));
    return ChosenVariant{std::move(variant), "named"};
  }
  if (!device.id.empty()) {  // in this machine
    const Result<SelectionReport> report = explain(
        {.kernel = kernel, .problem = problem.text(), .gpu = device.id, .database = database},
        catalog);
    if (report.ok()) {
      return ChosenVariant{report->selected.front().variant, "what a program would run"};
    }
    if (report.status().code() != StatusCode::unsupported) return report.status();
  }
  const Space space(problem, device.limits);
  const std::vector<Variant> ladder = space.ladder();
  if (!ladder.empty()) return ChosenVariant{ladder.front(), "the first default"};
  return unsupported("no default of " + op.full_name() + " serves " + problem.text() + " on " +
                     device.name + ": name a variant with --variant");
}

Result<DeviceInfo> device_to_compile_for(const std::string& word) {
  MGTUNE_ASSIGN(const std::vector<DeviceInfo> devices, select_devices_or_product(word));
  if (devices.size() == 1) return devices.front();
  return invalid_argument("--gpu " + word + " means several GPUs: name one of them");
}

}  // namespace mgtune
