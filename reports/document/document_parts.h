// The parts of the report's document. Each is in a file of its own. Private to this folder.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "document/json_parts.h"
#include "document/report_document.h"

namespace mgtune {

// Texts, each of them once, in the order in which they were added.
class TextList {
 public:
  void add(const std::string& text);                     // does nothing if the list has the text
  std::int64_t index_of(const std::string& text) const;  // -1 if the list does not have it
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::map<std::string, std::int64_t, std::less<>> indices_;
};

// Lists of methods, messages, GPUs, machines and sweeps. Other parts of the document name an entry
// of such a list by its index. The DocumentIndex points into the model, which must outlive it.
struct DocumentIndex {
  explicit DocumentIndex(const ReportModel& model);

  TextList methods, messages;
  std::vector<const GpuRecord*> gpus;

  // The index of an entry; -1 if the list does not have it.
  std::int64_t gpu(const GpuRecord& gpu) const;
  std::int64_t sweep(std::int64_t id) const;  // the index in ReportModel::sweeps

  // A machine is a GPU (its index in `gpus`) and an environment. `machines` has every pair once.
  // `machine_of_sweep` has, for each sweep of the model, the index of its machine.
  std::vector<std::pair<std::int64_t, const EnvironmentRecord*>> machines;
  std::vector<std::size_t> machine_of_sweep;
  std::map<std::int64_t, std::int64_t> sweeps;  // the index of each sweep, by its row id
};

// What every part of the document is made from. It does not own anything.
struct DocumentInput {
  const ReportModel& model;
  const ReportAnalysis& analysis;
  const DocumentOptions& options;
  const DocumentIndex& index;
};

// The words that name the database in a command: " --db results.db", or "" for the default
// database.
std::string database_words(const DocumentInput& input);
// The words that name a problem on a GPU in a command: "--kernel rmsnorm.forward --problem
// rows=4096,T=bf16 --gpu 'NVIDIA H200'". database_words() follow them.
std::string place_words(const DocumentInput& input, const GpuRecord& gpu, const std::string& op,
                        std::string problem);

// The command that counts a variant of a problem, up to the variant's text.
std::string profile_command(const DocumentInput& input, const GpuRecord& gpu, const std::string& op,
                            const std::string& problem);

Json problems_part(const DocumentInput& input);
Json picks_part(const DocumentInput& input);
Json peers_part(const DocumentInput& input);
Json builds_part(const DocumentInput& input);
Json roofline_part(const DocumentInput& input);
Json importance_part(const DocumentInput& input);
Json best_so_far_part(const DocumentInput& input);
Json sizes_part(const DocumentInput& input);
Json finals_part(const DocumentInput& input);
Json counters_part(const DocumentInput& input);
Json failures_part(const DocumentInput& input);
Json pruning_part(const DocumentInput& input);

}  // namespace mgtune
