// JSON objects that are in the report's document and also in the rows of `mgtune show --json`. Both
// have the same keys, but they write numbers with different precision: the argument of type
// NumberJson writes a number. Pure.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/analysis.h"
#include "model/report_model.h"
#include "store/record_json.h"

namespace mgtune {

// Rounds a fraction to seven significant digits. Digits before the decimal point are never rounded:
// 12345678.9 becomes 12345679. null if the value is not finite.
Json number(double value);
Json number(const std::optional<double>& value);

// The assignments of a problem's or a variant's text: {"rows": 4096, "T": "bf16"}.
Json values_json(std::string_view text);

Json count_or_null(int count);    // null if it is negative
Json known_time(double time_ns);  // as number(); null if it is not above 0
Json text_or_null(const std::string& text);

Json effect_json(Json value, const ValueEffect& effect, NumberJson write);
Json step_json(const BestStep& step, NumberJson write);
Json boundaries_json(const SizeSeries& series, NumberJson write);

}  // namespace mgtune
