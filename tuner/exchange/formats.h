// The formats of results that mgtune writes and reads. Each format is one file in this folder and
// one line in formats.cpp. Plain data and pure functions, except for the Catalog, which only one
// thread may use.

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

// One file of an export.
struct Document {
  std::string name;  // in a folder: "nvidia-h200.rmsnorm.forward.tuned.json"
  std::string content;
};

// A recorded space as it stands in a file. RecordedSpace::make() checks it, for all formats.
struct Recording {
  std::vector<std::string> parameters;
  std::vector<RecordedConfiguration> configurations;
};

struct ExchangeFormat {
  std::string_view name;     // after --format
  std::string_view summary;  // for --help

  // The documents for one file or, with `to_folder`, for a folder. If there is no document, there
  // is nothing for this format. invalid_argument if a parameter has a name that the format
  // reserves.
  Result<std::vector<Document>> (*write)(const ExchangedResults& results, bool to_folder);

  // The rest is null if the format is only written. Failures are invalid_argument with file and
  // place, in the words of JsonCursor.
  bool (*recognizes)(const JsonCursor& root) = nullptr;
  Result<Recording> (*read_space)(const JsonCursor& root) = nullptr;  // of any tuner, for simulate
  Result<std::vector<ImportedSweep>> (*read_results)(const JsonCursor& root,
                                                     Catalog& catalog) = nullptr;
};

std::span<const ExchangeFormat> exchange_formats();

// One function per format; only formats.cpp calls them.
ExchangeFormat tuned_table_format();
ExchangeFormat kernel_tuner_format();
ExchangeFormat t4_format();
ExchangeFormat csv_format();

// Shared by the formats: the name of a document, in lower case, without blanks or slashes. Parts
// are joined by dots.
std::string document_name(const std::vector<std::string>& parts);
std::string gpu_word(const GpuRecord& gpu);  // "NVIDIA H200", with its MIG profile

// The values of a configuration of a recorded space, one per parameter. They are numbers, booleans
// or strings. The message for a parameter without a value begins with `missing`.
Result<std::vector<RecordedValue>> recorded_values(const JsonCursor& configuration,
                                                   const std::vector<std::string>& parameters,
                                                   const std::string& missing);
Result<double> recorded_time(const JsonCursor& value);  // above 0

}  // namespace mgtune
