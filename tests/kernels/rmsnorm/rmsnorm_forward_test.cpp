// rmsnorm.forward on the cpu device: ladder variants and a seeded sample of the space over edge
// shapes equal the fp64 reference within the operator's tolerance, in any order of a block's
// threads; and the ladder serves every size, dtype, stride and alignment.

#include <cstdlib>
#include <limits>

#include "tests/helpers/all_variants.h"
#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/rmsnorm_rows.h"

namespace mgtune {
namespace {

using Types = RmsnormTypes;

constexpr Types kF32{DType::f32, DType::f32};

// One element, fewer columns than threads, a warp less and more one, whole vectors, several steps.
const std::vector<RmsnormShape> kForwardShapes = {
    {17, 1, 1},      {5, 2, 2},       {2, 7, 9},       {5, 31, 31},
    {5, 33, 40},     {17, 127, 127},  {1, 256, 256},   {99, 64, 72},
    {2, 1000, 1000}, {5, 1000, 1003}, {1, 4097, 4097}, {1, 20001, 20001}};

const Operator& forward() {
  static const Operator op = rmsnorm_operator("forward");
  return op;
}

class RmsnormForward : public testing::TestWithParam<Types> {};

TEST_P(RmsnormForward, EqualsTheReferenceInEveryThreadOrder) {
  if (kUnderSanitizer && GetParam().data == DType::f16) GTEST_SKIP() << kAsBf16;
  expect_right_everywhere(forward(), kForwardShapes, GetParam(),
                          in_long_lane<std::size_t>(6, 2, 1));
}

INSTANTIATE_TEST_SUITE_P(EachDType, RmsnormForward,
                         testing::Values(kF32, Types{DType::f16, DType::f16}, kRmsnormBf16),
                         [](const auto& each) { return text_of(each.param); });

TEST(RmsnormForwardWeights, MayBeWiderThanTheData) {
  expect_right_everywhere(forward(), {{5, 333, 333}, {20, 256, 264}, {1, 4096, 4096}},
                          {DType::bf16, DType::f32}, in_long_lane<std::size_t>(6, 2, 1));
}

TEST(RmsnormForwardWide, RowsAreReadTwice) {
  expect_right_everywhere(forward(), {{1, 65537, 65537}, {1, 131072, 131072}}, kRmsnormBf16, 1);
}

TEST(RmsnormForwardBulk, RowsComeThroughSharedMemory) {
  for (const Types& types : {kRmsnormBf16, Types{DType::f16, DType::f32}}) {
    expect_right_everywhere(forward(), {{3, 4120, 4120}, {5, 2048, 2064}}, types, 3,
                            "bulk CLUSTER=1 ");
  }
}

TEST(RmsnormForwardStream, RowsFollowEachOtherThroughSharedMemory) {
  for (const Types& types : {kRmsnormBf16, kF32, Types{DType::f16, DType::f32}}) {
    expect_right_everywhere(forward(), {{264, 1032, 1040}, {265, 4120, 4120}}, types, 3, "stream ");
  }
}

// What a problem's rows are, the first being random, and the ladder's first.
struct Special {
  static constexpr RmsnormShape kShape{6, 40, 40};
  std::vector<double> x = normal_values(6 * 40, 1);
  std::optional<CpuModule> reference, module;  // their devices outlive the tensors
  std::optional<RmsnormRows> rows;
  RmsnormVariant variant;

  explicit Special(const Types& types, const std::map<int, double>& rows_of_one_value,
                   const std::map<int, double>& single_elements) {
    for (const auto& [row, value] : rows_of_one_value) {
      std::fill_n(x.begin() + row * 40, 40, value);
    }
    for (const auto& [row, value] : single_elements)
      x[static_cast<std::size_t>(row * 40 + 17)] = value;
    const Problem problem = rmsnorm_problem(forward(), kShape, types, true);
    variant = chosen_variants(problem, 0).at(0);
    module.emplace(CpuModule::build("kernels/rmsnorm", "forward.cu", {variant.kernel}).value());
    reference.emplace(RmsnormRows::build_reference(false, types).value());
    rows.emplace(RmsnormRows::make(*reference, false, kShape, types, x).value());
    const Status status = rows->run(*module, variant, true, {ThreadOrder::Kind::forward, 0});
    EXPECT_TRUE(status.ok()) << status.message();
  }

  std::vector<double> row(const std::vector<double>& of, int index) const {
    return {of.begin() + index * 40, of.begin() + (index + 1) * 40};
  }
};

TEST(RmsnormForwardSpecial, NanAndInfSpoilTheirOwnRowAlone) {
  const double inf = std::numeric_limits<double>::infinity();
  Special special(kRmsnormBf16, {}, {{1, std::nan("")}, {2, inf}, {4, -inf}});
  const std::vector<double> y = special.rows->y.download().value();
  EXPECT_THAT(special.row(y, 1), testing::Each(testing::IsNan()));
  for (const int row : {2, 4}) {  // an infinite sum: 0 * Inf where the element is, 0 elsewhere
    const std::vector<double> spoilt = special.row(y, row);
    EXPECT_TRUE(std::isnan(spoilt[17]));
    EXPECT_EQ(spoilt[0], 0);
  }
  for (const int row : {0, 3, 5}) {
    EXPECT_LE(relative_l2(special.row(y, row), special.row(special.rows->expected_y, row)), 4.5e-3);
  }
}

TEST(RmsnormForwardSpecial, MagnitudesFarFromOne) {
  Special special(kF32, {{1, 0.0}, {2, 1e16}, {3, -2.5e-20}}, {{4, 1e10}});
  const std::vector<double> y = special.rows->y.download().value();
  for (int row = 0; row < 6; ++row) {
    const std::vector<double> expected = special.row(special.rows->expected_y, row);
    if (row == 1) {
      EXPECT_THAT(special.row(y, row), testing::Each(0.0));
    } else {
      EXPECT_LE(relative_l2(special.row(y, row), expected), 2e-6) << row;
    }
  }
}

TEST(RmsnormForwardPointers, MayBeAlignedToOneElementAlone) {
  const RmsnormShape shape{5, 64, 64};
  const Problem problem = rmsnorm_problem(forward(), shape, kRmsnormBf16, false);
  const Space space(problem, kT4);
  const std::vector<Variant> ladder = space.ladder();
  const auto narrow = std::ranges::find_if(ladder, [&](const Variant& variant) {
    return variant_text(forward(), variant).find(" VEC=1 ") != std::string::npos &&
           space.admits(variant);
  });
  ASSERT_NE(narrow, ladder.end());
  const RmsnormVariant variant = launchable(problem, *narrow);
  const auto reference = RmsnormRows::build_reference(false, kRmsnormBf16).value();
  const auto module = CpuModule::build("kernels/rmsnorm", "forward.cu", {variant.kernel}).value();
  // The same values one element further on.
  std::vector<double> values = normal_values(shape.rows * shape.hidden, 1);
  auto rows = RmsnormRows::make(reference, false, shape, kRmsnormBf16, values).value();
  values.insert(values.begin(), 7.0);
  const auto x = DeviceTensor::upload(reference.device(), DType::bf16, values).value();
  const Status status =
      module.launch(variant.kernel, variant.grid, variant.block,
                    static_cast<void*>(static_cast<char*>(x.data()) + 2), rows.weight.data(),
                    rows.y.data(), static_cast<void*>(nullptr), shape.rows, shape.x_stride,
                    kRmsnormEps, kRmsnormOffset, variant.grid);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_LE(relative_l2(rows.y.download().value(), rows.expected_y), 4.5e-3);
}

TEST(RmsnormForwardLadder, ServesEverySizeDTypeStrideAndAlignment) {
  expect_ladder_serves_everything(forward());
}

// The first rung that serves rows of bf16, x_stride elements apart.
std::string first_forward_rung(std::int64_t rows, std::int64_t hidden, std::int64_t x_stride,
                               const DeviceLimits& limits = kH200) {
  return first_of_ladder(rmsnorm_problem(forward(), {rows, hidden, x_stride}, kRmsnormBf16, false),
                         limits);
}

// What stands behind "name=" in the text of a variant.
std::int64_t forward_number(const std::string& text, const std::string& name) {
  const std::size_t at = text.find(" " + name + "=");
  EXPECT_NE(at, std::string::npos) << text;
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + name.size() + 2);
}

TEST(RmsnormForwardLadder, HoldsManyRowsInRegistersWithTwoToFourLoadsAThread) {
  for (const std::int64_t hidden : {128, 640, 1024, 1536, 2048, 3072, 4096, 5120, 8192}) {
    const std::string text = first_forward_rung(65536, hidden, hidden);
    EXPECT_EQ(text.find("row "), 0U) << text;
    EXPECT_EQ(forward_number(text, "VEC"), 8) << text;
    const std::int64_t threads = forward_number(text, "THREADS_PER_ROW");
    EXPECT_GE(threads * 4 * 8, hidden) << text;
    EXPECT_LE(threads * 8, hidden) << text;
    // A dependent launch needs 4 KiB of rows in a block.
    EXPECT_GE(forward_number(text, "ROWS_PER_BLOCK") * hidden * 2, 4096) << text;
  }
}

TEST(RmsnormForwardLadder, GivesFewRowsAllThreadsOfTheirBlock) {
  EXPECT_EQ(forward_number(first_forward_rung(1, 4096, 4096), "THREADS_PER_ROW"), 1024);
  EXPECT_EQ(forward_number(first_forward_rung(8, 1152, 1152), "THREADS_PER_ROW"), 512);
  // A warp that shares a row needs no barrier.
  EXPECT_EQ(forward_number(first_forward_rung(8, 512, 512), "THREADS_PER_ROW"), 32);
}

TEST(RmsnormForwardLadder, SpreadsWideRowsOverClusters) {
  EXPECT_EQ(first_forward_rung(10, 12288, 12288).find("cluster "), 0U) << "few rows";
  EXPECT_EQ(first_forward_rung(1, 262144, 262144).find("cluster "), 0U) << "few rows";
  for (const auto& [rows, hidden] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1024, 65536}, {1024, 49152}, {256, 131072}, {300, 262144}}) {
    const std::string text = first_forward_rung(rows, hidden, hidden);
    EXPECT_EQ(text.find("stream "), 0U) << text;
    EXPECT_GE(forward_number(text, "CLUSTER"), 4) << text;
  }
  EXPECT_EQ(first_forward_rung(64, 65536, 65536, kT4).find("reread "), 0U) << "no clusters";
}

TEST(RmsnormForwardLadder, ReadsWhatIsNotAlignedOneByOne) {
  EXPECT_EQ(forward_number(first_forward_rung(4096, 4096, 4097), "VEC"), 1);
  EXPECT_EQ(forward_number(first_forward_rung(4096, 4095, 4095), "VEC"), 1);
  EXPECT_EQ(forward_number(first_forward_rung(4096, 1, 1), "VEC"), 1);
  EXPECT_EQ(forward_number(first_forward_rung(4096, 4092, 4092), "VEC"), 4);
}

// On sm_90, but for narrow rows of more than 8 MiB in all, whose blocks are too small for it.
TEST(RmsnormForwardLadder, StartsAsADependentLaunch) {
  for (const auto& [rows, hidden] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 256},
                                                          {16, 192},
                                                          {8192, 256},
                                                          {600, 640},
                                                          {65536, 520},
                                                          {8192, 1032},
                                                          {8192, 2056},
                                                          {512, 4352},
                                                          {131072, 128},
                                                          {300, 12288},
                                                          {4096, 64}}) {
    const std::string text = first_of_ladder(
        rmsnorm_problem(forward(), {rows, hidden, hidden}, kRmsnormBf16, false), kH200);
    EXPECT_NE(text.find("PDL=true"), std::string::npos) << rows << " x " << hidden << ": " << text;
  }
}

TEST(RmsnormForwardLadder, KeepsXInTheCachesBeyond8Mib) {
  const auto load = [](std::int64_t rows, std::int64_t hidden, const DeviceLimits& limits) {
    const std::string text = first_of_ladder(
        rmsnorm_problem(forward(), {rows, hidden, hidden}, kRmsnormBf16, false), limits);
    const std::size_t at = text.find("LOAD=") + 5;
    return text.substr(at, text.find(' ', at) - at);
  };
  EXPECT_EQ(load(8192, 8192, kH200), "kept");
  EXPECT_EQ(load(131072, 128, kH200), "kept");
  EXPECT_EQ(load(8192, 512, kH200), "normal");
  EXPECT_EQ(load(512, 4096, kH200), "normal");
  EXPECT_NE(load(8192, 8192, kT4), "kept");
}

TEST(RmsnormForwardSpace, StaysWhereASearchCanSeeIt) {
  for (const auto& [rows, hidden] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {4096, 4096}, {8192, 8192}, {131072, 128}, {1024, 65536}, {1, 4096}, {16, 333}}) {
    for (const Types& types : {kRmsnormBf16, kF32}) {
      const Problem problem = rmsnorm_problem(forward(), {rows, hidden, hidden}, types, false);
      const std::uint64_t count = count_variants(Space(problem, kH200));
      EXPECT_GE(count, 20U) << problem.text();
      EXPECT_LE(count, 2000U) << problem.text();
    }
  }
}

TEST(RmsnormForwardLaunch, OfNoRowsHasAnEmptyGrid) {
  const Problem problem = rmsnorm_problem(forward(), {0, 256, 256}, kRmsnormBf16, false);
  EXPECT_EQ(chosen_variants(problem, 0).at(0).grid, 0U);
}

}  // namespace
}  // namespace mgtune
