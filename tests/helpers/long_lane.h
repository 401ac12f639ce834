// How much of a test's loop to run: less in scripts/test.sh, all of it in scripts/test.sh --all,
// which sets MGTUNE_LONG_TESTS for the preset ci. The presets asan and tsan run the same tests
// before that, on libraries that take several times as long. What only repeats the same code there,
// with another seed or for numbers of another format, is left to the preset ci.

#pragma once

#include <cstdlib>
#include <string_view>

namespace mgtune {

constexpr bool kUnderSanitizer = !std::string_view(MGTUNE_SANITIZE).empty();

// Why the kernels of f16 are left out under a sanitizer.
constexpr const char* kAsBf16 = "f16 has the addresses of bf16: the preset ci runs it";

template <typename Count>
Count in_long_lane(Count when_long, Count otherwise) {
  return std::getenv("MGTUNE_LONG_TESTS") != nullptr ? when_long : otherwise;
}

template <typename Count>
Count in_long_lane(Count when_long, Count otherwise, Count under_sanitizer) {
  return kUnderSanitizer ? under_sanitizer : in_long_lane(when_long, otherwise);
}

}  // namespace mgtune
