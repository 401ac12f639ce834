// Which problem a search starts from, and what of it.

#include "sweep/warm_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "space/space.h"
#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/replaced.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class WarmStartTest : public StoreTest {
 protected:
  WarmStartTest() {
    far_.name = "Fake L4";
    far_.arch = "sm_89";
    far_.limits = {89, 58, 101376, 50331648};
    farther_.name = "Fake T4";
    farther_.arch = "sm_75";
    farther_.limits = {75, 40, 65536, 4194304};
  }

  Problem problem(const std::string& words) const {
    return must(bind_problem(op_, must(parse_assignments(words))));
  }

  // A sweep that measured these variants in this order, and picked the first.
  void sweep(const std::string& words, const DeviceInfo& device,
             const std::vector<std::pair<std::string, double>>& variants,
             const std::string& method = "rotating") {
    OutcomeRecord row = outcome_in(store_, gpu_record(device));
    row.key.problem = *store_.problem_id("toy.norm", problem(words).text(), 1, 1);
    for (const auto& [variant, median_ns] : variants) {
      row.variant = variant;
      row.outcome = median_ns > 0 ? Outcome::ok : Outcome::raced_out;
      row.key.build_sha256 = row.build.sha256 = row.build.key = "build of " + variant;
      row.measurement->outcome = row.outcome;
      row.measurement->method = method;
      row.measurement->median_ns = std::abs(median_ns);
      ASSERT_TRUE(store_.record(row).ok());
    }
    TunedRecord tuned;
    tuned.sweep = row.sweep;
    tuned.gpu = row.key.gpu;
    tuned.problem = row.key.problem;
    tuned.variant = variants.front().first;
    tuned.build_sha256 = "build of " + tuned.variant;
    tuned.method = method;
    tuned.median_ns = variants.front().second;
    ASSERT_TRUE(store_.record_tuned(tuned).ok());
  }

  WarmSource find(const std::string& words, const DeviceInfo& device,
                  const std::string& method = "rotating") {
    const Problem asked = problem(words);
    return must(find_warm_start(store_, asked, device, Space(asked, device.limits), method));
  }

  static std::string with_f16(const std::string& text) {
    return replaced(replaced(text, R"(["f32", "bf16"])", R"(["f32", "f16", "bf16"])"),
                    R"("bf16": 1e-2)", R"("f16": 1e-3, "bf16": 1e-2)");
  }

  std::string origin(const std::string& words, const DeviceInfo& device) {
    return find(words, device).origin;
  }

  std::vector<std::string> texts(const WarmSource& source) const {
    std::vector<std::string> texts;
    for (const WarmVariant& warm : source.variants)
      texts.push_back(variant_text(op_, warm.variant));
    return texts;
  }

  Store store_ = open();
  const Operator op_ = decode_toy("toy.norm", with_f16(kToyNorm));
  const DeviceInfo here_ = FakeDevice().device_info;
  DeviceInfo far_ = here_, farther_ = here_;
};

TEST_F(WarmStartTest, NothingIsKnown) {
  EXPECT_THAT(find("rows=64,hidden=64,T=f32", here_).variants, IsEmpty());
  sweep("rows=64,hidden=64,T=f32", here_, {{"row THREADS=64 VEC=4", 1000}});
  EXPECT_THAT(find("rows=64,hidden=64,T=f32", here_).variants, IsEmpty())
      << "its own results are no neighbor's";
}

TEST_F(WarmStartTest, TheFastestOfTheNearestProblemInOrder) {
  sweep("rows=64,hidden=64,T=f32", here_,
        {{"row THREADS=64 VEC=4", 1000},
         {"row THREADS=256 VEC=4", 800},
         {"row THREADS=32 VEC=1", -900},  // raced out: nobody knows how slow it is
         {"row THREADS=128 VEC=2", 1600}});
  sweep("rows=4096,hidden=64,T=f32", here_, {{"row THREADS=32 VEC=2", 10}});
  const WarmSource source = find("rows=100,hidden=64,T=f32", here_);
  EXPECT_EQ(source.origin, "rows=64 hidden=64 T=f32 on Fake H200");
  EXPECT_THAT(texts(source), ElementsAre("row THREADS=256 VEC=4", "row THREADS=64 VEC=4",
                                         "row THREADS=128 VEC=2"));
  EXPECT_DOUBLE_EQ(source.variants[0].relative_time, 1);
  EXPECT_DOUBLE_EQ(source.variants[1].relative_time, 1.25);
  EXPECT_DOUBLE_EQ(source.variants[2].relative_time, 2);
  EXPECT_EQ(origin("rows=2000,hidden=64,T=f32", here_), "rows=4096 hidden=64 T=f32 on Fake H200");
}

TEST_F(WarmStartTest, ThisGpuThenTheNearestOtherThenDTypesThenDims) {
  sweep("rows=64,hidden=64,T=f32", farther_, {{"row THREADS=64 VEC=4", 1000}});
  EXPECT_EQ(origin("rows=64,hidden=64,T=f32", here_), "rows=64 hidden=64 T=f32 on Fake T4");
  sweep("rows=9000,hidden=64,T=bf16", far_, {{"row THREADS=64 VEC=4", 1000}});
  EXPECT_EQ(origin("rows=64,hidden=64,T=f32", here_), "rows=9000 hidden=64 T=bf16 on Fake L4");
  sweep("rows=9000,hidden=256,T=f32", far_, {{"row THREADS=64 VEC=4", 1000}});
  EXPECT_EQ(origin("rows=64,hidden=64,T=f32", here_), "rows=9000 hidden=256 T=f32 on Fake L4");
  sweep("rows=64,hidden=64,T=bf16", here_, {{"row THREADS=64 VEC=4", 1000}});
  EXPECT_EQ(origin("rows=64,hidden=64,T=f32", here_), "rows=64 hidden=64 T=bf16 on Fake H200");
  sweep("rows=999999,hidden=1024,T=f32", here_, {{"row THREADS=64 VEC=4", 1000}});
  EXPECT_EQ(origin("rows=64,hidden=64,T=f32", here_), "rows=999999 hidden=1024 T=f32 on Fake H200");
}

TEST_F(WarmStartTest, DTypesOfOneSizeAreAlike) {
  sweep("rows=128,hidden=64,T=bf16", here_, {{"row THREADS=64 VEC=4", 1000}});
  sweep("rows=64,hidden=64,T=f32", here_, {{"row THREADS=128 VEC=2", 1000}});
  sweep("rows=64,hidden=64,T=f16", here_, {{"row THREADS=256 VEC=4", 1000}});
  EXPECT_EQ(origin("rows=64,hidden=64,T=bf16", here_), "rows=64 hidden=64 T=f16 on Fake H200");
}

TEST_F(WarmStartTest, WinnersNearbyAreThePicksOfTheNearestFirst) {
  sweep("rows=4096,hidden=64,T=f16", here_, {{"row THREADS=64 VEC=4", 1000}});
  sweep("rows=64,hidden=64,T=f32", here_, {{"row THREADS=128 VEC=2", 1000}});
  sweep("rows=128,hidden=64,T=f16", here_, {{"row THREADS=256 VEC=4", 1000}});
  sweep("rows=256,hidden=64,T=f16", here_, {{"row THREADS=256 VEC=4", 1000}});
  sweep("rows=64,hidden=64,T=f16", far_, {{"row THREADS=32 VEC=1", 1000}});
  const Problem asked = problem("rows=64,hidden=64,T=f16");
  const auto winners = [&](std::size_t count) {
    std::vector<std::string> texts;
    for (const Variant& variant :
         must(winners_nearby(store_, asked, here_, Space(asked, here_.limits), count))) {
      texts.push_back(variant_text(op_, variant));
    }
    return texts;
  };
  EXPECT_THAT(winners(4), ElementsAre("row THREADS=256 VEC=4", "row THREADS=64 VEC=4",
                                      "row THREADS=128 VEC=2"));
  EXPECT_THAT(winners(1), ElementsAre("row THREADS=256 VEC=4"));
}

TEST_F(WarmStartTest, PassesOverNeighborsOfWhichNothingServes) {
  sweep("rows=64,hidden=64,T=f32", here_,
        {{"row THREADS=64 VEC=4", 1000}, {"row THREADS=64 VEC=2", 1100}});
  EXPECT_THAT(texts(find("rows=64,hidden=62,T=f32", here_)), ElementsAre("row THREADS=64 VEC=2"));
  EXPECT_THAT(find("rows=64,hidden=63,T=f32", here_).variants, IsEmpty());
  sweep("rows=64,hidden=1001,T=f32", here_, {{"row THREADS=32 VEC=1", 1000}});
  EXPECT_EQ(origin("rows=64,hidden=63,T=f32", here_), "rows=64 hidden=1001 T=f32 on Fake H200");
}

TEST_F(WarmStartTest, TimesOfTwoMethodsAreNotMixed) {
  sweep("rows=64,hidden=64,T=f32", here_, {{"row THREADS=64 VEC=4", 100}}, "hot");
  sweep("rows=64,hidden=64,T=f32", here_, {{"row THREADS=32 VEC=4", 200}});
  EXPECT_THAT(texts(find("rows=65,hidden=64,T=f32", here_)), ElementsAre("row THREADS=32 VEC=4"));
  EXPECT_THAT(texts(find("rows=65,hidden=64,T=f32", here_, "hot")),
              ElementsAre("row THREADS=64 VEC=4"));
  EXPECT_THAT(texts(find("rows=65,hidden=64,T=f32", here_, "cold")).size(), 1U);
}

TEST_F(WarmStartTest, EmulationSaysNothingOfAGpu) {
  DeviceInfo cpu = here_;
  cpu.kind = DeviceKind::cpu;
  cpu.name = cpu.arch = "cpu";
  sweep("rows=64,hidden=64,T=f32", cpu, {{"row THREADS=64 VEC=4", 1000}}, "emulation");
  EXPECT_THAT(find("rows=65,hidden=64,T=f32", here_).variants, IsEmpty());
  EXPECT_EQ(find("rows=65,hidden=64,T=f32", cpu).variants.size(), 1U);
}

}  // namespace
}  // namespace mgtune
