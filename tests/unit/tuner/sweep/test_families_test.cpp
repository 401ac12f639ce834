// The families of tests/families do what they are for: each planted fault shows on the cpu device,
// and everything beside it is right.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "build/builder.h"
#include "compiler/compiler.h"
#include "family/catalog.h"
#include "family/variant.h"
#include "space/space.h"
#include "system/file_system.h"
#include "tests/helpers/all_variants.h"
#include "tests/helpers/kernels/cpu_module.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t kCount = 256;
constexpr std::uint32_t kThreads = 64;

std::vector<double> counting_up(std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i + 1);
  return values;
}

// A kernel of tests/families/faulty<x, y, n> with its tensors; y is what it wrote.
struct Faulty {
  Status status;
  std::vector<double> y;

  static Faulty run(const std::string& name, ThreadOrder order = {}) {
    const std::string kernel = name + "<float, " + std::to_string(kThreads) + ">";
    auto module = CpuModule::build("tests/families/faulty", name + ".cu", {kernel});
    if (!module.ok()) return {module.status(), {}};
    Device& device = module->device();
    const auto x = DeviceTensor::upload(device, DType::f32, counting_up(kCount));
    const auto y = DeviceTensor::poisoned(device, DType::f32, kCount);
    EXPECT_TRUE(device.set_thread_order(order).ok());
    Status status =
        module->launch(kernel, kCount / kThreads, kThreads, x->data(), y->data(), kCount);
    return {std::move(status), y->download().value()};
  }
};

TEST(FaultyFamily, MissingBarrierIsRightOnlyInOrder) {
  std::vector<double> expected = counting_up(kCount);
  for (std::int64_t i = kCount - 1; i >= 0; --i) {
    if (i % kThreads != 0) expected[std::size_t(i)] = expected[std::size_t(i - 1)];
  }
  const Faulty forward = Faulty::run("missing_barrier", {ThreadOrder::Kind::forward});
  ASSERT_TRUE(forward.status.ok()) << forward.status.message();
  EXPECT_EQ(forward.y, expected);
  const Faulty reversed = Faulty::run("missing_barrier", {ThreadOrder::Kind::reversed});
  ASSERT_TRUE(reversed.status.ok()) << reversed.status.message();
  EXPECT_NE(reversed.y, expected);
}

TEST(FaultyFamily, DivergentShuffleIsNamedWithItsLine) {
  const Faulty faulty = Faulty::run("divergent_shuffle");
  EXPECT_EQ(faulty.status.code(), StatusCode::launch_failed);
  EXPECT_THAT(faulty.status.message(),
              AllOf(HasSubstr("__shfl_xor_sync"), HasSubstr("divergent_shuffle.cu:")));
}

TEST(FaultyFamily, EndlessLoopEndsAtTheDeadline) {
  setenv("MGTUNE_CPU_DEADLINE_S", "0.5", 1);
  const Faulty faulty = Faulty::run("endless_loop");
  unsetenv("MGTUNE_CPU_DEADLINE_S");
  EXPECT_FALSE(faulty.status.ok());
  EXPECT_THAT(faulty.status.message(), HasSubstr("endless_loop.cu:"));
}

// A write outside memory ends the process: the guard page's way, or AddressSanitizer's.
TEST(FaultyFamilyDeathTest, OutOfBoundsWriteIsNamedWithItsLine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const bool sanitized = std::string(MGTUNE_SANITIZE).find("address") != std::string::npos;
  EXPECT_DEATH(Faulty::run("out_of_bounds"),
               sanitized ? "heap-buffer-overflow"
                         : "byte 1024 of a buffer of 1024 bytes at out_of_bounds.cu:");
}

TEST(VectorAddFamily, IsRightWrongOrBrokenByMode) {
  const std::string good = "vector_add<float, 32, MODE::good>";
  const std::string wrong = "vector_add<float, 32, MODE::wrong>";
  auto module = CpuModule::build("tests/families/vector_add", "add.cu", {good, wrong});
  ASSERT_TRUE(module.ok()) << module.status().message();
  const auto x = DeviceTensor::upload(module->device(), DType::f32, counting_up(100));
  const auto z = DeviceTensor::poisoned(module->device(), DType::f32, 100);
  std::vector<double> expected = counting_up(100);
  for (double& value : expected) value *= 2;

  constexpr std::int64_t n = 100;
  ASSERT_TRUE(module->launch(good, 4, 32, x->data(), x->data(), z->data(), n).ok());
  EXPECT_EQ(z->download().value(), expected);
  ASSERT_TRUE(module->launch(wrong, 4, 32, x->data(), x->data(), z->data(), n).ok());
  const std::vector<double> actual = z->download().value();
  EXPECT_NEAR(actual[31], 64.064, 1e-5);
  EXPECT_EQ(actual[30], 62.0);

  const auto broken = CpuModule::build("tests/families/vector_add", "add.cu",
                                       {"vector_add<float, 32, MODE::broken>"});
  EXPECT_EQ(broken.status().code(), StatusCode::compile_failed);
  EXPECT_THAT(broken.status().message(), HasSubstr("this variant is broken on purpose"));
}

TEST(TestFamilies, Decode) {
  for (const std::string folder : {"vector_add", "faulty", "culprits"}) {
    Catalog catalog(FileSystem::real());
    const auto operators = catalog.find(source_path("tests/families/") + folder);
    ASSERT_TRUE(operators.ok()) << operators.status().message();
    EXPECT_EQ(operators->size(), folder == "faulty" ? 4u : 1u);
  }
}

TEST(CulpritsFamily, HasSixtyFourVariantsOfWhichFiveAreFaulty) {
  Catalog catalog(FileSystem::real());
  const Operator& op = *catalog.find(source_path("tests/families/culprits")).value().front();
  const Space space(bind_problem(op, {{"n", "1000"}}).value(), {});
  std::size_t faulty = 0;
  for (const Variant& variant : all_variants(space)) {
    faulty += variant_text(op, variant).ends_with("FAULT=none") ? 0 : 1;
  }
  EXPECT_EQ(count_variants(space), 64U);
  EXPECT_EQ(faulty, 5U);
}

// What counters are to see on a GPU stands in the binary already.
TEST(CostlyFamily, OnlySpillsSpill) {
  Catalog catalog(FileSystem::real());
  const std::string folder = source_path("tests/families/costly");
  const Operator& op = *catalog.find(folder).value().front();
  const Problem problem = bind_problem(op, {{"n", "1048576"}}).value();
  for (const char* arch : {"sm_75", "sm_90a"}) {
    const auto compiler = make_nvrtc_compiler(arch);
    ASSERT_TRUE(compiler.ok()) << compiler.status().message();
    for (const std::string cost : {"none", "spills", "conflicts"}) {
      const Variant variant = parse_variant(op, "block COST=" + cost).value();
      const Slots slots = compile_slots(problem.binding(), variant, {}).value();
      const auto build =
          (*compiler)->compile(variant_build_request(op, variant, slots, arch).value());
      ASSERT_TRUE(build.ok()) << build.status().message();
      EXPECT_EQ(build->kernels.front().spill_bytes > 0, cost == "spills") << arch << " " << cost;
    }
  }
}

}  // namespace
}  // namespace mgtune
