// Readers for the three sources of measured times that `mgtune compare` accepts: a store, an export
// of mgtune, and the JSON of Google Benchmark. Private to this folder.

#pragma once

#include "compare/measured_table.h"
#include "core/status.h"
#include "json/json_cursor.h"
#include "store/store.h"

namespace mgtune {

// The member `key` of the object. If there is none, the error says: has no "KEY".
inline Result<JsonCursor> member_at(const JsonCursor& object, std::string_view key) {
  if (object.find(key)) return object.at(key);
  return object.error("has no \"" + std::string(key) + "\"");
}

Status read_store(Store& store, MeasuredTable& table);

// Reads a JSON document that mgtune wrote. Its top key says what it has: "variants", "picks" or
// "sweeps" (which contain picks), as reports/README.md describes, or "tables", the tuned table of
// configs/schema/tuned.schema.json.
Status read_export(const JsonCursor& document, MeasuredTable& table);

// Reads the JSON of Google Benchmark: {"context": {...}, "benchmarks": [...]}. All entries of one
// name become one row. Its time is the median of the repetitions, and its interval follows from
// their standard deviation. If the file has only aggregates, these give the median and the
// interval.
Status read_benchmarks(const JsonCursor& document, MeasuredTable& table);

}  // namespace mgtune
