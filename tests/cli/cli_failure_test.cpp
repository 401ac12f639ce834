// What ends a sweep and what does not: failures of the machine and of a family's reference leave no
// row and an exit code; a variant's own failure is its row, and the sweep goes on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>

#include <filesystem>
#include <fstream>

#include "store/store.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CliFailureTest : public VectorAddTest {
 protected:
  void SetUp() override { edit("add.json", R"(["good", "wrong", "broken"])", R"(["good"])"); }

  Ended sweep() { return mgtune_.run({"sweep", "--gpu", "cpu", "--kernel", family_}); }

  std::vector<OutcomeView> rows() {
    Result<Store> store = Store::open(mgtune_.database(), Store::Mode::read_only);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return store.ok() ? *store->outcomes() : std::vector<OutcomeView>();
  }

  // No row was written; without the file the same command writes all of them.
  void expect_nothing_is_lost_without(const std::string& file) {
    EXPECT_TRUE(rows().empty());
    std::filesystem::remove(file);
    EXPECT_EQ(sweep().exit_code, 0);
    EXPECT_EQ(rows().size(), 3U);
  }

  std::string compiler(const std::string& action) {
    const std::string path = mgtune_.folder().file("compiler");
    std::ofstream(path)
        << "#!/bin/sh\nfor word; do [ \"$word\" = --version ] && exec c++ --version; "
           "done\n"
        << action << "\nexec c++ \"$@\"\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
};

TEST_F(CliFailureTest, AfterAFullDiskTheSameCommandGoesOn) {
  const std::string full = mgtune_.folder().file("full");
  std::ofstream(full) << "yes";
  const Variable cxx("CXX", compiler("[ -e " + full +
                                     " ] && { echo \"cc1plus: fatal error: error writing to "
                                     "/tmp/x.s: No space left on device\"; exit 1; }"));
  const Ended ended = sweep();
  EXPECT_EQ(ended.exit_code, 5) << ended;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("No space left on device"),
                               HasSubstr("the same command goes on from here")));
  expect_nothing_is_lost_without(full);
}

TEST_F(CliFailureTest, AfterACompilerThatWasKilledTheSameCommandGoesOn) {
  const std::string mark = mgtune_.folder().file("killing");
  std::ofstream(mark) << "yes";
  const Variable cxx("CXX", compiler("[ -e " + mark + " ] && kill -9 $$"));
  const Ended ended = sweep();
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_THAT(ended.err, HasSubstr("the compiler was ended by signal 9"));
  expect_nothing_is_lost_without(mark);
}

TEST_F(CliFailureTest, ACompilerThatOneVariantKillsCostsThatVariant) {
  const std::string mark = mgtune_.folder().file("killing");
  std::ofstream(mark) << "yes";
  const Variable cxx("CXX", compiler("[ -e " + mark +
                                     " ] && grep -qs '<float, 32, ' mgtune_unit.cpp && "
                                     "kill -9 $$"));
  const Ended ended = sweep();
  EXPECT_EQ(ended.exit_code, 3) << ended;
  ASSERT_EQ(rows().size(), 3U) << ended;
  for (const OutcomeView& row : rows()) {
    if (row.variant == "flat THREADS=32 MODE=good") {
      EXPECT_EQ(row.outcome, Outcome::compile_failed);
      EXPECT_THAT(row.message, AllOf(HasSubstr("the compiler was ended by signal 9 (Killed)"),
                                     HasSubstr("while other variants compile")));
    } else {
      EXPECT_THAT(row.outcome, ::testing::AnyOf(Outcome::ok, Outcome::raced_out)) << row.message;
    }
  }
  std::filesystem::remove(mark);  // as if there were more memory now
  const Ended again = sweep();
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_THAT(again.err, HasSubstr("compiled 1"));
}

TEST_F(CliFailureTest, AReferenceThatDoesNotCompileEndsTheSweep) {
  edit("reference.cu", "z[i] =", "nothing[i] =");
  const Ended ended = sweep();
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_THAT(ended.err, HasSubstr("vector_add/reference.cu: vector_add_reference: "));
  EXPECT_THAT(ended.err, HasSubstr("reference.cu:8"));
  EXPECT_TRUE(rows().empty());
  edit("reference.cu", "nothing[i] =", "z[i] =");
  EXPECT_EQ(sweep().exit_code, 0);
}

TEST_F(CliFailureTest, AReferenceThatCrashesEndsTheSweep) {
  edit("reference.cu", "z[i] =", "z[i + (1ll << 40)] =");
  const Ended ended = sweep();
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_THAT(ended.err, HasSubstr("vector_add/reference.cu: vector_add_reference: "));
  EXPECT_TRUE(rows().empty());
}

TEST_F(CliFailureTest, AnExpressionThatFailsIsItsVariantsRow) {
  edit("add.json", "<T, THREADS, MODE>", "<T, THREADS + 0 / (THREADS - 32), MODE>");
  edit("add.json", "[\"THREADS\"]", "[\"THREADS + 0 / (THREADS - 128)\"]");
  const Ended ended = sweep();
  EXPECT_EQ(ended.exit_code, 3) << ended;
  ASSERT_EQ(rows().size(), 3U) << ended;
  for (const OutcomeView& row : rows()) {
    if (row.variant == "flat THREADS=32 MODE=good") {
      EXPECT_EQ(row.outcome, Outcome::compile_failed);
      EXPECT_THAT(row.message, AllOf(HasSubstr("division by zero"), HasSubstr("^")));
    } else if (row.variant == "flat THREADS=128 MODE=good") {
      EXPECT_EQ(row.outcome, Outcome::launch_failed) << row.message;
      EXPECT_THAT(row.message, AllOf(HasSubstr("division by zero"), HasSubstr("^")));
    } else {
      EXPECT_THAT(row.outcome, ::testing::AnyOf(Outcome::ok, Outcome::raced_out)) << row.message;
    }
  }
  const Ended again = sweep();
  EXPECT_EQ(again.exit_code, 3) << again;
  EXPECT_THAT(again.err, HasSubstr("nothing to do"));
}

// Somebody tidies up below $TMPDIR while it runs. The new worker has a folder of its own.
TEST_F(CliFailureTest, ATemporaryFolderThatIsEmptiedBlamesNoVariant) {
  const std::string mark = mgtune_.folder().file("tidy");
  std::ofstream(mark) << "yes";
  const Variable cxx("CXX", compiler("[ -e " + mark + " ] && grep -qs '<float, 64, ' " +
                                     "mgtune_unit.cpp && rm -rf " + mark + " ../cpu ../common"));
  const Ended ended = sweep();
  EXPECT_FALSE(std::filesystem::exists(mark)) << "it was emptied";
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(rows().size(), 3U);
}

TEST_F(CliFailureTest, HeadersThatAreGoneBlameNoVariant) {
  const std::string gone = mgtune_.folder().file("gone");
  std::ofstream(gone) << "yes";
  const Variable cxx("CXX", compiler("[ -e " + gone +
                                     " ] && { echo 'vec.cuh:13:10: fatal error: cuda_fp16.h: No "
                                     "such file or directory'; exit 1; }"));
  const Ended ended = sweep();
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("a source that is known to be good does not compile"),
                               HasSubstr("cuda_fp16.h: No such file"),
                               HasSubstr("the same command goes on from here")));
  expect_nothing_is_lost_without(gone);
}

// As before the cause of a failure was looked into.
TEST_F(CliFailureTest, WhatWasRecordedAsFailedIsTriedAgainIfAskedFor) {
  const std::string mark = mgtune_.folder().file("failing");
  std::ofstream(mark) << "yes";
  const Variable cxx("CXX", compiler("[ -e " + mark + " ] && grep -qs '<float, 32, ' " +
                                     "mgtune_unit.cpp && { echo 'add.cu:1: error: no'; exit 1; }"));
  EXPECT_EQ(sweep().exit_code, 3);
  std::filesystem::remove(mark);
  Ended ended = sweep();
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_THAT(ended.err, HasSubstr("nothing to do"));
  const auto retry = [&](const std::string& outcomes) {
    return mgtune_.run({"sweep", "--gpu", "cpu", "--kernel", family_, "--retry", outcomes});
  };
  ended = retry("timeout,crashed");
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_THAT(ended.err, HasSubstr("nothing to do"));
  ended = retry("crashed,compile_failed");
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.err, HasSubstr("compiled 1"));
  ASSERT_EQ(rows().size(), 3U);
  for (const OutcomeView& row : rows()) EXPECT_NE(row.outcome, Outcome::compile_failed);
  expect_refused(retry("compile_faild"), 2,
                 AllOf(HasSubstr("--retry: "), HasSubstr("did you mean 'compile_failed'?")));
  expect_refused(retry("ok"), 2, HasSubstr("'ok' is not one of compile_failed, crashed"));
}

class CliKilledWorkerTest : public CliFailureTest, public ::testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Signals, CliKilledWorkerTest, ::testing::Values(SIGKILL, SIGTERM),
                         [](const auto& test) {
                           return std::string("sig") + ::sigabbrev_np(test.param);
                         });

TEST_P(CliKilledWorkerTest, AKernelThatKillsItsProcessIsItsOwnRow) {
  edit("add.json", R"(["good"])", R"(["good", "wrong"])");
  edit("add.cu", "enum class MODE",
       "extern \"C\" int end_process(int) __asm__(\"raise\");\n\nenum class MODE");
  edit("add.cu", "  T sum",
       "  if (kMode == MODE::wrong) end_process(" + std::to_string(GetParam()) + ");\n  T sum");
  const Ended ended = sweep();
  EXPECT_EQ(ended.exit_code, 3) << ended;
  ASSERT_EQ(rows().size(), 6U) << ended;
  for (const OutcomeView& row : rows()) {
    if (row.variant.ends_with("MODE=good")) {
      EXPECT_THAT(row.outcome, ::testing::AnyOf(Outcome::ok, Outcome::raced_out)) << row.message;
    } else {
      EXPECT_EQ(row.outcome, Outcome::crashed) << row.message;
      EXPECT_THAT(row.message, HasSubstr("killed by signal " + std::to_string(GetParam())));
    }
  }
  const Ended again = sweep();
  EXPECT_EQ(again.exit_code, 3) << again;
  EXPECT_THAT(again.err, HasSubstr("nothing to do"));
}

TEST_F(CliFailureTest, WhatAKernelPrintsIsStoredAsUtf8) {
  edit("add.json", R"(["good"])", R"(["good", "wrong"])");
  edit("add.cu", "enum class MODE",
       "extern \"C\" long print(int, const void*, unsigned long) __asm__(\"write\");\n\nenum class "
       "MODE");
  edit("add.cu", "  T sum",
       "  if (kMode == MODE::wrong) {\n    print(2, \"bad \\xff\\xfe bytes\\n\", 13);\n"
       "    __builtin_abort();\n  }\n  T sum");
  EXPECT_EQ(sweep().exit_code, 3);
  for (const OutcomeView& row : rows()) {
    if (row.variant.ends_with("MODE=good")) continue;
    EXPECT_THAT(row.message, HasSubstr("bad \xEF\xBF\xBD\xEF\xBF\xBD bytes"));
  }
}

}  // namespace
}  // namespace mgtune
