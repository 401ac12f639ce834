#include "exchange/read_document.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "core/gzip.h"
#include "exchange/bundle.h"
#include "exchange/formats.h"
#include "store/record_json.h"

namespace mgtune {
namespace {

// The largest published recording (22,000 configurations with 32 samples each) has 60 MB.
constexpr std::size_t kMaxDocumentBytes = std::size_t{512} << 20U;

// No search needs these members, which are nine tenths of a recording: single samples, time stamps
// and the tuner's own times.
constexpr std::array<std::string_view, 9> kUnused = {
    "times",          "runtimes",      "timestamp",      "compile_time", "verification_time",
    "benchmark_time", "strategy_time", "framework_time", "tune_params"};

bool is_used(std::string_view key) {
  return std::find(kUnused.begin(), kUnused.end(), key) == kUnused.end();
}

// Kernel Tuner appends configurations while it runs and closes the file at the end. If it was
// stopped, the file ends with a comma.
void close_open_cache(std::string& text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (last == std::string::npos || text[last] != ',') return;
  text.resize(last);
  text += "}}";
}

// The format of a document; nullptr if no format recognizes it.
const ExchangeFormat* format_of(const JsonCursor& root) {
  for (const ExchangeFormat& format : exchange_formats()) {
    if (format.recognizes != nullptr && format.recognizes(root)) return &format;
  }
  return nullptr;
}

// `place` is the file, or a part of it.
Result<std::vector<ImportedSweep>> read_text(const std::string& place, std::string_view text,
                                             Catalog& catalog) {
  MGTUNE_ASSIGN(const JsonValue value, parse_document(place, text));
  const JsonCursor root(place, value);
  if (is_bundle(root)) {
    MGTUNE_ASSIGN(const std::vector<BundlePart> parts, read_bundle(root));
    std::vector<ImportedSweep> all;
    for (const BundlePart& part : parts) {
      if (part.is_rules()) continue;  // bundled_rules() reads them
      const std::string of_part = place + ": " + part.name;
      MGTUNE_ASSIGN(const JsonValue table, parse_document(of_part, part.text));
      const JsonCursor table_root(of_part, table);
      Result<std::vector<ImportedSweep>> sweeps =
          tuned_table_format().read_results(table_root, catalog);
      if (!sweeps.ok()) return as_corrupt(std::move(sweeps).take_status());
      std::ranges::move(*sweeps, std::back_inserter(all));
    }
    return all;
  }
  const ExchangeFormat* const format = format_of(root);
  if (format != nullptr && format->read_results != nullptr) {
    Result<std::vector<ImportedSweep>> sweeps = format->read_results(root, catalog);
    if (!sweeps.ok()) return as_corrupt(std::move(sweeps).take_status());
    return sweeps;
  }
  return corrupt(place +
                 ": no results that can be imported: expected what 'mgtune export' writes as "
                 "tuned, kernel-tuner or t4, or with --bundle");
}

// The results that were read so far, each with the file that has it.
class Seen {
 public:
  Status add(const std::string& path, const ImportedSweep& sweep) {
    const std::string gpu = record_json(sweep.gpu).line_text();
    for (const TunedView& pick : sweep.picks) {
      MGTUNE_TRY(
          add(path, pick.op + " " + pick.problem + " by " + pick.tuned.method, gpu + " pick"));
    }
    for (const ImportedOutcome& outcome : sweep.outcomes) {
      const std::string method = outcome.measurement ? outcome.measurement->method : "";
      // A failure without a timing is in the recording of every method.
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

  std::map<std::string, std::string> files_;
};

}  // namespace

Result<std::string> read_document(FileSystem& files, const std::string& path) {
  MGTUNE_ASSIGN(std::string text, files.read_file(path));
  if (is_gzip(text)) {
    Result<std::string> unpacked = gunzip(text, kMaxDocumentBytes);
    if (!unpacked.ok()) return std::move(unpacked).take_status().with_context(path);
    return unpacked;
  }
  if (text.size() > kMaxDocumentBytes) return corrupt(path + ": larger than 512 MiB");
  return text;
}

Result<JsonValue> parse_document(const std::string& path, std::string_view text,
                                 const std::function<bool(std::string_view key)>& wanted) {
  Result<JsonValue> value = parse_json(text, wanted);
  if (!value.ok()) return as_corrupt(std::move(value).take_status()).with_context(path);
  return value;
}

Status as_corrupt(Status failure) {
  if (failure.code() != StatusCode::invalid_argument) return failure;
  return corrupt(failure.message());
}

Result<RecordedSpace> read_recorded_space(FileSystem& files, const std::string& path) {
  MGTUNE_ASSIGN(std::string text, read_document(files, path));
  close_open_cache(text);
  MGTUNE_ASSIGN(const JsonValue value, parse_document(path, text, is_used));
  text = {};
  const JsonCursor root(path, value);
  const ExchangeFormat* const format = format_of(root);
  if (format == nullptr || format->read_space == nullptr) {
    return as_corrupt(
        root.error("not a recorded space: neither a Kernel Tuner cache (\"tune_params_keys\", "
                   "\"cache\") nor T4 "
                   "results (\"results\")"));
  }
  Result<Recording> recording = format->read_space(root);
  if (!recording.ok()) return as_corrupt(recording.status());
  Result<RecordedSpace> space =
      RecordedSpace::make(std::move(recording->parameters), recording->configurations);
  if (!space.ok()) return std::move(space).take_status().with_context(path);
  return space;
}

Result<std::vector<ImportedSweep>> read_results(FileSystem& files,
                                                const std::vector<std::string>& paths,
                                                Catalog& catalog, const std::string& command) {
  std::vector<ImportedSweep> all;
  Seen seen;
  for (const std::string& path : paths) {
    MGTUNE_ASSIGN(const std::string text, read_document(files, path));
    MGTUNE_ASSIGN(std::vector<ImportedSweep> sweeps, read_text(path, text, catalog));
    for (ImportedSweep& sweep : sweeps) {
      MGTUNE_TRY(seen.add(path, sweep));
      sweep.command = command;
      all.push_back(std::move(sweep));
    }
  }
  return all;
}

}  // namespace mgtune
