#include "family_check/source_place.h"

#include <gtest/gtest.h>

namespace mgtune {
namespace {

constexpr char kText[] = R"({
  "format": 1, "text": "a \" } ] quote",
  "designs": {
    "flat": {
      "params": {"A": [1, 2,
        3], "B": [true]},
      "launches": [
        {"kernel": "first", "args": []},
        {
          "kernel": "second",
          "a/b": -1.5e3
        }
      ]
    }
  }
}
)";

TEST(SourcePlace, FindsTheLineOfAPointer) {
  EXPECT_EQ(line_of_pointer(kText, ""), 1);
  EXPECT_EQ(line_of_pointer(kText, "/text"), 2);
  EXPECT_EQ(line_of_pointer(kText, "/designs"), 3);
  EXPECT_EQ(line_of_pointer(kText, "/designs/flat/params/A/2"), 6);
  EXPECT_EQ(line_of_pointer(kText, "/designs/flat/params/B/0"), 6);
  EXPECT_EQ(line_of_pointer(kText, "/designs/flat/launches/0/kernel"), 8);
  EXPECT_EQ(line_of_pointer(kText, "/designs/flat/launches/1"), 9);
  EXPECT_EQ(line_of_pointer(kText, "/designs/flat/launches/1/kernel"), 10);
  EXPECT_EQ(line_of_pointer(kText, "/designs/flat/launches/1/a~1b"), 11);
}

TEST(SourcePlace, OfAMissingValueIsTheValueAroundIt) {
  EXPECT_EQ(line_of_pointer(kText, "/designs/flat/launches/1/grid"), 9);
  EXPECT_EQ(line_of_pointer(kText, "/designs/flat/launches/7"), 7);
  EXPECT_EQ(line_of_pointer(kText, "/tensors/x"), 1);
}

}  // namespace
}  // namespace mgtune
