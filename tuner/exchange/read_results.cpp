#include "exchange/read_results.h"

#include <map>
#include <utility>

#include "exchange/formats.h"
#include "exchange/json_document.h"

namespace mgtune {
namespace {

Result<std::vector<ImportedSweep>> read_file(FileSystem& files, const std::string& path,
                                             Catalog& catalog) {
  MGTUNE_ASSIGN(const std::string text, read_document(files, path));
  MGTUNE_ASSIGN(const JsonValue value, parse_document(path, text));
  const JsonCursor root(path, value);
  for (const ExchangeFormat& format : exchange_formats()) {
    if (format.read_results == nullptr || !format.recognizes(root)) continue;
    Result<std::vector<ImportedSweep>> sweeps = format.read_results(root, catalog);
    if (!sweeps.ok()) return as_corrupt(std::move(sweeps).take_status());
    return sweeps;
  }
  return corrupt(path +
                 ": no results that can be imported: expected what 'mgtune export' writes as "
                 "tuned, kernel-tuner or t4");
}

// What was imported so far, with the file that it stands in.
class Seen {
 public:
  Status add(const std::string& path, const ImportedSweep& sweep) {
    const std::string gpu = gpu_word(sweep.gpu) + " " + std::to_string(gpu_number(sweep.gpu));
    for (const ImportedPick& pick : sweep.picks) {
      MGTUNE_TRY(add(path, pick.problem.op + " " + pick.problem.text + " by " + pick.tuned.method,
                     gpu + " pick"));
    }
    for (const ImportedOutcome& outcome : sweep.outcomes) {
      const std::string method = outcome.measurement ? outcome.measurement->method : "";
      // A failure stands in the recording of every method.
      MGTUNE_TRY(add(path, outcome.problem.op + " " + outcome.problem.text + ": " + outcome.variant,
                     gpu + " " + (method.empty() ? path : method)));
    }
    return {};
  }

 private:
  Status add(const std::string& path, const std::string& what, const std::string& where) {
    const auto [at, is_new] = files_.try_emplace(where + " " + what, path);
    if (is_new) return {};
    if (at->second == path) return corrupt(path + ": " + what + " stands there twice");
    return corrupt(path + ": " + what + " stands in " + at->second + " too");
  }

  std::size_t gpu_number(const GpuRecord& gpu) {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      if (gpus_[i] == gpu) return i;
    }
    gpus_.push_back(gpu);
    return gpus_.size() - 1;
  }

  std::map<std::string, std::string> files_;
  std::vector<GpuRecord> gpus_;
};

}  // namespace

Result<std::vector<ImportedSweep>> read_results(FileSystem& files,
                                                const std::vector<std::string>& paths,
                                                Catalog& catalog, const std::string& command) {
  std::vector<ImportedSweep> all;
  Seen seen;
  for (const std::string& path : paths) {
    MGTUNE_ASSIGN(std::vector<ImportedSweep> sweeps, read_file(files, path, catalog));
    for (ImportedSweep& sweep : sweeps) {
      MGTUNE_TRY(seen.add(path, sweep));
      sweep.command = command;
      all.push_back(std::move(sweep));
    }
  }
  return all;
}

}  // namespace mgtune
