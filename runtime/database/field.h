// The table of a record's fields. `fields()` in each struct of records.h lists them: the name, the
// member with its type, the unit, and the documents that show the field. SQL, the replies of
// workers, JSON, exports, the report and its TypeScript are made from this table.
//
// The order of the table is the order in JSON. Row ids, keys and the rows of other tables are not
// in it. Pure.

#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>

namespace mgtune {

// The documents that show only some fields. The store, the replies of workers and the JSON of
// `mgtune show` have all fields.
enum Documents : unsigned {
  kNoDocument = 0,
  kCsv = 1,        // `mgtune export --format csv`
  kRecording = 2,  // `mgtune export --format kernel-tuner` and `--format t4`
  kPage = 4,       // `mgtune report`
  kEveryDocument = kCsv | kRecording | kPage,
};

struct FieldTraits {
  std::string_view unit = "";  // "ns"; "" for texts and counts
  unsigned documents = kEveryDocument;
  bool is_first = false;            // documents show these fields before the others
  std::string_view csv_name = "";   // if the name in CSV files differs
  std::string_view page_name = "";  // if the name in the report differs
  int added_in = 0;  // since this format of the store; 0 if schema.cpp adds it in a step of its own
};

template <typename Record, typename Value>
struct Field {
  const char* name;
  Value Record::*member;
  FieldTraits traits = {};

  constexpr std::string_view name_in(Documents document) const {
    if (document == kCsv && !traits.csv_name.empty()) return traits.csv_name;
    if (document == kPage && !traits.page_name.empty()) return traits.page_name;
    return name;
  }
};
template <typename Record, typename Value>
Field(const char*, Value Record::*, FieldTraits = {}) -> Field<Record, Value>;

template <typename Type>
concept HasFields = requires {
  std::remove_cvref_t<Type>::fields();
};

// Calls visit(field, value) for each field.
template <HasFields Record, typename Visit>
void for_each_field(Record& record, const Visit& visit) {
  std::apply([&](const auto&... field) { (visit(field, record.*field.member), ...); },
             std::remove_cvref_t<Record>::fields());
}

// Calls visit(field, value) for each column: a member that is a record is replaced by its fields.
template <HasFields Record, typename Visit>
void for_each_column(Record& record, const Visit& visit) {
  for_each_field(record, [&](const auto& field, auto& value) {
    if constexpr (HasFields<decltype(value)>) {
      for_each_column(value, visit);
    } else {
      visit(field, value);
    }
  });
}

// The same for the columns that a document shows, in its order.
template <HasFields Record, typename Visit>
void for_each_column_in(Documents document, Record& record, const Visit& visit) {
  for (const bool first : {true, false}) {
    for_each_column(record, [&](const auto& field, auto& value) {
      const bool is_shown = (field.traits.documents & document) != 0;
      if (is_shown && field.traits.is_first == first) visit(field, value);
    });
  }
}

}  // namespace mgtune
