// MGTUNE_RECORD: which problems a process writes, and how often.

#include "api/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

using testing::ElementsAre;

TEST(SeenDimsTest, EachOnceWhoeverAsks) {
  SeenDims seen;
  std::atomic<int> new_ones = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (std::int64_t rows = 0; rows < 1000; ++rows) {
          const std::array<std::int64_t, 2> dims = {rows, -1};
          if (seen.insert(dims)) ++new_ones;
        }
      });
    }
  }
  EXPECT_EQ(new_ones, 1000);
  EXPECT_FALSE(seen.is_full());
}

TEST(SeenDimsTest, TheOrderOfDimsCounts) {
  SeenDims seen;
  EXPECT_TRUE(seen.insert(std::array<std::int64_t, 2>{1, 2}));
  EXPECT_TRUE(seen.insert(std::array<std::int64_t, 2>{2, 1}));
  EXPECT_TRUE(seen.insert(std::array<std::int64_t, 1>{0}));
  EXPECT_TRUE(seen.insert(std::array<std::int64_t, 2>{0, 0}));
  EXPECT_TRUE(seen.insert({}));
  EXPECT_FALSE(seen.insert({}));
}

TEST(SeenDimsTest, IsFullAtSomeTime) {
  SeenDims seen;
  std::size_t new_ones = 0;
  for (std::int64_t rows = 0; rows < 10'000; ++rows) {
    new_ones += seen.insert(std::array<std::int64_t, 1>{rows}) ? 1 : 0;
  }
  EXPECT_EQ(new_ones, SeenDims::kMaxDims);
  EXPECT_TRUE(seen.is_full());
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(PlanRecorderTest, WritesEachProblemOnceAProcess) {
  const TestFolder folder;
  const Operator op = toy_norm();
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  ShapeFile file(folder.file("shapes.jsonl"));
  PlanRecorder first(binding, file), second(binding, file);
  for (PlanRecorder* recorder : {&first, &second}) {
    for (const std::int64_t rows : {7, 4096, 7}) {
      recorder->record(std::array<std::int64_t, 2>{rows, -1});
      recorder->record(std::array<std::int64_t, 2>{rows, 64});  // which is the default
    }
    recorder->record(std::array<std::int64_t, 2>{7, 100});
    recorder->record(std::array<std::int64_t, 2>{-5, -1});  // which no launch takes
  }
  EXPECT_THAT(
      lines_of(folder.file("shapes.jsonl")),
      ElementsAre(R"({"operator": "toy.norm", "problem": "rows=7 hidden=64 T=f32"})",
                  R"({"operator": "toy.norm", "problem": "rows=4096 hidden=64 T=f32"})",
                  R"({"operator": "toy.norm", "problem": "rows=7 hidden=64 x_stride=100 T=f32"})"));
}

// A program can record one part of its run: a plan asks for the variable when it is made.
TEST(ShapeFileTest, TheEnvironmentIsReadEachTime) {
  const TestFolder folder;
  ::unsetenv("MGTUNE_RECORD");
  EXPECT_EQ(ShapeFile::of_environment(), nullptr);
  ::setenv("MGTUNE_RECORD", folder.file("first.jsonl").c_str(), 1);
  ShapeFile* const first = ShapeFile::of_environment();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(ShapeFile::of_environment(), first);
  ::setenv("MGTUNE_RECORD", folder.file("second.jsonl").c_str(), 1);
  EXPECT_NE(ShapeFile::of_environment(), first);
  ::unsetenv("MGTUNE_RECORD");
  EXPECT_EQ(ShapeFile::of_environment(), nullptr);
}

TEST(PlanRecorderTest, WhatCannotBeWrittenIsSaidOnce) {
  const Operator op = toy_norm();
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  ShapeFile file("/no/such/folder/shapes.jsonl");
  PlanRecorder recorder(binding, file);
  testing::internal::CaptureStderr();
  for (std::int64_t rows = 1; rows < 5; ++rows) {
    recorder.record(std::array<std::int64_t, 2>{rows, -1});
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "mgtune: warning: problems are not recorded: cannot write "
            "/no/such/folder/shapes.jsonl: No such file or directory\n");
}

}  // namespace
}  // namespace mgtune
