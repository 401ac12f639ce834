#include "plan/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/helpers/environment_variable.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;

TEST(Shard, ItsFileLiesBesideTheDatabase) {
  const Shard shard{2, 4};
  EXPECT_EQ(shard.path("/data/results.db"), "/data/results.shard-2-of-4.db");
  EXPECT_EQ(shard.path("mine"), "mine.shard-2-of-4");
  EXPECT_EQ(shard.text(), "2/4");
}

TEST(Shard, Words) {
  const Result<Shard> shard = parse_shard("2/4");
  ASSERT_TRUE(shard.ok());
  EXPECT_EQ(shard->index, 2);
  EXPECT_EQ(shard->count, 4);
  EXPECT_TRUE(parse_shard("1/1").ok());
  for (const char* word : {"", "2", "/", "0/4", "5/4", "-1/4", "2/4x", "a/b", "1/2/3", " 1/2",
                           "1/99999999999999999999", "2/"}) {
    EXPECT_EQ(parse_shard(word).status().code(), StatusCode::invalid_argument) << word;
  }
}

class BatchSystem : public ::testing::Test {
 protected:
  void set(const char* id, const char* count, const char* first, const char* step = "1") {
    ::setenv("SLURM_ARRAY_TASK_ID", id, 1);
    ::setenv("SLURM_ARRAY_TASK_COUNT", count, 1);
    ::setenv("SLURM_ARRAY_TASK_MIN", first, 1);
    ::setenv("SLURM_ARRAY_TASK_STEP", step, 1);
  }

  static std::string text() {
    const Result<std::optional<Shard>> shard = shard_of_batch_system();
    if (!shard.ok()) return shard.status().message();
    return shard->has_value() ? (*shard)->text() : "none";
  }

  // Put back at the end of each test.
  const Variable id_{"SLURM_ARRAY_TASK_ID", ""};
  const Variable count_{"SLURM_ARRAY_TASK_COUNT", ""};
  const Variable first_{"SLURM_ARRAY_TASK_MIN", ""};
  const Variable step_{"SLURM_ARRAY_TASK_STEP", ""};
};

TEST_F(BatchSystem, ATaskOfAnArrayIsAShard) {
  EXPECT_EQ(text(), "none");
  set("0", "4", "0");
  EXPECT_EQ(text(), "1/4");
  set("4", "4", "1");
  EXPECT_EQ(text(), "4/4");
  set("30", "3", "10", "10");
  EXPECT_EQ(text(), "3/3");
  set("7", "1", "7");
  EXPECT_EQ(text(), "none") << "an array of one";
}

TEST_F(BatchSystem, NonsenseIsNamed) {
  set("x", "4", "0");
  EXPECT_THAT(text(), HasSubstr("SLURM_ARRAY_TASK_ID is 'x'"));
  set("9", "4", "0");
  EXPECT_THAT(text(), HasSubstr("SLURM_ARRAY_TASK_ID 9 is not among 4 tasks from 0"));
  set("0", "4", "1");
  EXPECT_THAT(text(), HasSubstr("--shard i/n"));
}

}  // namespace
}  // namespace mgtune
