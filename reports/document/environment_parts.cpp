// The machines, the software and the commands of the measurements.

#include <map>

#include "document/document_parts.h"
#include "store/import.h"

namespace mgtune {

Json gpus_part(const DocumentInput& input) {
  Json gpus = Json::array();
  for (const GpuRecord* gpu : input.index.gpus) gpus.push_back(record_json(*gpu));
  return gpus;
}

Json sweeps_part(const DocumentInput& input) {
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

Json machines_part(const DocumentInput& input) {
  Json machines = Json::array();
  for (const auto& [gpu, environment] : input.index.machines) {
    machines.push_back({{"gpu", gpu},
                        {"driver", environment->driver},
                        {"compiler", environment->compiler},
                        {"system", environment->system},
                        {"mgtune_version", environment->mgtune_version}});
  }
  return machines;
}

}  // namespace mgtune
