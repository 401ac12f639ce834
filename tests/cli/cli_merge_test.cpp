// Shards of a sweep on the cpu device, and what becomes of their files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "store/store.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CliMergeTest : public ::testing::Test {
 protected:
  static MgtuneProgram::Words sweep(const MgtuneProgram::Words& more = {}) {
    MgtuneProgram::Words words = {"sweep", "--gpu", "cpu", "--kernel",
                                  source_path("tests/families/vector_add")};
    for (const char* n : {"n=1000", "n=1001", "n=1002"}) {
      words.insert(words.end(), {"--problem", n});
    }
    words.insert(words.end(), {"--budget", "2"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  std::string shard_file(int index) const {
    return mgtune_.data_folder() + "/results.shard-" + std::to_string(index) + "-of-2.db";
  }

  static std::set<std::pair<std::string, std::string>> outcomes(const std::string& path) {
    std::set<std::pair<std::string, std::string>> found;
    Store store = Store::open(path, Store::Mode::read_only).value();
    for (const OutcomeView& row : *store.outcomes()) found.emplace(row.problem, row.variant);
    return found;
  }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
};

TEST_F(CliMergeTest, ShardsMergedAreTheWholeSweep) {
  const Ended first = mgtune_.run(sweep({"--shard", "1/2"}));
  EXPECT_THAT(first.err,
              AllOf(HasSubstr("shard 1/2: "), HasSubstr(" of 3 problems ("),
                    HasSubstr("'mgtune sweep --finals' decide it"), HasSubstr(shard_file(1))));
  mgtune_.with_variable("SLURM_ARRAY_TASK_ID", "8");
  mgtune_.with_variable("SLURM_ARRAY_TASK_COUNT", "2");
  mgtune_.with_variable("SLURM_ARRAY_TASK_MIN", "7");
  const Ended second = mgtune_.run(sweep());
  EXPECT_THAT(second.err, AllOf(HasSubstr("shard 2/2: "), HasSubstr(shard_file(2))));
  mgtune_.with_variable("SLURM_ARRAY_TASK_COUNT", "1");
  EXPECT_FALSE(std::filesystem::exists(mgtune_.database()));

  const MgtuneProgram::Words merge = {"merge", mgtune_.database(), shard_file(1), shard_file(2),
                                      "--json"};
  const nlohmann::json merged = mgtune_.run(merge).json();
  EXPECT_EQ(merged["sweeps"], 2);
  const std::set<std::pair<std::string, std::string>> found = outcomes(mgtune_.database());
  EXPECT_EQ(found.size(), 6U) << "the budget of the whole sweep";
  EXPECT_EQ(merged["outcomes"], outcomes(shard_file(1)).size() + outcomes(shard_file(2)).size());
  EXPECT_EQ(mgtune_.run({"show", "best", "--json"}).json()["picks"].size(), 3U);
  const nlohmann::json again = mgtune_.run(merge).json();
  EXPECT_EQ(again["sweeps"], 0);
  EXPECT_EQ(again["outcomes"], 0);
  EXPECT_EQ(again["picks"], 0);

  // What one process finds last, without a search.
  MgtuneProgram::Words finals = sweep({"--finals", "--json"});
  finals.erase(std::ranges::find(finals, "--budget"), std::ranges::find(finals, "--budget") + 2);
  const nlohmann::json picked = mgtune_.run(finals).json()["sweeps"][0];
  EXPECT_EQ(picked["finals"], true);
  EXPECT_EQ(picked["evaluated"], 0);
  EXPECT_EQ(picked["picks"].size(), 3U);
  EXPECT_EQ(mgtune_.run(merge).json()["undecided"], 0);
  EXPECT_EQ(outcomes(mgtune_.database()), found);

  const Store store = Store::open(shard_file(2), Store::Mode::read_only).value();
  EXPECT_THAT(const_cast<Store&>(store).sweeps()->at(0).sweep.command, HasSubstr(" --shard 2/2"));
}

TEST_F(CliMergeTest, FinalsSearchNothing) {
  for (const char* option : {"--shard", "--budget"}) {
    const Ended ended =
        mgtune_.run({"sweep", "rmsnorm", "--gpu", "cpu", "--finals", option, "1/2"});
    EXPECT_EQ(ended.exit_code, 2) << ended;
    EXPECT_THAT(ended.err,
                HasSubstr(std::string("--finals searches nothing, so it has no ") + option));
  }
}

TEST_F(CliMergeTest, AShardWithoutProblemsHasNothingToDo) {
  const Ended ended = mgtune_.run(sweep({"--shard", "64/64"}));
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.err, HasSubstr("shard 64/64: 0 of 3 problems"));
}

TEST_F(CliMergeTest, WrongWordsAreRefused) {
  const auto expect_refused = [this](const MgtuneProgram::Words& words, int code,
                                     const std::string& message) {
    const Ended ended = mgtune_.run(words);
    EXPECT_EQ(ended.exit_code, code) << ended;
    EXPECT_THAT(ended.err, HasSubstr(message)) << ended;
  };
  expect_refused(sweep({"--shard", "5/4"}), 2, "--shard: '5/4' is no shard: i/n, say 2/4");
  expect_refused({"merge", "a.db"}, 2, "expected OUT and at least one IN");
  const std::string missing = mgtune_.folder().file("none.db");
  expect_refused({"merge", mgtune_.folder().file("out.db"), missing}, 5,
                 "there is no database " + missing);
  EXPECT_FALSE(std::filesystem::exists(mgtune_.folder().file("out.db")));
  expect_refused({"merge", missing, missing}, 2, "is the output, so it cannot be an input");
  const std::string text = mgtune_.folder().file("text.db");
  std::ofstream(text) << "no database";
  expect_refused({"merge", mgtune_.folder().file("out.db"), text}, 5, text);
  EXPECT_EQ(file_content(text), "no database");
}

TEST_F(CliMergeTest, ANewerFileIsRefusedUntouched) {
  ASSERT_EQ(mgtune_.run(sweep({"--shard", "1/2"})).exit_code & ~3, 0);
  const std::string newer = mgtune_.folder().file("newer.db");
  std::filesystem::copy(shard_file(1), newer);
  {
    std::fstream file(newer, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(60);  // the user_version of SQLite's header, big-endian
    file.write("\0\0\0\x63", 4);
  }
  const std::string before = file_content(newer);
  for (const MgtuneProgram::Words& words :
       {MgtuneProgram::Words{"merge", mgtune_.folder().file("out.db"), newer},
        MgtuneProgram::Words{"merge", newer, shard_file(1)}}) {
    const Ended ended = mgtune_.run(words);
    EXPECT_EQ(ended.exit_code, 5) << ended;
    EXPECT_THAT(ended.err, AllOf(HasSubstr(newer), HasSubstr("format 99"))) << ended;
    EXPECT_EQ(file_content(newer), before);
  }
}

}  // namespace
}  // namespace mgtune
