// mgtune simulate, from its words to its exit code.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/recordings.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;

class CliSimulateTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view content) const {
    std::string path = mgtune_.folder().file(name);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  // `width` x 10 configurations, every seventh failing, fastest at (20, 4) if they have it.
  static std::string valley(int width = 30) {
    std::string text = R"({"tune_params_keys": ["a", "b"], "tune_params": {}, "cache": {)";
    for (int a = 0; a < width; ++a) {
      for (int b = 0; b < 10; ++b) {
        const int time = 10 + (a - 20) * (a - 20) + 3 * (b - 4) * (b - 4);
        const bool fails = (a * 10 + b) % 7 == 1;
        text += (a + b == 0 ? "\"" : ", \"") + std::to_string(a) + "," + std::to_string(b) +
                "\": {\"a\": " + std::to_string(a) + ", \"b\": " + std::to_string(b) +
                ", \"time\": " + (fails ? "\"InvalidConfig\"" : std::to_string(time)) + "}";
      }
    }
    return text + "}}";
  }

  void expect_refused(const std::string& file, std::string_view content, const std::string& word) {
    const std::string path = write(file, content);
    const Ended ended = mgtune_.run({"simulate", "--space", path});
    EXPECT_EQ(ended.exit_code, 5) << ended;
    EXPECT_THAT(ended.err, ::testing::AllOf(HasSubstr(path), HasSubstr(word)));
    EXPECT_EQ(ended.out, "");
  }

  MgtuneProgram mgtune_{source_path("build")};
};

TEST_F(CliSimulateTest, JsonHasTheCurveItsIntervalAndRandom) {
  const std::string path = write("valley.L4.json", valley());
  const nlohmann::json json = mgtune_
                                  .run({"simulate", "--space", path, "--strategy", "adaptive",
                                        "--evaluations", "120", "--seeds", "4", "--json"})
                                  .json();
  EXPECT_EQ(json["space"], "valley.L4");
  EXPECT_EQ(json["strategy"], "adaptive");
  EXPECT_EQ(json["seeds"], 4);
  for (const char* curve : {"fraction_of_optimum", "ci95", "random"}) {
    ASSERT_EQ(json[curve].size(), 4U) << json;
    for (const char* budget : {"20", "50", "100", "120"}) {
      EXPECT_TRUE(json[curve][budget].is_number());
    }
  }
  EXPECT_EQ(json["evaluations"], 120);
  EXPECT_FALSE(json.contains("evaluations_asked"));
  EXPECT_GT(json["fraction_of_optimum"]["50"], json["random"]["50"]);
  EXPECT_GT(json["random"]["100"], json["random"]["50"]);
}

TEST_F(CliSimulateTest, JsonHasEverySeed) {
  const std::string path = write("valley.json", valley());
  const nlohmann::json json = mgtune_
                                  .run({"simulate", "--space", path, "--evaluations", "40",
                                        "--seeds", "5", "--target", "0.9", "--json"})
                                  .json();
  ASSERT_EQ(json["per_seed"].size(), 5U);
  double sum = 0, worst = 1;
  for (int seed = 1; seed <= 5; ++seed) {
    const nlohmann::json& one = json["per_seed"][static_cast<std::size_t>(seed - 1)];
    EXPECT_EQ(one["seed"], seed);
    ASSERT_EQ(one["fraction_of_optimum"].size(), 2U) << one;
    const double fraction = one["fraction_of_optimum"]["40"];
    EXPECT_GE(fraction, one["fraction_of_optimum"]["20"]);
    EXPECT_EQ(one["stop"]["evaluations"], 40);
    EXPECT_EQ(one["stop"]["claims"], false);
    EXPECT_EQ(one["stop"]["fraction_of_optimum"], fraction);
    sum += fraction;
    worst = std::min(worst, fraction);
  }
  EXPECT_NEAR(json["fraction_of_optimum"]["40"], sum / 5, 1e-9);
  EXPECT_EQ(json["worst"]["40"], worst);
}

TEST_F(CliSimulateTest, AnyNumberOfEvaluationsIsMadeAndNoMoreThanThereAre) {
  const std::string path = write("valley.json", valley());
  const auto evaluated = [&](const std::string& evaluations) {
    return mgtune_
        .run({"simulate", "--space", path, "--evaluations", evaluations, "--seeds", "2", "--json"})
        .json();
  };
  const nlohmann::json few = evaluated("7");
  EXPECT_EQ(few["evaluations"], 7);
  ASSERT_EQ(few["fraction_of_optimum"].size(), 1U) << few;
  EXPECT_TRUE(few["fraction_of_optimum"].contains("7"));

  const nlohmann::json more = evaluated("500");
  EXPECT_EQ(more["variants"], 300);
  EXPECT_EQ(more["evaluations"], 300);
  EXPECT_EQ(more["evaluations_asked"], 500);
  EXPECT_FALSE(more["fraction_of_optimum"].contains("500")) << more;
  EXPECT_EQ(more["fraction_of_optimum"]["300"], 1.0);
  EXPECT_EQ(more["worst"]["300"], 1.0);
  EXPECT_THAT(
      mgtune_.run({"simulate", "--space", path, "--evaluations", "500", "--seeds", "1"}).out,
      HasSubstr("The space has 300 configurations, fewer than the 500 evaluations asked for."));
}

TEST_F(CliSimulateTest, AWarmStartTakesTheFastestOfAnotherSpace) {
  const std::string path = write("valley.json", valley());
  // A part of the same space, times twice as long: (21, 4), the fastest that works, is in it.
  const std::string other = write("other.L4.json", R"({"tune_params_keys": ["b", "a"], "cache": {
    "4,21": {"b": 4, "a": 21, "time": 22}, "9,0": {"b": 9, "a": 0, "time": 900},
    "99,20": {"b": 99, "a": 20, "time": 1}}})");
  const MgtuneProgram::Words words = {"simulate", "--space", path, "--evaluations",
                                      "1",        "--seeds", "4",  "--warm-from"};
  MgtuneProgram::Words warm = words;
  warm.insert(warm.end(), {other, "--json"});
  const nlohmann::json json = mgtune_.run(warm).json();
  EXPECT_EQ(json["worst"]["1"], 1.0) << json;
  EXPECT_EQ(json["warm_from"], "other.L4");
  MgtuneProgram::Words table = words;
  table.push_back(other);
  EXPECT_THAT(mgtune_.run(table).out, HasSubstr("which start with the fastest of other.L4"));

  MgtuneProgram::Words foreign = words;
  foreign.push_back(write("foreign.json", R"({"tune_params_keys": ["a", "c"], "cache": {
    "4,20": {"a": 4, "c": 20, "time": 20}}})"));
  const Ended refused = mgtune_.run(foreign);
  EXPECT_EQ(refused.exit_code, 2) << refused;
  EXPECT_THAT(refused.err, HasSubstr("foreign.json: has no parameter 'b'"));
}

TEST_F(CliSimulateTest, TheSameTwiceAndATableWithoutJson) {
  const std::string path = write("valley.json", valley());
  const Ended first = mgtune_.run({"simulate", "--space", path, "--seeds", "3"});
  EXPECT_EQ(first.exit_code, 0) << first;
  EXPECT_THAT(first.out, ::testing::AllOf(HasSubstr("valley, mean over 3 seeds"),
                                          HasSubstr("adaptive"), HasSubstr("random")));
  EXPECT_EQ(mgtune_.run({"simulate", "--space", path, "--seeds", "3"}).out, first.out);
}

TEST_F(CliSimulateTest, ATargetSaysWhereEachSeedStops) {
  const std::string path = write("valley.json", valley());
  const nlohmann::json json =
      mgtune_.run({"simulate", "--space", path, "--target", "0.9", "--seeds", "3", "--json"})
          .json();
  const nlohmann::json& target = json["target"];
  EXPECT_EQ(target["target"], 0.9);
  EXPECT_GE(target["evaluations"]["min"], 100);
  EXPECT_LE(target["evaluations"]["max"], 300);
  EXPECT_EQ(target["claims"], 3);
  EXPECT_EQ(target["true_claims"], 3);
  EXPECT_GE(target["fraction_of_optimum"]["worst"], 0.9);
  EXPECT_EQ(json["variants"], 300);
  EXPECT_TRUE(json["worst"]["20"].is_number());

  const Ended table = mgtune_.run(
      {"simulate", "--space", path, "--target", "0.9", "--seeds", "2", "--evaluations", "30"});
  EXPECT_THAT(table.out, HasSubstr("Target 0.9: 0 of 2 seeds said that a further 10 % is unlikely. "
                                   "This was true for 0 of them.\nThe seeds stopped after 30 "
                                   "evaluations on average (30 to 30 of 300)"));
  const Ended all = mgtune_.run(
      {"simulate", "--space", write("few.json", valley(3)), "--target", "0.98", "--seeds", "2"});
  EXPECT_THAT(all.out, HasSubstr("2 of 2 seeds visited every variant, so they know the fastest"));
}

TEST_F(CliSimulateTest, AShareOfTheSpaceIsABudget) {
  const std::string path = write("valley.json", valley());
  const nlohmann::json json =
      mgtune_.run({"simulate", "--space", path, "--evaluations", "25%", "--seeds", "2", "--json"})
          .json();
  ASSERT_EQ(json["fraction_of_optimum"].size(), 3U) << json;
  EXPECT_TRUE(json["fraction_of_optimum"].contains("75"));
  EXPECT_TRUE(json["random"].contains("75"));
}

TEST_F(CliSimulateTest, ProblemsOfADatabaseThatWereSweptInFull) {
  const MgtuneProgram::Words sweep = {"sweep", "--gpu", "cpu", "--kernel",
                                      source_path("tests/families/vector_add")};
  const auto with = [](MgtuneProgram::Words words, const MgtuneProgram::Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  mgtune_.run(with(sweep, {"--problem", "n=500", "--budget", "2"}));
  ASSERT_EQ(mgtune_.run(sweep).exit_code, 3);
  const MgtuneProgram::Words words = {
      "simulate", "--kernel", source_path("tests/families/vector_add"), "--evaluations", "50%",
      "--seeds",  "20"};
  const Ended ended = mgtune_.run(with(words, {"--json"}));
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.err, HasSubstr("left out vector_add.add n=500 T=f32 on cpu, emulation: 2 of "
                                   "its 9 variants were visited"));
  const nlohmann::json all = ended.json()["simulations"];
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["space"], "vector_add.add n=1000 T=f32 on cpu, emulation");
  EXPECT_EQ(all[0]["variants"], 9);
  EXPECT_EQ(all[0]["fraction_of_optimum"].size(), 1U);
  EXPECT_GT(all[0]["fraction_of_optimum"]["5"], 0.0);

  EXPECT_EQ(mgtune_.run(with(words, {"--problem", "n=1000"})).exit_code, 0);
  const Ended none = mgtune_.run(with(words, {"--problem", "n=500"}));
  EXPECT_EQ(none.exit_code, 2) << none;
  EXPECT_THAT(none.err, HasSubstr("no problem that was asked for was swept in full"));
}

TEST_F(CliSimulateTest, GzipIsReadByItsContent) {
  const std::string path = write("packed", kPackedCache);
  const nlohmann::json json =
      mgtune_.run({"simulate", "--space", path, "--seeds", "2", "--json"}).json();
  EXPECT_EQ(json["fraction_of_optimum"]["2"], 1.0);
  EXPECT_EQ(json["random"]["2"], 1.0);
}

TEST_F(CliSimulateTest, HostileFilesAreNamed) {
  expect_refused("cut.json.gz", kPackedCache.substr(0, 40), "cut short");
  std::string damaged = kPackedCache;
  damaged[30] = '\x7f';
  expect_refused("damaged.json.gz", damaged, "gzip");
  expect_refused("nan.json",
                 R"({"tune_params_keys": ["a"], "cache": {"1": {"a": 1, "time": NaN}}})", "line 1");
  expect_refused("empty.json", R"({"tune_params_keys": ["a"], "cache": {}})", "no configuration");
  expect_refused("twice.json",
                 R"({"tune_params_keys": ["a"], "cache": {"1": {"a": 1, "time": 2},
                     "1": {"a": 1, "time": 3}}})",
                 "duplicate key '1'");
  expect_refused("nothing.json", "", "line 1");
  const std::string zeros = write("zeros.json", "");
  std::filesystem::resize_file(zeros, 200'000'000);
  const Ended ended = mgtune_.run({"simulate", "--space", zeros});
  EXPECT_EQ(ended.exit_code, 5);
  EXPECT_THAT(ended.err, HasSubstr(zeros));
  EXPECT_LT(ended.err.size(), 1000U);
}

TEST_F(CliSimulateTest, WrongWords) {
  const std::string path = write("packed", kPackedCache);
  const auto refused = [&](const MgtuneProgram::Words& words, const std::string& word,
                           int exit_code = 2) {
    MgtuneProgram::Words all = {"simulate"};
    all.insert(all.end(), words.begin(), words.end());
    const Ended ended = mgtune_.run(all);
    EXPECT_EQ(ended.exit_code, exit_code) << ended;
    EXPECT_THAT(ended.err, HasSubstr(word));
  };
  refused({}, "--space or --kernel is required");
  refused({"--space", mgtune_.folder().file("none.json")}, "none.json", 5);
  refused({"--space", path, "--strategy", "adaptiv"}, "did you mean 'adaptive'?");
  refused({"--space", path, "--seeds", "0"}, "--seeds: expected 1 to");
  refused({"--space", path, "--evaluations", "0"}, "a number above 0 (200) or a share");
  refused({"--space", path, "--evaluations", "0%"}, "or a share of the space (25%), got '0%'");
  refused({"--space", path, "--evaluations", "many"},
          "--evaluations: expected a number above 0 (200)");
  refused({"--space", path, "--target", "1"}, "--target: expected a number between 0 and 1");
  refused({"--space", path, "--target", "0.9", "--strategy", "exhaustive"}, "--target");
  refused({"--space", path, "--kernel", "rmsnorm"}, "not both");
  refused({"--kernel", "rmsnorm", "--warm-from", path}, "--warm-from goes with --space");
  refused({"--space", path, "--warm-from", path, "--strategy", "random"}, "use adaptive");
  refused({"--space", path, "--warm-from", mgtune_.folder().file("none.json")}, "none.json", 5);
  refused({"--space", path, "--problem", "rows=4"}, "go with --kernel");
  refused({"--space", path, "--evaluation", "19"}, "did you mean '--evaluations'?");
}

}  // namespace
}  // namespace mgtune
