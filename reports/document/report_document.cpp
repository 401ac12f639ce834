#include "document/report_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/text.h"
#include "document/document_parts.h"
#include "document/report_json.h"
#include "model/missing_parts.h"
#include "model/verdict.h"
#include "store/import.h"
#include "text/explanations.h"
#include "text/units.h"

namespace mgtune {
namespace {

constexpr int kFormat = 2;

Json missing_json(const DocumentInput& input) {
  Json missing = Json::object();
  for (const std::string_view part : report_parts()) missing[part] = nullptr;
  for (const MissingPart& part :
       missing_parts(input.model, input.analysis, input.options.with_baseline)) {
    const std::string command = part.command.empty() ? "" : part.command + database_words(input);
    missing[part.part] = {{"text", part.text}, {"command", command}};
  }
  return missing;
}

Json outcomes_json() {
  Json words = Json::array();
  for (std::size_t i = 0; i < kOutcomes; ++i) words.push_back(to_string(static_cast<Outcome>(i)));
  return words;
}

Json counts_json(const ReportModel& model) {
  return Json::array(model.counts, [](const OutcomeCount& count) -> Json {
    return {{"outcome", to_string(count.outcome)},
            {"count", count.count},
            {"failed", is_failure(count.outcome)}};
  });
}

Json methods_json(const DocumentIndex& index) {
  return Json::array(index.methods.texts(), [](const std::string& name) -> Json {
    return {{"name", name}, {"description", method_description(name)}};
  });
}

Json sweeps_json(const DocumentInput& input) {
  std::map<std::int64_t, std::int64_t> variants;
  for (const ReportVariant& variant : input.model.variants) ++variants[variant.view.sweep];
  Json sweeps = Json::array();
  for (std::size_t i = 0; i < input.model.sweeps.size(); ++i) {
    const SweepView& view = input.model.sweeps[i];
    const SweepRecord& sweep = view.sweep;
    const bool imported = sweep.strategy == kImportStrategy;
    sweeps.push_back({{"id", sweep.id},
                      {"command", sweep.command},
                      {"repeat", imported ? "" : sweep.command},
                      {"strategy", sweep.strategy},
                      {"budget", sweep.budget},
                      {"started_at", sweep.started_at},
                      {"finished_at", text_or_null(sweep.finished_at)},
                      {"gpu", input.index.gpu(view.gpu)},
                      {"machine", input.index.machine_of_sweep[i]},
                      {"imported", imported},
                      {"variants", variants[sweep.id]}});
  }
  return sweeps;
}

Json machines_json(const DocumentIndex& index) {
  return Json::array(index.machines, [](const auto& machine) -> Json {
    const auto& [gpu, environment] = machine;
    return {{"gpu", gpu},
            {"driver", environment->driver},
            {"compiler", environment->compiler},
            {"system", environment->system},
            {"mgtune_version", environment->mgtune_version}};
  });
}

}  // namespace

std::string database_words(const DocumentInput& input) {
  const std::string& database = input.options.database;
  return database.empty() ? "" : " --db " + shell_word(database);
}

std::string place_words(const DocumentInput& input, const GpuRecord& gpu, const std::string& op,
                        std::string problem) {
  std::ranges::replace(problem, ' ', ',');
  return fmt::format("--kernel {} --problem {} --gpu {}{}", shell_word(op), shell_word(problem),
                     shell_word(gpu.model), database_words(input));
}

std::string profile_command(const DocumentInput& input, const GpuRecord& gpu, const std::string& op,
                            const std::string& problem) {
  return "mgtune profile " + place_words(input, gpu, op, problem) + " --variant";
}

std::string report_document(const ReportModel& model, const ReportAnalysis& analysis,
                            const DocumentOptions& options) {
  const DocumentIndex index(model);
  const DocumentInput input{model, analysis, options, index};
  Json document = {{"format", kFormat},
                   {"generated_at", model.generated_at},
                   {"mgtune_version", model.mgtune_version},
                   {"title", report_title(model)},
                   {"live", options.live},
                   {"emulation", model.emulation},
                   {"emulation_note", kEmulationNote},
                   {"verdict", model.verdict}};
  document["counts"] = counts_json(model);
  document["outcomes"] = outcomes_json();
  document["methods"] = methods_json(index);
  document["messages"] = index.messages.texts();
  document["compile_logs"] = model.compile_logs;
  document["gpus"] = Json::array(index.gpus, [](const auto* gpu) { return record_json(*gpu); });
  document["missing"] = missing_json(input);
  document["problems"] = problems_part(input);
  document["picks"] = picks_part(input);
  document["peers"] = peers_part(input);
  document["roofline"] = roofline_part(input);
  document["importance"] = importance_part(input);
  document["best_so_far"] = best_so_far_part(input);
  document["finals"] = finals_part(input);
  document["sizes"] = sizes_part(input);
  document["counters"] = counters_part(input);
  document["failures"] = failures_part(input);
  document["causes"] = causes_rows(model);
  document["pruning"] = pruning_part(input);
  document["sweeps"] = sweeps_json(input);
  document["machines"] = machines_json(index);
  document["builds"] = builds_part(input);
  document["measured"] = measuring_steps();
  return document.compact_text();
}

}  // namespace mgtune
