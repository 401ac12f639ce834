// The readers for each kind of file. Private to this folder.

#pragma once

#include "compare/measured_table.h"
#include "core/status.h"
#include "json/json_cursor.h"
#include "store/store.h"

namespace mgtune {

// "has no KEY", with the place, if the object does not have the key.
inline Result<JsonCursor> member_at(const JsonCursor& object, std::string_view key) {
  if (object.find(key)) return object.at(key);
  return object.error("has no \"" + std::string(key) + "\"");
}

Status read_store(Store& store, MeasuredTable& table);

// Documents of reports/README.md: "variants", "picks", or "sweeps" with their picks; and "tables",
// the tuned table of configs/schema/tuned.schema.json.
Status read_export(const JsonCursor& document, MeasuredTable& table);

// {"context": {...}, "benchmarks": [...]}, with repetitions, their aggregates, or both. The
// repetitions of one name are one row: their median, with an interval from their scatter.
Status read_benchmarks(const JsonCursor& document, MeasuredTable& table);

}  // namespace mgtune
