#include "build/source_closure.h"

#include <gtest/gtest.h>

namespace mgtune {
namespace {

SourceTree tree() {
  return {"family",
          {{"a.cu", "#include <mg/vec.cuh>\n#include \"sub/own.cuh\"\n"},
           {"plain.cu", "__global__ void k(float* x) { x[0] = N; }\n"},
           {"sub/own.cuh", "constexpr int OWN = 1;\n"}}};
}

TEST(SourceClosureTest, HasTheSourceAndWhatItIncludes) {
  const SourceTree sources = tree();
  const auto files = source_closure(sources, "a.cu");
  EXPECT_TRUE(files.contains("family a.cu"));
  EXPECT_TRUE(files.contains("family sub/own.cuh"));
  EXPECT_TRUE(files.contains("common mg/vec.cuh"));
  EXPECT_FALSE(files.contains("family plain.cu"));
  EXPECT_EQ(source_closure(sources, "plain.cu").size(), 1U);
}

TEST(SourceClosureTest, FindsTheHeaderThatAMacroWouldChange) {
  const SourceTree sources = tree();
  EXPECT_TRUE(header_with_name(sources, "a.cu", "T").starts_with("<mg/"));
  EXPECT_EQ(header_with_name(sources, "a.cu", "OWN"), "");  // its own, which may use it
  EXPECT_EQ(header_with_name(sources, "a.cu", "BLOCK_SIZE_X"), "");
  EXPECT_EQ(header_with_name(sources, "plain.cu", "T"), "");  // includes none of them
}

}  // namespace
}  // namespace mgtune
