// Sweeps of which the device runs nothing, or not all, and launches that fail for some variants.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "store/store.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CliUnservedTest : public VectorAddTest {
 protected:
  CliUnservedTest() : VectorAddTest("toy") {}
  void SetUp() override { edit("add.json", R"(["good", "wrong", "broken"])", R"(["good"])"); }

  Ended sweep(const MgtuneProgram::Words& more = {}) {
    MgtuneProgram::Words words = {"sweep", "--gpu", "cpu", "--kernel", family_};
    words.insert(words.end(), more.begin(), more.end());
    return mgtune_.run(words);
  }
};

TEST_F(CliUnservedTest, NoDesignRunsOnTheDevice) {
  edit("add.json", R"("params")", R"("requires": ["device.cc >= 90"], "params")");
  const Ended ended = sweep();
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("skipped toy.add n=1000 T=f32: no variant serves it on cpu (flat: "
                              "requires device.cc >= 90)"),
                    HasSubstr("mgtune: none of the problems can run on cpu")));
  EXPECT_EQ(sweep({"--json"}).exit_code, 4);
}

TEST_F(CliUnservedTest, SomeProblemsHaveNoVariant) {
  edit("add.json", R"("params")", R"("constraints": ["n % 64 == 0"], "params")");
  const Ended ended = sweep({"--problem", "n=63", "--problem", "n=64"});
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_THAT(ended.err, HasSubstr("skipped toy.add n=63 T=f32: no variant serves it on cpu (flat: "
                                   "n % 64 == 0)"));
  const nlohmann::json json =
      sweep({"--problem", "n=63", "--problem", "n=64", "--json"}).json()["sweeps"][0];
  ASSERT_EQ(json["picks"].size(), 1U);
  EXPECT_EQ(json["picks"][0]["problem"], "n=64 T=f32");
  const nlohmann::json without = {{"operator", "toy.add"}, {"problem", "n=63 T=f32"}};
  EXPECT_EQ(json["unmeasured"], nlohmann::json::array({without}));
}

TEST_F(CliUnservedTest, EveryVariantTurnsOutUnsupported) {
  edit("add.json", R"("block": ["THREADS"])", R"("block": ["THREADS * 64"])");
  for (int again = 0; again < 2; ++again) {
    const Ended ended = sweep();
    EXPECT_EQ(ended.exit_code, 4) << ended;
    EXPECT_THAT(ended.err, HasSubstr("cpu supports none of the 3 variants tried (")) << ended;
    EXPECT_THAT(ended.err, HasSubstr("at most 1024 threads"));
  }
  const nlohmann::json json = sweep({"--json"}).json()["sweeps"][0];
  EXPECT_EQ(json["unserved"], 1);
  EXPECT_EQ(json["outcomes"]["unsupported"], 3);
}

TEST_F(CliUnservedTest, ALaunchThatFailsForSomeVariantsIsARowOfThose) {
  edit("add.json", "ceil_div(n, THREADS)", "ceil_div(n, THREADS) / (THREADS - 32)");
  const Ended ended = sweep();
  EXPECT_EQ(ended.exit_code, 3) << ended;
  Result<Store> store = Store::open(mgtune_.database(), Store::Mode::read_only);
  ASSERT_TRUE(store.ok()) << ended;
  const std::vector<OutcomeView> rows = *store->outcomes();
  EXPECT_EQ(rows.size(), 3U) << ended;
  for (const OutcomeView& row : rows) {
    if (row.variant.find("THREADS=32") == std::string::npos) continue;
    EXPECT_NE(row.outcome, Outcome::ok);
    EXPECT_THAT(row.message, HasSubstr("division by zero"));
  }
}

}  // namespace
}  // namespace mgtune
