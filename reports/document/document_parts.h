// The parts of the document, one file each. Private to document/.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "document/json_parts.h"
#include "document/report_document.h"

namespace mgtune {

// The lists that other parts refer to, and the places of their entries. Not copyable, because parts
// point into the model.
class DocumentIndex {
 public:
  explicit DocumentIndex(const ReportModel& model);

  std::vector<std::string> methods, messages;
  std::vector<const GpuRecord*> gpus;

  std::int64_t method(const std::string& name) const;   // -1: ""
  std::int64_t message(const std::string& text) const;  // -1: ""
  std::int64_t gpu(const GpuRecord& gpu) const;
  std::int64_t sweep(std::int64_t id) const;  // into the model's sweeps; -1: unknown

  // The distinct pairs of a GPU (into gpus) and an environment, and for each sweep its place among
  // them.
  std::vector<std::pair<std::int64_t, const EnvironmentRecord*>> machines;
  std::vector<std::size_t> machine_of_sweep;

 private:
  std::map<std::string, std::int64_t, std::less<>> method_places_, message_places_;
  std::map<std::int64_t, std::int64_t> sweep_places_;
};

struct DocumentInput {
  const ReportModel& model;
  const ReportAnalysis& analysis;
  const DocumentOptions& options;
  const DocumentIndex& index;
};

// " --db results.db", or "" for the default database.
std::string database_words(const DocumentInput& input);
// "--kernel rmsnorm.forward --problem rows=4096,T=bf16 --gpu 'NVIDIA H200'", and the database.
std::string place_words(const DocumentInput& input, const GpuRecord& gpu, const std::string& op,
                        std::string problem);

Json problems_part(const DocumentInput& input);
Json picks_part(const DocumentInput& input);
Json builds_part(const DocumentInput& input);
Json roofline_part(const DocumentInput& input);
Json importance_part(const DocumentInput& input);
Json best_so_far_part(const DocumentInput& input);
Json sizes_part(const DocumentInput& input);
Json finals_part(const DocumentInput& input);
Json counters_part(const DocumentInput& input);
Json failures_part(const DocumentInput& input);
Json pruning_part(const DocumentInput& input);
Json gpus_part(const DocumentInput& input);
Json sweeps_part(const DocumentInput& input);
Json machines_part(const DocumentInput& input);

}  // namespace mgtune
