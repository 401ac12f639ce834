#include "family_check/kernel_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mgtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

SourceTree tree_of(const std::string& text) {
  SourceTree sources;
  sources.folder = "fam";
  sources.files["main.cu"] = text;
  return sources;
}

TEST(KernelFunctions, HaveNameLineAndParameters) {
  const SourceTree sources = tree_of(R"cu(// __global__ void commented(int a);
template <class T, int kThreads>
__global__ void __launch_bounds__(kThreads, 2)
    scale(const T* __restrict__ x, T* y, const std::pair<int, int> z, float = 1.5f) {}
extern "C" __global__ void none() {}
const char* const text = "__global__ void quoted(int a)";
)cu");
  const std::vector<KernelFunction> functions = kernel_functions(sources, "main.cu");
  ASSERT_EQ(functions.size(), 2U);
  EXPECT_EQ(functions[0].name, "scale");
  EXPECT_EQ(functions[0].file, "main.cu");
  EXPECT_EQ(functions[0].line, 4);
  EXPECT_THAT(functions[0].parameters, ElementsAre("x", "y", "z", "float"));
  EXPECT_EQ(functions[1].name, "none");
  EXPECT_EQ(functions[1].line, 5);
  EXPECT_THAT(functions[1].parameters, IsEmpty());
}

TEST(KernelFunctions, AreFoundInTheFamilysOwnHeaders) {
  SourceTree sources = tree_of("#include \"parts/inner.cuh\"\n#include <mg/types.cuh>\n");
  sources.files["parts/inner.cuh"] = "#include \"innermost.cuh\"\n";
  sources.files["parts/innermost.cuh"] = "\n__global__ void deep(int n) {}\n";
  sources.files["other.cu"] = "__global__ void other(int n) {}\n";
  const std::vector<KernelFunction> functions = kernel_functions(sources, "main.cu");
  ASSERT_EQ(functions.size(), 1U);
  EXPECT_EQ(functions[0].name, "deep");
  EXPECT_EQ(functions[0].file, "parts/innermost.cuh");
  EXPECT_EQ(functions[0].line, 2);
}

TEST(KernelFunctions, MentionsAreWholeWordsOutsideComments) {
  const SourceTree sources = tree_of("KERNEL(made_by_macro)  // only_here\n");
  EXPECT_TRUE(mentions(sources, "main.cu", "made_by_macro"));
  EXPECT_FALSE(mentions(sources, "main.cu", "made_by"));
  EXPECT_FALSE(mentions(sources, "main.cu", "only_here"));
}

}  // namespace
}  // namespace mgtune
