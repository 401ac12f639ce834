// Kernels as they are found in the wild: a result whose size a parameter gives, which is a
// workspace; and a reference that writes floats.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/helpers/mgtune_program.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kSumJson[] = R"json({
  "format": 1,
  "dims": {"n": "dynamic"},
  "tensors": {
    "x": {"role": "in", "dtype": "f32", "shape": ["n"], "fill": "uniform(0, 1)"},
    "sum": {"role": "out", "dtype": "f32", "shape": [1]}
  },
  "cost": {"bytes": "4 * n", "flops": "n"},
  "check": {
    "reference": "partial_sums_total_reference",
    "reference_type": "f32",
    "measure": "relative_l2",
    "tolerance": {"f32": 1e-5}
  },
  "problems": {"default": [{"n": 1048576}], "emulation": [{"n": 1000}]},
  "designs": {
    "two_kernels": {
      "source": "sum.cu",
      "params": {"BLOCKS": [2, 5]},
      "workspace": {"partial": {"dtype": "f32", "shape": ["BLOCKS"]}},
      "launches": [
        {"kernel": "sum_blocks", "grid": ["BLOCKS"], "block": [32], "args": ["x", "partial", "n:i64"]},
        {"kernel": "sum_partial", "grid": [1], "block": [1], "args": ["partial", "sum", "BLOCKS:i32"]}
      ],
      "defaults": [{"BLOCKS": 2}]
    }
  }
}
)json";

constexpr char kSumSource[] = R"(
__global__ void sum_blocks(const float* x, float* partial, long long n) {
  if (threadIdx.x > 0) return;
  float sum = 0;
  for (long long i = blockIdx.x; i < n; i += gridDim.x) sum += x[i];
  partial[blockIdx.x] = sum;
}
__global__ void sum_partial(const float* partial, float* sum, int blocks) {
  float total = 0;
  for (int i = 0; i < blocks; ++i) total += partial[i];
  sum[0] = total;
}
)";

constexpr char kSumReference[] = R"(
template <class Problem>
__global__ void partial_sums_total_reference(const float* x, float* sum, Problem problem) {
  if (blockIdx.x > 0 || threadIdx.x > 0) return;
  float total = 0;
  for (long long i = 0; i < problem.n; ++i) total += x[i];
  sum[0] = total;
}
)";

class CliPartialSumsTest : public testing::Test {
 protected:
  CliPartialSumsTest() {
    std::filesystem::create_directory(family_);
    std::ofstream(family_ + "/total.json") << kSumJson;
    std::ofstream(family_ + "/sum.cu") << kSumSource;
    std::ofstream(family_ + "/reference.cu") << kSumReference;
  }
  Ended sweep() { return mgtune_.run({"sweep", family_, "--gpu", "cpu", "--json"}); }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
  const std::string family_ = mgtune_.folder().file("partial_sums");
};

TEST_F(CliPartialSumsTest, AWorkspaceHasASizeThatAParameterGives) {
  const Ended ended = sweep();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  const auto outcomes = ended.json()["sweeps"][0]["outcomes"];
  EXPECT_TRUE(outcomes.contains("ok") && !outcomes.contains("wrong")) << ended;

  // Without the type, the floats of the reference are read as doubles.
  replace_in_file(family_ + "/total.json", "\"reference_type\": \"f32\",", "");
  const Ended wrong = sweep();
  EXPECT_EQ(wrong.json()["sweeps"][0]["outcomes"], (nlohmann::json{{"wrong", 2}})) << wrong;
}

TEST_F(CliPartialSumsTest, ATensorCannotHaveIt) {
  replace_in_file(family_ + "/total.json", "\"shape\": [1]", "\"shape\": [\"BLOCKS\"]");
  expect_refused(sweep(), 2,
                 AllOf(HasSubstr("total.json: /tensors/sum/shape/0: 'BLOCKS' is a parameter"),
                       HasSubstr("workspace"), HasSubstr("line 6")));
}

TEST_F(CliPartialSumsTest, AReferenceTypeIsAFloatingType) {
  replace_in_file(family_ + "/total.json", "\"reference_type\": \"f32\"",
                  "\"reference_type\": \"f16\"");
  expect_refused(sweep(), 2,
                 HasSubstr("/check/reference_type: a reference writes its outputs in "
                           "f64 or f32"));
}

}  // namespace
}  // namespace mgtune
