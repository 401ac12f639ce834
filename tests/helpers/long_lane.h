// How much of a test's loop to run: less in scripts/test.sh, all of it in scripts/test.sh --all,
// which sets MGTUNE_LONG_TESTS.

#pragma once

#include <cstdlib>

namespace mgtune {

template <typename Count>
Count in_long_lane(Count when_long, Count otherwise) {
  return std::getenv("MGTUNE_LONG_TESTS") != nullptr ? when_long : otherwise;
}

}  // namespace mgtune
