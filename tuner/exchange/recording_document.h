// What the formats of recordings have in common: a union of designs as one list of parameters, the
// numbers of a measurement, and a header of our own that says what was measured where.
//
// A union of designs is a parameter "design" and the parameters of all designs. A variant whose
// design lacks a parameter has the smallest value recorded of it: the formats know no absent value,
// and "design" says which parameters count. Readers take those and ignore the others.
//
// Pure functions, but for the Catalog, which is one thread's. Failures of reading are
// invalid_argument with file and place.

#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "exchange/formats.h"
#include "exchange/results.h"
#include "family/catalog.h"
#include "json/json.h"
#include "json/json_cursor.h"
#include "store/import.h"

namespace mgtune {

// The first is "design".
struct RecordedColumn {
  std::string name;
  std::vector<std::string> values;  // that occur, see is_value_before()
};

// invalid_argument where a parameter is called "design" or as one of `reserved`.
Result<std::vector<RecordedColumn>> recorded_columns(const VariantRecording& recording,
                                                     std::span<const std::string_view> reserved);

// A value for each column.
std::vector<std::string> values_in(const std::vector<RecordedColumn>& columns,
                                   const VariantWords& variant);

// {"format", "operator", "problem", "method", "gpu", "origins": [{"measured_at", "environment"}]}
Json recording_header(const VariantRecording& recording);

// One document per recording, with the text that `content` returns. Its name ends with `ending`.
Result<std::vector<Document>> recording_documents(
    const ExchangedResults& results, const std::string& ending,
    Result<std::string> (*content)(const VariantRecording& recording));

// One thing known of a variant: "time" in ms first, where there is one.
struct RecordedNumber {
  std::string name;
  Json value;
  std::string unit;  // "ms", "ns" or ""
};
std::vector<RecordedNumber> recorded_numbers(const RecordedVariant& variant);

// What recording_header() wrote, checked: where rows go.
struct RecordingReader {
  const Operator* op = nullptr;
  ImportedProblem problem;
  std::string method;
  std::vector<ImportedSweep> sweeps;  // one an origin

  // `find` has the recorded numbers of the variant at `place` by name.
  using Find = std::function<std::optional<JsonCursor>(std::string_view name)>;
  Status add(const JsonCursor& place, std::string variant, const Find& find);
  Outcome last_outcome() const { return last_outcome_; }  // of the last that was added

 private:
  Outcome last_outcome_ = Outcome::ok;
};
Result<RecordingReader> read_recording_header(const JsonCursor& header, Catalog& catalog);

// A file without our header is another tuner's, or of an operator that is not ours.
Status foreign_recording(const JsonCursor& root);

// That every key but "design" is a parameter of some design.
Status check_parameters(const JsonCursor& place, const std::vector<std::string>& keys,
                        const Operator& op);

}  // namespace mgtune
