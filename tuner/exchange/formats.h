// What read_recorded_space.cpp knows of each format: how to recognize it and a function that reads
// it. Failures are invalid_argument with file and place, as JsonCursor words them.

#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "exchange/recorded_space.h"
#include "json/json_cursor.h"

namespace mgtune {

// Without the configurations' own rules, which RecordedSpace::make() checks for all formats.
struct Recording {
  std::vector<std::string> parameters;
  std::vector<RecordedConfiguration> configurations;
};

bool is_kernel_tuner_cache(const JsonCursor& root);
Result<Recording> read_kernel_tuner_cache(const JsonCursor& root);

bool is_t4(const JsonCursor& root);
Result<Recording> read_t4(const JsonCursor& root);

// Numbers, booleans and strings.
Result<RecordedValue> recorded_value(const JsonCursor& value);
Result<double> recorded_time(const JsonCursor& value);  // above 0

}  // namespace mgtune
