// rmsnorm.add_forward on the cpu device: as rmsnorm_forward_test.cpp, and the sum that it writes is
// the exact one, rounded once, in place or not.

#include "tests/helpers/all_variants.h"
#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/rmsnorm_rows.h"

namespace mgtune {
namespace {

using Types = RmsnormTypes;

const Operator& add_forward() {
  static const Operator op = rmsnorm_operator("add_forward");
  return op;
}

class RmsnormAddForward : public testing::TestWithParam<Types> {};

TEST_P(RmsnormAddForward, EqualsTheReferenceInEveryThreadOrder) {
  if (kUnderSanitizer && GetParam().data == DType::f16) GTEST_SKIP() << kAsBf16;
  expect_right_everywhere(
      add_forward(),
      {{17, 1, 1}, {5, 31, 33}, {99, 64, 72}, {5, 1000, 1003}, {1, 4096, 4096}, {1, 20001, 20001}},
      GetParam(), in_long_lane<std::size_t>(6, 2, 1));
}

INSTANTIATE_TEST_SUITE_P(EachDType, RmsnormAddForward,
                         testing::Values(Types{DType::f32, DType::f32},
                                         Types{DType::f16, DType::f16}, kRmsnormBf16,
                                         Types{DType::bf16, DType::f32}),
                         [](const auto& each) { return text_of(each.param); });

TEST(RmsnormAddForwardBulk, RowsComeThroughSharedMemory) {
  expect_right_everywhere(add_forward(), {{3, 4120, 4120}, {5, 2048, 2064}}, kRmsnormBf16, 3,
                          "bulk CLUSTER=1 ");
}

TEST(RmsnormAddForwardStream, RowsFollowEachOtherThroughSharedMemory) {
  expect_right_everywhere(add_forward(), {{264, 1032, 1040}, {265, 4120, 4120}}, kRmsnormBf16, 3,
                          "stream ");
}

TEST(RmsnormAddForwardInPlace, TheSumMayReplaceTheResidual) {
  const RmsnormShape shape{5, 1024, 1024};
  const Problem problem = rmsnorm_problem(add_forward(), shape, kRmsnormBf16, false);
  std::vector<RmsnormVariant> variants = chosen_variants(problem, 2);
  const Space space(problem, kT4);
  // The design that writes it before it reads again.
  for (const Variant& variant : all_variants(space)) {
    if (!variant_text(add_forward(), variant).starts_with("reread")) continue;
    variants.push_back(launchable(problem, variant));
    break;
  }
  std::vector<std::string> kernels;
  for (const RmsnormVariant& variant : variants) kernels.push_back(variant.kernel);
  std::ranges::sort(kernels);
  kernels.erase(std::ranges::unique(kernels).begin(), kernels.end());
  const auto reference = RmsnormRows::build_reference(true, kRmsnormBf16).value();
  const auto module = CpuModule::build("kernels/rmsnorm", "forward.cu", kernels).value();
  for (const RmsnormVariant& variant : variants) {
    auto rows = RmsnormRows::make(reference, true, shape, kRmsnormBf16).value();
    const Status status =
        rows.run(module, variant, false, {ThreadOrder::Kind::shuffled, 1}, /*in_place=*/true);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(rows.residual.download().value(), rows.expected_sum) << variant.kernel;
    EXPECT_LE(relative_l2(rows.y.download().value(), rows.expected_y), 4.5e-3) << variant.kernel;
  }
}

TEST(RmsnormAddForwardLadder, ServesEverySizeDTypeStrideAndAlignment) {
  expect_ladder_serves_everything(add_forward());
}

// A thread holds two rows: wide rows have twice the threads that they have in forward, and stream
// from half the columns on.
TEST(RmsnormAddForwardLadder, FollowsRowsAndColumns) {
  const auto first = [](std::int64_t rows, std::int64_t hidden) {
    return first_of_ladder(
        rmsnorm_problem(add_forward(), {rows, hidden, hidden}, kRmsnormBf16, false), kH200);
  };
  const auto starts = [](const std::string& text, const std::string& with) {
    EXPECT_EQ(text.find(with), 0U) << text;
  };
  starts(first(8192, 8192), "row THREADS_PER_ROW=512 ");
  starts(first(4096, 16384), "row THREADS_PER_ROW=1024 ");
  starts(first(1, 4096), "row THREADS_PER_ROW=1024 ");
  starts(first(2048, 32768), "stream CLUSTER=2 ");
  starts(first(1024, 65536), "stream CLUSTER=4 ");
  EXPECT_NE(first(8192, 8192).find("LOAD=kept"), std::string::npos);
  EXPECT_EQ(first(512, 4096).find("LOAD=kept"), std::string::npos) << "at most 8 MiB";
}

TEST(RmsnormAddForwardLaunch, OfNoRowsHasAnEmptyGrid) {
  const Problem problem = rmsnorm_problem(add_forward(), {0, 256, 256}, kRmsnormBf16, false);
  EXPECT_EQ(chosen_variants(problem, 0).at(0).grid, 0U);
}

}  // namespace
}  // namespace mgtune
