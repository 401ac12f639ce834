#include "results/explanation.h"

#include <algorithm>
#include <utility>

#include "device/registry.h"
#include "plan/problem_set.h"
#include "results/result_words.h"
#include "results/stored_results.h"

namespace mgtune {
namespace {

constexpr std::size_t kNeighbors = 3;  // for the bound of the regret

std::vector<GpuRecord> recorded_gpus(const Evidence& evidence) {
  std::vector<GpuRecord> gpus = evidence.gpus;
  for (const TunedEntry& entry : evidence.tuned) {
    if (find_same_gpu(gpus, entry.gpu) == gpus.size()) gpus.push_back(entry.gpu);
  }
  return gpus;
}

// The first measured problem of each combination of dtypes and flags.
std::vector<const Problem*> kinds_of_problem(const Evidence& evidence) {
  std::vector<const Problem*> kinds;
  for (const Problem& problem : evidence.problems) {
    const bool known = std::ranges::any_of(kinds, [&](const Problem* kind) {
      return same_dtypes_and_flags(*problem.op, kind->slots, problem.slots);
    });
    if (!known) kinds.push_back(&problem);
  }
  return kinds;
}

Status select_for_problem(const Operator& op, const std::string& problem, const Evidence& evidence,
                          SelectionReport& report) {
  const DeviceInfo& device = report.device;
  MGTUNE_ASSIGN(const auto words, parse_assignments(problem));
  MGTUNE_ASSIGN(report.problem, bind_problem(op, words));
  report.selected = select_variants(*report.problem, device, evidence);
  if (report.selected.empty()) {
    return unsupported("no variant of " + op.full_name() + " serves " + report.problem->text() +
                       " on " + device.name + ", or all that do have failed there");
  }
  if (report.selected.front().step != SelectionStep::exact) {
    report.neighbors = cross_validate(*report.problem, device, evidence, kNeighbors);
  }
  for (const Variant& variant : failed_variants(evidence, gpu_record(device))) {
    report.failed.push_back(variant_text(op, variant));
  }
  return {};
}

Status cross_validate_all(const Operator& op, const Evidence& evidence, SelectionReport& report) {
  const DeviceInfo& device = report.device;
  std::vector<const Problem*> kinds = kinds_of_problem(evidence);
  if (report.problem) kinds = {&*report.problem};
  for (const Problem* kind : kinds) {
    std::vector<HeldOut> problems = cross_validate(*kind, device, evidence);
    if (!problems.empty()) report.cross_validated.push_back(std::move(problems));
  }
  if (!report.cross_validated.empty()) return {};
  return not_found("nothing to cross-validate: " + op.full_name() +
                   " needs at least three measured problems of the same dtypes on " + device.name);
}

// Sets the report's device. `word` names a GPU of this machine, or one of `recorded`.
// invalid_argument, with both listed, if it names neither, and if it means several.
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
  // A GPU without results is the same mistake as for 'mgtune show': the machine is not at fault.
  return invalid_argument((names.empty() ? "the database has results of no GPU"
                                         : "the database has results of " + names + " only") +
                          ": " + here.status().message());
}

}  // namespace

Result<SelectionReport> explain(const ExplainRequest& request, Catalog& catalog) {
  if (request.problem.empty() && !request.cross_validate) {
    return invalid_argument("--problem is required unless --cross-validate is given");
  }
  MGTUNE_ASSIGN(const Operator* const op, only_operator(catalog, request.kernel));
  MGTUNE_ASSIGN(TunedSource source, open_source(request.database, catalog));
  SelectionReport report;
  report.evidence = std::make_unique<const Evidence>(evidence_of(*op, catalog, source));
  report.source = source_lines(source, op->full_name());
  report.notes = std::move(source.notes);
  const Evidence& evidence = *report.evidence;
  MGTUNE_TRY(find_explained_gpu(request.gpu, recorded_gpus(evidence), report));
  if (!request.problem.empty()) {
    MGTUNE_TRY(select_for_problem(*op, request.problem, evidence, report));
  }
  if (request.cross_validate) MGTUNE_TRY(cross_validate_all(*op, evidence, report));
  return report;
}

}  // namespace mgtune
