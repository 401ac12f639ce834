#include "results/explanation.h"

#include <algorithm>
#include <utility>

#include "device/registry.h"
#include "plan/absent_gpu.h"
#include "plan/problem_set.h"
#include "results/result_words.h"
#include "results/stored_results.h"
#include "selection/gpu_similarity.h"
#include "selection/near_ranges.h"

namespace mgtune {
namespace {

// Sets the report's device. `word` names a GPU of this machine, one of `recorded`, or a product of
// configs/gpus. invalid_argument, with the first two listed, if it names none, or if it means
// several.
Status find_explained_gpu(const std::string& word, const std::vector<GpuRecord>& recorded,
                          SelectionReport& report) {
  Result<std::vector<DeviceInfo>> here = select_devices(word);
  if (here.ok()) {
    if (here->size() != 1)
      return invalid_argument("--gpu " + word + " means several GPUs: name one of them");
    report.device = here->front();
    return {};
  }
  MGTUNE_ASSIGN(const std::vector<GpuProduct> products, shipped_gpu_products());
  std::vector<GpuRecord> called;
  std::string names;
  for (const GpuRecord& gpu : recorded) {
    if (means_gpu(products, word, gpu.model)) called.push_back(gpu);
    names += (names.empty() ? "" : ", ") + gpu.model;
  }
  if (called.size() == 1) {
    report.device = device_of(called.front());
    report.is_here = false;
    return {};
  }
  if (called.size() > 1) {
    return invalid_argument("--gpu " + word + ": the database has results of " +
                            std::to_string(called.size()) +
                            " GPUs of that name, which differ in memory or MIG profile");
  }
  // Without results, the limits of the data sheet say which variant of the rules or of the ladder
  // runs.
  const Result<std::vector<DeviceInfo>> product = select_devices_or_product(word);
  if (product.ok() && product->size() == 1) {
    report.device = product->front();
    report.is_here = false;
    return {};
  }
  // If the user names a GPU without results, this is a mistake in the arguments, as for 'mgtune
  // show', and not the machine's fault.
  return invalid_argument((names.empty() ? "the database has results of no GPU"
                                         : "the database has results of " + names + " only") +
                          ": " + here.status().message());
}

}  // namespace

Result<SelectionReport> explain(const ExplainRequest& request, Catalog& catalog) {
  MGTUNE_ASSIGN(const Operator* const op, only_operator(catalog, request.kernel));
  MGTUNE_ASSIGN(TunedSource source, open_source(request.database, catalog));
  SelectionReport report;
  MGTUNE_ASSIGN(const auto words, parse_assignments(request.problem));
  MGTUNE_ASSIGN(report.problem, bind_problem(*op, words));
  MGTUNE_ASSIGN(const std::vector<GpuRecord> recorded, gpus_with_evidence(*op, catalog, source));
  MGTUNE_TRY(find_explained_gpu(request.gpu, recorded, report));
  MGTUNE_ASSIGN(const std::shared_ptr<const Evidence> known,
                evidence_for(report.problem.binding(), ranges_of(report.problem),
                             gpu_record(report.device), catalog, source));
  Evidence evidence = *known;
  if (is_strict()) {
    std::erase_if(evidence.rules, [&](const std::shared_ptr<const Rules>& rules) {
      return !is_same_gpu(rules->gpu, gpu_record(report.device));
    });
  }
  report.source = source_lines(source, op->full_name());
  report.notes = std::move(source.notes);
  report.selected = select_variants(report.problem, report.device, evidence);
  if (report.selected.empty()) {
    return unsupported("no variant of " + op->full_name() + " serves " + report.problem.text() +
                       " on " + report.device.name + ", or all that do have failed there");
  }
  const SelectionStep step = report.selected.front().step;
  report.rules = rules_for(report.problem.binding(), report.device, evidence);
  const bool is_by_rules = step == SelectionStep::rules ||
                           step == SelectionStep::rules_of_other_gpu ||
                           (step == SelectionStep::default_ladder && report.rules != nullptr &&
                            leave_it_to_the_ladder(*report.rules, report.problem, report.device));
  if (is_by_rules) {
    report.rules_lines = rules_lines(*report.rules, report.problem, report.device);
  }
  report.improvement = improvement_text(step, report.problem, report.rules.get(), report.device);
  for (const std::string& text : evidence.failed.of(gpu_record(report.device), op->full_name())) {
    const Result<Variant> variant = parse_variant(*op, text);
    if (variant.ok()) report.failed.push_back(variant_text(*op, *variant));
  }
  return report;
}

}  // namespace mgtune
