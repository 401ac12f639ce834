// Writes records as JSON objects, and reads them again, by their tables of fields. Pure functions.

#pragma once

#include <type_traits>

#include "json/json.h"
#include "json/json_cursor.h"
#include "store/records.h"

namespace mgtune {

using NumberJson = Json (*)(double);  // says how precisely numbers are written
inline Json exact_number(double value) { return value; }

// The value of a field that is no record.
template <typename Value>
Json field_json(const Value& value, NumberJson write = exact_number) {
  if constexpr (std::is_same_v<Value, double>) {
    return write(value);
  } else if constexpr (std::is_same_v<Value, Outcome>) {
    return to_string(value);
  } else {
    return value;
  }
}

// The fields under the names that `document` has for them, in the order of the table.
template <HasFields Record>
Json record_json(const Record& record, NumberJson write = exact_number,
                 Documents document = kNoDocument) {
  Json json = Json::object();
  for_each_field(record, [&](const auto& field, const auto& value) {
    if constexpr (HasFields<decltype(value)>) {
      json[field.name] = record_json(value, write, document);
    } else {
      json[field.name_in(document)] = field_json(value, write);
    }
  });
  return json;
}

// Reads what record_json() wrote. The reader remembers what is wrong with it.
template <HasFields Record>
void read_fields(ObjectReader& reader, Record& record) {
  for_each_field(record, [&](const auto& field, auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (HasFields<Value>) {
      reader.read_object(field.name, value);
    } else if constexpr (std::is_same_v<Value, Outcome>) {
      reader.read_word(field.name, value, outcome_from_string, "outcome");
    } else {
      reader.read(field.name, value);
    }
  });
}

}  // namespace mgtune
