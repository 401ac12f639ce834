// The words of a problem's or variant's text: "rows=4096 hidden=4096 T=bf16", "row VEC=8 PDL=true".
// Pure.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace mgtune {

using Assignment = std::pair<std::string_view, std::string_view>;  // parts of the text

// The number in "4096". nullopt if the number would not give the same text again.
std::optional<std::int64_t> whole_number(std::string_view word);

// Words without '=' are left out.
std::vector<Assignment> assignments(std::string_view text);

// The parts of a variant's text.
struct VariantAssignments {
  std::string_view design;
  std::vector<Assignment> parameters;
};

// If a text is not a design followed by assignments to different names with one blank between
// words, all of it is the design. So the parts always give the text again.
VariantAssignments variant_words(std::string_view text);

}  // namespace mgtune
