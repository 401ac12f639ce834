// A record whose fields all have values of their own, for tests that a field is lost nowhere. A new
// field is in it without an edit.

#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "store/records.h"

namespace mgtune {

template <HasFields Record>
Record filled_record() {
  Record record;
  int place = 0;
  for_each_column(record, [&](const auto& /*field*/, auto& value) {
    ++place;
    if constexpr (std::is_same_v<decltype(value), std::string&>) {
      value = "text " + std::to_string(place);
    } else if constexpr (std::is_same_v<decltype(value), Outcome&>) {
      value = Outcome::raced_out;
    } else if constexpr (std::is_same_v<decltype(value), double&>) {
      value = place + 0.5;
    } else if constexpr (std::is_same_v<decltype(value), bool&>) {
      value = true;
    } else {
      value = place;
    }
  });
  return record;
}

}  // namespace mgtune
