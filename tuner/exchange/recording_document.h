// Functions that all formats of recordings use. They write several designs as one list of
// parameters, write the numbers of a measurement, and write and read our own header. The header
// says what was measured, and on which machine.
//
// The list of parameters begins with "design", followed by the parameters of all designs. Every
// variant must have a value for every parameter, because the formats have no missing values. If its
// design does not have a parameter, the variant gets the smallest value of the parameter that
// occurs in the recording. Readers look at "design" and ignore such values.
//
// Pure functions, except for the Catalog, which only one thread may use. Reading fails with
// invalid_argument, which names the file and the place.

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

// A parameter of a recording. The first one is "design".
struct RecordedColumn {
  std::string name;
  std::vector<std::string> values;  // that occur, in the order of is_value_before()
};

// invalid_argument if a parameter of a design has the name "design" or one of the names `reserved`.
Result<std::vector<RecordedColumn>> recorded_columns(const VariantRecording& recording,
                                                     std::span<const std::string_view> reserved);

// The variant's value for each column.
std::vector<std::string> values_in(const std::vector<RecordedColumn>& columns,
                                   const VariantWords& variant);

// {"format", "operator", "problem", "method", "gpu", "origins": [{"measured_at", "environment"}]}
Json recording_header(const VariantRecording& recording);

// One document per recording, with the text that `content` returns. Its name ends with `ending`.
Result<std::vector<Document>> recording_documents(
    const ExchangedResults& results, const std::string& ending,
    Result<std::string> (*content)(const VariantRecording& recording));

// A named value of a variant. If the variant has a time, the first one is "time" in ms.
struct RecordedNumber {
  std::string name;
  Json value;
  std::string unit;  // "ms", "ns" or ""
};
std::vector<RecordedNumber> recorded_numbers(const RecordedVariant& variant);

// Reads a recording: it has the checked values of the header, and add() adds rows to `sweeps`.
struct RecordingReader {
  const Operator* op = nullptr;
  ProblemRecord problem;
  std::string method;
  std::vector<ImportedSweep> sweeps;  // one per origin

  // Adds a row. `find` returns a number of the row by its name. Failures name `place`.
  using Find = std::function<std::optional<JsonCursor>(std::string_view name)>;
  Status add(const JsonCursor& place, std::string variant, const Find& find);
  Outcome last_outcome() const { return last_outcome_; }  // of the last row

 private:
  Outcome last_outcome_ = Outcome::ok;
};
Result<RecordingReader> read_recording_header(const JsonCursor& header, Catalog& catalog);

// The failure for a recording without our header: another tuner wrote it, or a program whose
// kernels are not operators of mgtune.
Status foreign_recording(const JsonCursor& root);

// Checks that every key except "design" is a parameter of one of the operator's designs.
Status check_parameters(const JsonCursor& place, const std::vector<std::string>& keys,
                        const Operator& op);

}  // namespace mgtune
