// The fields of records in the report's document as TypeScript: the text of
// src/fields.generated.ts, which decodes them. mgtune_page_fields writes that file, and a test
// compares it. Pure.

#pragma once

#include <string>
#include <type_traits>

#include "store/records.h"

namespace mgtune {

template <typename Value>
std::string page_decoder() {
  if (std::is_same_v<Value, std::string>) return "text";
  return std::is_same_v<Value, bool> ? "flag" : "number";
}

// "  model: text,": a line per field of an object.
template <HasFields Record>
std::string page_fields() {
  std::string text;
  const Record record;
  for_each_column(record, [&](const auto& field, const auto& value) {
    const std::string decoder = page_decoder<std::remove_cvref_t<decltype(value)>>();
    text.append("  ").append(field.name_in(kPage)).append(": ").append(decoder).append(",\n");
  });
  return text;
}

// The same for the fields that the page shows.
template <HasFields Record>
std::string shown_page_fields() {
  std::string text;
  const Record record;
  for_each_column_in(kPage, record, [&](const auto& field, const auto& value) {
    const std::string decoder = page_decoder<std::remove_cvref_t<decltype(value)>>();
    text.append("  ").append(field.name_in(kPage)).append(": ").append(decoder).append(",\n");
  });
  return text;
}

// Of the store: the newest when the report's format 2 was released.
inline constexpr int kFormatOfFirstDocuments = 5;

// "  median_ns: numbers,": a line per field that is a column of the variants.
template <HasFields Record>
std::string page_columns() {
  std::string text;
  const Record record;
  for_each_column_in(kPage, record, [&](const auto& field, const auto&) {
    // Documents of format 2 lack the fields that came later.
    const bool may_be_absent = field.traits.added_in > kFormatOfFirstDocuments;
    text.append("  ").append(field.name_in(kPage));
    text.append(may_be_absent ? ": orAbsent(numbers, kNoNumbers),\n" : ": numbers,\n");
  });
  return text;
}

inline std::string page_fields_source() {
  return "// Made by mgtune_page_fields from store/records.h. Do not edit.\n\n"
         "import { flag, number, numbers, object, orAbsent, text } from './decode';\n\n"
         "const kNoNumbers = new Float64Array();\n\n"
         "export const gpu = object({\n" +
         page_fields<GpuRecord>() + "});\n\nexport const clocks = object({\n" +
         page_fields<ClockRecord>() + "});\n\nexport const finalistFields = {\n" +
         shown_page_fields<FinalistRecord>() +
         "};\n\n// One entry per variant.\nexport const variantColumns = {\n" +
         page_columns<MeasurementRecord>() + page_columns<BuildResources>() + "};\n";
}

}  // namespace mgtune
