// The formats of results that mgtune writes and reads: one file each, and its line in formats.cpp.
// Plain data and pure functions, but for the Catalog, which is one thread's.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "exchange/recorded_space.h"
#include "exchange/results.h"
#include "family/catalog.h"
#include "json/json_cursor.h"
#include "store/import.h"

namespace mgtune {

// A file that an export consists of.
struct Document {
  std::string name;  // in a folder: "nvidia-h200.rmsnorm.forward.tuned.json"
  std::string content;
};

// Without the configurations' own rules, which RecordedSpace::make() checks for all formats.
struct Recording {
  std::vector<std::string> parameters;
  std::vector<RecordedConfiguration> configurations;
};

struct ExchangeFormat {
  enum class Layout : std::uint8_t { file, folder };  // where a document goes

  std::string_view name;     // after --format
  std::string_view summary;  // for --help

  // No document: there is nothing that this format holds. invalid_argument where a parameter has
  // a name that the format keeps for itself.
  Result<std::vector<Document>> (*write)(const ExchangedResults& results, Layout layout);

  // The rest is null where the format is only written. Failures are invalid_argument with file and
  // place, as JsonCursor words them.
  bool (*recognizes)(const JsonCursor& root) = nullptr;
  Result<Recording> (*read_space)(const JsonCursor& root) = nullptr;  // anybody's, for simulate
  Result<std::vector<ImportedSweep>> (*read_results)(const JsonCursor& root,
                                                     Catalog& catalog) = nullptr;
};

std::span<const ExchangeFormat> exchange_formats();

// One per format, for formats.cpp.
ExchangeFormat tuned_table_format();
ExchangeFormat kernel_tuner_format();
ExchangeFormat t4_format();
ExchangeFormat csv_format();

// What formats share: the name of a document, in lower case and without blanks or slashes; parts
// are joined by dots.
std::string document_name(const std::vector<std::string>& parts);
std::string gpu_word(const GpuRecord& gpu);  // "NVIDIA H200", with its MIG profile

// Numbers, booleans and strings of a recorded space.
Result<RecordedValue> recorded_value(const JsonCursor& value);
Result<double> recorded_time(const JsonCursor& value);  // above 0

}  // namespace mgtune
