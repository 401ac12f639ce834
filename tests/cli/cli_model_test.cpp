// mgtune sweep --model: the kernels of a model are swept, and mgengine chooses among the results by
// the time of whole tokens. mgengine tune by itself, which tries more.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "device/device_lock.h"
#include "tests/helpers/mgtune_program.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CliModelTest : public testing::Test {
 protected:
  CliModelTest() {
    mgengine_.with_program(
        (std::filesystem::path(mgtune_path()).parent_path() / "mgengine").string());
  }

  // The picks that the database has of the operator, by method.
  std::map<std::string, std::string> picks(const std::string& op) {
    std::map<std::string, std::string> found;
    const nlohmann::json json = mgtune_.run({"show", "best", op, "--json"}).json();
    for (const nlohmann::json& row : json["picks"]) found[row["method"]] = row["variant"];
    return found;
  }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
  MgtuneProgram mgengine_{cache_.path()};
  const std::string model_ = source_path("tests/engine/models/llama");
};

TEST_F(CliModelTest, WholeTokensChooseThePickThatProgramsRun) {
  const Ended swept = mgtune_.run({"sweep", "embedding", "--model", model_, "--dtype", "f32",
                                   "--positions", "3", "--gpu", "cpu", "--budget", "4"});
  ASSERT_EQ(swept.exit_code, 0) << swept;
  EXPECT_THAT(swept.err, AllOf(HasSubstr("embedding.forward on cpu: 1 problem"),
                               HasSubstr("choosing by the time of whole tokens on cpu")));
  EXPECT_THAT(swept.out, AllOf(HasSubstr("way steps, f32, 1 sequence, positions 3"),
                               HasSubstr("us per token:"), HasSubstr("7 kernels were not swept")));

  // All variants have a time of some kind, so one is tried whatever the times are.
  MgtuneProgram::Words words = {"tune", "--model", model_, "--dtype", "f32", "--positions", "3"};
  words.insert(words.end(), {"--device", "cpu", "--db", mgtune_.database(), "--candidates", "1"});
  words.insert(words.end(), {"--within", "1000000", "--rounds", "6", "--run", "1", "--json"});
  const Ended tuned = mgengine_.run(words);
  ASSERT_EQ(tuned.exit_code, 0) << tuned;
  const nlohmann::json json = tuned.json();
  EXPECT_GT(json["before_us_per_token"], 0);
  EXPECT_EQ(json["picks"], 1);
  const nlohmann::json& kernel = json["kernels"][0];
  EXPECT_EQ(kernel["operator"], "embedding.forward");
  EXPECT_EQ(kernel["share"], 1);
  ASSERT_GE(kernel["trials"].size(), 1U);
  EXPECT_NE(kernel["trials"][0]["variant"], kernel["before"]);
  std::string chosen = kernel["before"];
  for (const nlohmann::json& trial : kernel["trials"]) {
    EXPECT_EQ(trial["failure"], "");
    EXPECT_EQ(trial["rounds"], 6);
    if (trial["faster"]) chosen = trial["variant"];
  }
  if (json["ratio"] >= 1) chosen = kernel["before"];
  EXPECT_EQ(kernel["pick"], chosen);
  EXPECT_THAT(tuned.err, HasSubstr("us a token against"));

  const auto found = picks("embedding.forward");
  ASSERT_TRUE(found.contains("token")) << tuned;
  EXPECT_EQ(found.at("token"), kernel["pick"]);
  const Ended why =
      mgtune_.run({"explain", "embedding.forward", "--gpu", "cpu", "--problem", kernel["problem"]});
  EXPECT_THAT(why.out, HasSubstr("variant   " + std::string(kernel["pick"]) + "\n")) << why;

  {
    const Result<DeviceLock> lock = DeviceLock::acquire(mgengine_.data_folder(), "cpu");
    ASSERT_TRUE(lock.ok());
    const Ended refused = mgengine_.run(words);
    EXPECT_EQ(refused.exit_code, 4) << refused;
    EXPECT_THAT(refused.err, HasSubstr("is using device cpu"));
  }

  // A tuned table takes the pick along.
  const std::string table = mgtune_.folder().file("table.json");
  EXPECT_EQ(mgtune_.run({"export", "-o", table}).exit_code, 0);
  EXPECT_THAT(file_content(table), HasSubstr("\"method\": \"token\""));
  const Ended of_table = mgtune_.run({"explain", "embedding.forward", "--gpu", "cpu", "--problem",
                                      kernel["problem"], "--db", table});
  EXPECT_THAT(of_table.out, HasSubstr("variant   " + std::string(kernel["pick"]) + "\n"))
      << of_table;
}

// Programs that use the user's database have the installed tables too, for problems of which the
// database has no pick. A database of another place is the only source.
TEST_F(CliModelTest, TuningBeginsWithWhatProgramsRun) {
  const MgtuneProgram::Words model = {"--model", model_, "--dtype", "f32", "--positions", "3"};
  MgtuneProgram::Words words = {"show", "kernels", "--json"};
  words.insert(words.end(), model.begin(), model.end());
  std::map<std::string, std::string> problems;
  const nlohmann::json shown = mgengine_.run(words).json();
  for (const nlohmann::json& kernel : shown["kernels"]) {
    problems[kernel["operator"]] = kernel["problem"];
  }
  const Ended swept = mgtune_.run({"sweep", "embedding.forward", "--gpu", "cpu", "--budget", "4",
                                   "--problem", problems.at("embedding.forward")});
  ASSERT_EQ(swept.exit_code, 0) << swept;

  // An installation whose tables have a pick for another kernel.
  const std::string variant = "keys BLOCKS=1 THREADS=128 VEC=1 UNROLL=1 PDL=false";
  const std::string prefix = mgtune_.folder().file("prefix");
  std::filesystem::create_directories(prefix + "/bin");
  std::filesystem::create_directories(prefix + "/share/mgtune/results");
  std::filesystem::copy(std::filesystem::path(mgtune_path()).parent_path() / "mgengine",
                        prefix + "/bin/mgengine");
  const std::string exported = mgtune_.folder().file("table.json");
  ASSERT_EQ(mgtune_.run({"export", "-o", exported}).exit_code, 0);
  nlohmann::json table = nlohmann::json::parse(file_content(exported));
  table["tables"][0]["operator"] = "argmax.forward";
  nlohmann::json& pick = table["tables"][0]["picks"][0];
  pick["problem"] = problems.at("argmax.forward");
  pick["design"] = pick["default"]["design"] = "keys";
  pick["parameters"] = pick["default"]["parameters"] = {
      {"BLOCKS", 1}, {"THREADS", 128}, {"VEC", 1}, {"UNROLL", 1}, {"PDL", false}};
  std::ofstream(prefix + "/share/mgtune/results/cpu.tuned.json") << table.dump(1);

  const std::string elsewhere = mgtune_.folder().file("elsewhere.db");
  std::filesystem::copy(mgtune_.database(), elsewhere);
  mgtune_.with_program(prefix + "/bin/mgengine");
  const auto argmax_with = [&](const MgtuneProgram::Words& more) {
    words = {"tune", "--device", "cpu", "--within", "0", "--rounds", "6", "--run", "1", "--json"};
    words.insert(words.end(), model.begin(), model.end());
    words.insert(words.end(), more.begin(), more.end());
    const Ended tuned = mgtune_.run(words);
    EXPECT_EQ(tuned.exit_code, 0) << tuned;
    const nlohmann::json json = tuned.json();
    for (const nlohmann::json& kernel : json["kernels"]) {
      if (kernel["operator"] == "argmax.forward") return kernel;
    }
    return nlohmann::json();
  };
  const nlohmann::json installed = argmax_with({});
  EXPECT_EQ(installed["before"], variant);
  EXPECT_GT(installed["share"], 0);
  const nlohmann::json alone = argmax_with({"--db", elsewhere});
  EXPECT_NE(alone["before"], variant);
  EXPECT_EQ(alone["share"], 0);
}

// The problems are those of the model, the expensive ones first; no GPU is needed for that.
TEST_F(CliModelTest, PlansTheExpensiveKernelsFirst) {
  const Ended planned =
      mgtune_.run({"sweep", "--model", "llama-3.2-1b", "--gpu", "H200", "--dry-run", "--json"});
  ASSERT_EQ(planned.exit_code, 0) << planned;
  const nlohmann::json problems = planned.json()["dry_run"][0]["problems"];
  ASSERT_GT(problems.size(), 6U);
  EXPECT_EQ(problems[0]["problem"],
            "rows=1 out=8192 in=2048 T=bf16 X=f32 rmsnorm=true silu_gate=true");
  EXPECT_EQ(problems[problems.size() - 1]["operator"], "embedding.forward");
}

TEST_F(CliModelTest, RefusesWhatItCannotDo) {
  const auto refused = [&](MgtuneProgram::Words words, int code, const std::string& message) {
    words.insert(words.begin(), "sweep");
    expect_refused(mgtune_.run(words), code, HasSubstr(message));
  };
  refused({"--model", "lama-3.2-1b"}, 5, "did you mean 'llama-3.2-1b'?");
  refused({"--model", "gpt2", "--problem", "rows=3"}, 2, "--problem does not go with --model");
  refused({"--model", "gpt2", "--json"}, 2, "--json does not go with --model");
  refused({"--model", "gpt2", "--dtype", "f64"}, 2, "f32, bf16, f16");
  refused({"--model", "gpt2", "--positions", "1024"}, 2, "made for 1024");
  refused({"rmsnorm", "--model", "gpt2"}, 2, "--model: gpt2 has no problems of rmsnorm");
  refused({"rmsnorm", "--batch", "2"}, 2, "go with --model");

  // A program without mgengine beside it.
  const std::string alone = mgtune_.folder().file("mgtune");
  std::filesystem::copy(mgtune_path(), alone);
  mgtune_.with_program(alone);
  refused({"--model", "gpt2"}, 4, mgtune_.folder().file("mgengine") + " does not exist");
}

}  // namespace
}  // namespace mgtune
