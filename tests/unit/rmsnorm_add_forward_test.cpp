// rmsnorm.add_forward on the cpu device: as rmsnorm_forward_test.cpp, and the sum that it writes is
// the exact one, rounded once, in place or not.

#include "tests/helpers/rmsnorm_rows.h"

namespace mgtune {
namespace {

using Types = RmsnormTypes;

constexpr Types kBf16{DType::bf16, DType::bf16};

const Operator& add_forward() {
  static const Operator op = rmsnorm_operator("add_forward");
  return op;
}

class RmsnormAddForward : public testing::TestWithParam<Types> {};

TEST_P(RmsnormAddForward, EqualsTheReferenceInEveryThreadOrder) {
  expect_right_everywhere(
      add_forward(),
      {{17, 1, 1}, {5, 31, 33}, {99, 64, 72}, {5, 1000, 1003}, {1, 4096, 4096}, {1, 20001, 20001}},
      GetParam(), in_long_lane<std::size_t>(6, 2));
}

INSTANTIATE_TEST_SUITE_P(EachDType, RmsnormAddForward,
                         testing::Values(Types{DType::f32, DType::f32},
                                         Types{DType::f16, DType::f16}, kBf16,
                                         Types{DType::bf16, DType::f32}),
                         [](const auto& each) { return text_of(each.param); });

TEST(RmsnormAddForwardBulk, RowsComeThroughSharedMemory) {
  expect_right_everywhere(add_forward(), {{3, 4120, 4120}, {5, 2048, 2064}}, kBf16, 3,
                          "bulk CLUSTER=1 ");
}

TEST(RmsnormAddForwardStream, RowsFollowEachOtherThroughSharedMemory) {
  expect_right_everywhere(add_forward(), {{264, 1032, 1040}, {265, 4120, 4120}}, kBf16, 3,
                          "stream ");
}

TEST(RmsnormAddForwardInPlace, TheSumMayReplaceTheResidual) {
  const RmsnormShape shape{5, 1024, 1024};
  const Problem problem = rmsnorm_problem(add_forward(), shape, kBf16, false);
  std::vector<RmsnormVariant> variants = chosen_variants(problem, 2);
  const Space space(problem, kOldestGpu);
  for (const Variant& variant : space.all()) {  // the design that writes it before it reads again
    if (!variant_text(add_forward(), variant).starts_with("reread")) continue;
    variants.push_back(launchable(problem, variant));
    break;
  }
  std::vector<std::string> kernels;
  for (const RmsnormVariant& variant : variants) kernels.push_back(variant.kernel);
  std::ranges::sort(kernels);
  kernels.erase(std::ranges::unique(kernels).begin(), kernels.end());
  const auto reference = CpuModule::build("kernels/rmsnorm", "reference.cu",
                                          {RmsnormRows::reference_kernel(true, kBf16)})
                             .value();
  const auto module = CpuModule::build("kernels/rmsnorm", "forward.cu", kernels).value();
  for (const RmsnormVariant& variant : variants) {
    auto rows = RmsnormRows::make(reference, true, shape, kBf16).value();
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

TEST(RmsnormAddForwardLaunch, OfNoRowsHasAnEmptyGrid) {
  const Problem problem = rmsnorm_problem(add_forward(), {0, 256, 256}, kBf16, false);
  EXPECT_EQ(chosen_variants(problem, 0).at(0).grid, 0U);
}

}  // namespace
}  // namespace mgtune
