#include "build/source_closure.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace mgtune {
namespace {

SourceTree included_tree() {
  return {"family",
          {{"a.cu", "#include <mg/vec.cuh>\n#include \"sub/own.cuh\"\n"},
           {"plain.cu", "__global__ void k(float* x) { x[0] = N; }\n"},
           {"sub/own.cuh", "constexpr int OWN = 1;\n"}}};
}

TEST(SourceClosureTest, HasTheSourceAndWhatItIncludes) {
  const SourceTree sources = included_tree();
  const auto& files = source_closure(sources, "a.cu").files;
  EXPECT_TRUE(files.contains("family a.cu"));
  EXPECT_TRUE(files.contains("family sub/own.cuh"));
  EXPECT_TRUE(files.contains("common mg/vec.cuh"));
  EXPECT_FALSE(files.contains("family plain.cu"));
  EXPECT_EQ(source_closure(sources, "plain.cu").files.size(), 1U);
}

TEST(SourceClosureTest, IsComputedOncePerTreeAndSource) {
  const SourceTree sources = included_tree();
  EXPECT_EQ(&source_closure(sources, "a.cu"), &source_closure(sources, "a.cu"));
  EXPECT_NE(&source_closure(sources, "a.cu"), &source_closure(sources, "plain.cu"));
}

TEST(SourceClosureTest, ACopyOfATreeHasItsOwnFiles) {
  const SourceTree sources = included_tree();
  source_closure(sources, "a.cu");
  SourceTree copy = sources;
  copy.files["sub/own.cuh"] = "constexpr int OWN = 2;\n";
  EXPECT_EQ(source_closure(copy, "a.cu").files.at("family sub/own.cuh"),
            copy.files.at("sub/own.cuh"));
  SourceTree assigned{"other", {{"a.cu", ""}}};
  EXPECT_EQ(source_closure(assigned, "a.cu").files.size(), 1U);
  assigned = copy;
  const auto& files = source_closure(assigned, "a.cu").files;
  EXPECT_EQ(files.at("family sub/own.cuh").data(), assigned.files.at("sub/own.cuh").data());
}

TEST(SourceClosureTest, ManyThreadsMayAskAtOnce) {
  const SourceTree sources = included_tree();
  std::vector<const SourceClosure*> found(8);
  {
    std::vector<std::jthread> threads;
    for (const SourceClosure*& one : found) {
      threads.emplace_back([&] { one = &source_closure(sources, "a.cu"); });
    }
  }
  for (const SourceClosure* one : found) EXPECT_EQ(one, found.front());
}

TEST(SourceClosureTest, FindsTheHeaderThatAMacroWouldChange) {
  const SourceTree sources = included_tree();
  EXPECT_TRUE(header_with_name(sources, "a.cu", "T").starts_with("<mg/"));
  EXPECT_EQ(header_with_name(sources, "a.cu", "OWN"), "");  // its own, which may use it
  EXPECT_EQ(header_with_name(sources, "a.cu", "BLOCK_SIZE_X"), "");
  EXPECT_EQ(header_with_name(sources, "plain.cu", "T"), "");  // includes none of them
}

}  // namespace
}  // namespace mgtune
