// What the report's document and the rows of `mgtune show --json` write in the same words. The two
// differ in how precisely they write a number: NumberJson says how. Pure.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/analysis.h"
#include "model/report_model.h"
#include "store/record_json.h"

namespace mgtune {

// Written with seven significant digits; null if it is not finite.
Json number(double value);
Json number(const std::optional<double>& value);

// Writes "4096" as a number and "true" as a boolean, as in the operator's file, and everything else
// as a text. It does so only if the value gives the same text again.
Json typed(std::string_view word);
// The assignments of a problem's or a variant's text: {"rows": 4096, "T": "bf16"}.
Json values_json(std::string_view text);

// {"format": 1, NAME: ROWS}, indented, and a newline at the end.
std::string rows_document(std::string_view name, Json rows);

Json count_or_null(int count);  // null if it is negative
Json text_or_null(const std::string& text);

Json identity_json(const GpuRecord& gpu, const std::string& op, const std::string& problem);
Json counter_values(const std::vector<CounterRecord>& counters);  // values by their names
Json effect_json(Json value, const ValueEffect& effect, NumberJson write);
Json step_json(const BestStep& step, NumberJson write);
Json boundaries_json(const SizeSeries& series, NumberJson write);

}  // namespace mgtune
