// rmsnorm.forward on the cpu device: ladder variants and a seeded sample of the space over edge
// shapes equal the fp64 reference within the operator's tolerance, in any order of a block's
// threads; and the ladder serves every size, dtype, stride and alignment.

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

TEST(RmsnormForwardLadder, FollowsRowsColumnsAndTheirAlignment) {
  const auto first = [](std::int64_t rows, std::int64_t hidden, std::int64_t x_stride, Types types,
                        const DeviceLimits& limits = kH200) {
    const std::string text =
        first_of_ladder(rmsnorm_problem(forward(), {rows, hidden, x_stride}, types, false), limits);
    return text.substr(0, text.find(" LOAD"));
  };
  const auto row = [](int threads, int rows, int vec) {
    return "row THREADS_PER_ROW=" + std::to_string(threads) +
           " ROWS_PER_BLOCK=" + std::to_string(rows) +
           " ROWS_PER_THREAD=1 VEC=" + std::to_string(vec);
  };
  EXPECT_EQ(first(4096, 4096, 4096, kRmsnormBf16), row(256, 1, 8));
  EXPECT_EQ(first(4096, 4096, 4100, kRmsnormBf16), row(256, 1, 4));
  EXPECT_EQ(first(4096, 4096, 4097, kRmsnormBf16), row(256, 1, 1));
  EXPECT_EQ(first(4096, 2048, 2048, kF32), row(256, 1, 4));
  EXPECT_EQ(first(4096, 4096, 4096, {DType::bf16, DType::f32}), row(256, 1, 8));
  EXPECT_EQ(first(16384, 2048, 2048, kRmsnormBf16), row(128, 1, 8));
  EXPECT_EQ(first(32768, 1024, 1024, kRmsnormBf16), row(64, 2, 8));
  EXPECT_EQ(first(4096, 1536, 1536, kRmsnormBf16), row(128, 2, 8));
  EXPECT_EQ(first(65536, 256, 256, kRmsnormBf16), row(16, 8, 8));
  EXPECT_EQ(first(65536, 192, 192, kRmsnormBf16), row(8, 16, 8));
  // Fewer threads where more than a third of them would idle.
  EXPECT_EQ(first(8192, 2560, 2560, kRmsnormBf16), row(128, 1, 8));
  EXPECT_EQ(first(8192, 1280, 1280, kRmsnormBf16), row(64, 2, 8));
  EXPECT_EQ(first(16384, 640, 640, kRmsnormBf16), row(32, 4, 8));
  EXPECT_EQ(first(4096, 128, 128, kRmsnormBf16), row(16, 8, 8));
  EXPECT_EQ(first(131072, 128, 128, kRmsnormBf16), row(8, 16, 8));
  EXPECT_EQ(first(4096, 1, 1, kRmsnormBf16), row(8, 16, 1));
  // At most 8 MiB: fewer threads, which hold more.
  EXPECT_EQ(first(512, 4096, 4096, kRmsnormBf16), row(128, 1, 8));
  EXPECT_EQ(first(8192, 8192, 8192, kRmsnormBf16), row(256, 1, 8));
  EXPECT_EQ(first(4096, 16384, 16384, kRmsnormBf16), row(512, 1, 8));
  EXPECT_EQ(first(2048, 32768, 32768, kRmsnormBf16), row(512, 1, 8));
  EXPECT_EQ(first(4096, 4096, 4096, kF32), row(512, 1, 4));
  EXPECT_EQ(first(2048, 5120, 5120, kRmsnormBf16), row(256, 1, 8));
  EXPECT_EQ(first(8192, 8192, 8192, kRmsnormBf16, kT4), row(256, 1, 8));
  // Few rows: as many threads as there are.
  EXPECT_EQ(first(1, 4096, 4096, kRmsnormBf16), row(1024, 1, 4));
  EXPECT_EQ(first(1, 4096, 4096, kF32), row(1024, 1, 4));
  EXPECT_EQ(first(1, 1536, 1536, kRmsnormBf16), row(128, 1, 8));
  // Wide ones: a cluster where they are few, else one that stays; where neither can, registers, or
  // twice.
  const auto stream = [](int cluster, int threads, int stages) {
    return "stream CLUSTER=" + std::to_string(cluster) + " THREADS=" + std::to_string(threads) +
           " STAGES=" + std::to_string(stages) +
           " BLOCKS_PER_SM=1 HOLD=registers STORE=streaming WEIGHT=early PDL=true";
  };
  EXPECT_EQ(first(16, 65536, 65536, kRmsnormBf16), "cluster CLUSTER=8 THREADS=256 VEC=8");
  EXPECT_EQ(first(1, 262144, 262144, kRmsnormBf16), "cluster CLUSTER=16 THREADS=512 VEC=8");
  EXPECT_EQ(first(1024, 65536, 65536, kRmsnormBf16), stream(4, 1024, 2));
  EXPECT_EQ(first(1024, 49152, 49152, kRmsnormBf16), stream(4, 256, 4));
  EXPECT_EQ(first(64, 65536, 65536, kRmsnormBf16),
            stream(8, 512, 2));  // 23 % slower than cluster 2 x 1024
  EXPECT_EQ(first(256, 131072, 131072, kRmsnormBf16), stream(8, 512, 2));
  EXPECT_EQ(first(64, 262144, 262144, kRmsnormBf16), stream(8, 512, 1));
  EXPECT_EQ(first(1024, 65536, 65540, kRmsnormBf16), row(1024, 1, 4));
  EXPECT_EQ(first(64, 65536, 65536, kRmsnormBf16, kT4),
            "reread THREADS_PER_ROW=1024 ROWS_PER_BLOCK=1 VEC=8");
  EXPECT_EQ(first(1024, 65535, 65535, kF32, kT4),
            "reread THREADS_PER_ROW=1024 ROWS_PER_BLOCK=1 VEC=1");
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
                                                          {3000, 40008},
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
  EXPECT_EQ(load(512, 4096, kH200), "no_allocate");
  EXPECT_EQ(load(8192, 8192, kT4), "normal");
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
