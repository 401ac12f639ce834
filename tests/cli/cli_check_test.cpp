// `mgtune check` finds each planted mistake of tests/families/planted on the cpu device, once, and
// names its line. It finds nothing in a family without one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// "wrong_index.cu:11": the line of a planted source that has these words.
std::string line_with(const std::string& file, const std::string& words) {
  std::ifstream stream(source_path("tests/families/planted/" + file));
  int number = 1;
  for (std::string line; std::getline(stream, line); ++number) {
    if (line.find(words) != std::string::npos) return file + ":" + std::to_string(number);
  }
  return "no line of " + file + " has " + words;
}

class CliCheckTest : public ::testing::Test {
 protected:
  // What a check of one planted operator prints. It has found exactly one problem.
  std::string found(const std::string& op) {
    const Ended ended = mgtune_.run(
        {"check", source_path("tests/families/planted.") + op, "--gpu", "cpu", "--arch", "sm_80"});
    EXPECT_EQ(ended.exit_code, 3) << ended;
    EXPECT_THAT(ended.out, HasSubstr("\n1 problem found\n")) << ended;
    EXPECT_EQ(ended.err, "");
    return ended.out;
  }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
};

TEST_F(CliCheckTest, AFamilyWithoutAMistakeIsTold) {
  const std::string family = source_path("tests/families/planted.sound");
  const Ended ended = mgtune_.run({"check", family, "--gpu", "cpu", "--arch", "sm_80"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(
      ended.out,
      AllOf(HasSubstr("space: 1 of 1 points at n=4096"), HasSubstr("`n % THREADS == 0` removes 0"),
            HasSubstr("cpu: planted THREADS=64: n=256 T=f32: right"), Not(HasSubstr("warning")),
            HasSubstr("no problem found; next: mgtune sweep --kernel " + family)));
}

TEST_F(CliCheckTest, AllMistakesOfAnOperatorFileAreNamedWithTheirPlaces) {
  const std::string family = mgtune_.folder().file("mine");
  std::filesystem::copy(source_path("tests/families/vector_add"), family);
  replace_in_file(family + "/add.json", R"("3 * n)", R"("3 * m)");
  replace_in_file(family + "/add.json", R"("block": ["THREADS"])", R"("block": ["n"])");
  const Ended ended = mgtune_.run({"check", family, "--gpu", "cpu", "--arch", "sm_80"});
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("/cost/bytes: unknown name 'm'"), HasSubstr("(line 10, column 21)"),
                    HasSubstr("launches/0/block/0: 'n' is known only at launch")))
      << ended;
}

TEST_F(CliCheckTest, AMissingBarrier) {
  EXPECT_THAT(found("missing_barrier"),
              AllOf(HasSubstr("race on shared memory"),
                    HasSubstr(line_with("missing_barrier.cu", "// planted")),
                    HasSubstr("no __syncthreads between them")));
}

TEST_F(CliCheckTest, AReadPastTheEnd) {
  EXPECT_THAT(found("reads_past_end"),
              HasSubstr("block (3,0,0): thread (63,0,0) reads element 256 of x, which has 256 "
                        "elements, at " +
                        line_with("reads_past_end.cu", "// planted")));
}

TEST_F(CliCheckTest, AWritePastTheEnd) {
  EXPECT_THAT(found("writes_past_end"),
              HasSubstr("block (3,0,0): thread (63,0,0) writes element 256 of y, which has 256 "
                        "elements, at " +
                        line_with("writes_past_end.cu", "// planted")));
}

TEST_F(CliCheckTest, AnAccessThatLeavesASharedArray) {
  EXPECT_THAT(found("leaves_shared"),
              HasSubstr("thread (63,0,0) writes element 64 of shared array values, which has 64 "
                        "elements, at " +
                        line_with("leaves_shared.cu", "// planted")));
}

TEST_F(CliCheckTest, AWrongIndex) {
  EXPECT_THAT(
      found("wrong_index"),
      AllOf(HasSubstr("of 155 wrong elements the first: y[100] is "),
            HasSubstr("the reference says "), HasSubstr("kernel wrong_index is defined at "),
            HasSubstr(line_with("wrong_index.cu", "wrong_index(const"))));
}

TEST_F(CliCheckTest, SwappedArguments) {
  EXPECT_THAT(found("swapped"),
              AllOf(HasSubstr("args 0 and 1 are `y` and `x`, but the kernel's parameters there are "
                              "`x` and `y`: are they swapped? ("),
                    HasSubstr(line_with("swapped.json", "\"args\"") +
                              ": /designs/planted/launches/0/args/0"),
                    HasSubstr(line_with("swapped.cu", "swapped(const"))));
}

TEST_F(CliCheckTest, AnArgumentOfAnotherSize) {
  EXPECT_THAT(found("wide_argument"),
              AllOf(HasSubstr("parameter 2 of wide_argument<float, 64> has 8 bytes, but `n:i32` "
                              "has 4 ("),
                    HasSubstr("wide_argument.json: /designs/planted/launches/0/args/2)")));
}

TEST_F(CliCheckTest, AReadOfSharedMemoryThatNothingHasWritten) {
  EXPECT_THAT(found("unwritten"),
              HasSubstr("of shared array values, which nothing has written, at " +
                        line_with("unwritten.cu", "// planted")));
}

TEST_F(CliCheckTest, AVariableWithoutAValue) {
  EXPECT_THAT(found("unwritten_local"),
              AllOf(HasSubstr(line_with("unwritten_local.cu", "// planted")),
                    HasSubstr("is used uninitialized")));
}

TEST_F(CliCheckTest, AnEndlessLoop) {
  EXPECT_THAT(found("never_ends"), AllOf(HasSubstr("endless wait: still running after 3 s"),
                                         HasSubstr("running at never_ends.cu:")));
}

TEST_F(CliCheckTest, AMisspeltKernel) {
  EXPECT_THAT(found("misspelt"),
              AllOf(HasSubstr(line_with("misspelt.json", "\"kernel\"") +
                              ": /designs/planted/launches/0/kernel: no kernel 'mispelt' in "),
                    HasSubstr("did you mean 'misspelt'?")));
}

TEST_F(CliCheckTest, AMissingReference) {
  EXPECT_THAT(found("no_reference"),
              AllOf(HasSubstr(line_with("no_reference.json", "\"check\"") +
                              ": /check/reference: no kernel 'no_reference_referense' in "),
                    HasSubstr("did you mean 'no_reference_reference'?")));
}

TEST_F(CliCheckTest, ANan) {
  EXPECT_THAT(found("writes_nan"),
              AllOf(HasSubstr("y[17] is nan, the reference says "),
                    HasSubstr(line_with("writes_nan.cu", "writes_nan(const"))));
}

// A copy of the family, in which two files do not decode.
TEST_F(CliCheckTest, TheMistakesOfAllFilesAreListed) {
  const std::string family = mgtune_.folder().file("planted");
  std::filesystem::create_directory(family);
  for (const char* file :
       {"sound.json", "sound.cu", "swapped.json", "swapped.cu", "reference.cu"}) {
    std::filesystem::copy(source_path("tests/families/planted/") + file, family);
  }
  replace_in_file(family + "/sound.json", "\"normal\"", "\"nomal\"");
  replace_in_file(family + "/swapped.json", "\"n / THREADS\"", "\"n / THREAD\"");
  const Ended ended = mgtune_.run({"check", family, "--gpu", "cpu", "--arch", "sm_80"});
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_THAT(
      ended.out,
      AllOf(HasSubstr("sound.json"), HasSubstr("/tensors/x/fill"), HasSubstr("swapped.json"),
            HasSubstr("/designs/planted/launches/0/grid/0"), HasSubstr("2 problems found")));
}

TEST_F(CliCheckTest, AConstraintThatRemovesEverythingIsToldWithItsPlace) {
  const std::string family = mgtune_.folder().file("planted");
  std::filesystem::create_directory(family);
  for (const char* file : {"sound.json", "sound.cu", "reference.cu"}) {
    std::filesystem::copy(source_path("tests/families/planted/") + file, family);
  }
  replace_in_file(family + "/sound.json", "n % THREADS == 0", "n % THREADS == 1");
  const Ended ended = mgtune_.run({"check", family, "--gpu", "cpu", "--arch", "sm_80"});
  EXPECT_THAT(ended.out, AllOf(HasSubstr("sound.json:16: /designs/planted/constraints/0: "
                                         "`n % THREADS == 1` removes every variant"),
                               Not(HasSubstr("no problem found"))));
  EXPECT_EQ(ended.exit_code, 3) << ended;
}

TEST_F(CliCheckTest, AConstraintOfParametersThatRemovesNothingGetsAWarning) {
  const std::string family = mgtune_.folder().file("planted");
  std::filesystem::create_directory(family);
  for (const char* file : {"sound.json", "sound.cu", "reference.cu"}) {
    std::filesystem::copy(source_path("tests/families/planted/") + file, family);
  }
  replace_in_file(family + "/sound.json", "n % THREADS == 0", "THREADS <= 1024");
  const Ended ended = mgtune_.run({"check", family, "--gpu", "cpu", "--arch", "sm_80"});
  EXPECT_THAT(ended.out, AllOf(HasSubstr("warning: planted.sound: "),
                               HasSubstr("sound.json:16: /designs/planted/constraints/0: "
                                         "`THREADS <= 1024` removes nothing, at the problem"),
                               HasSubstr("no problem found")));
  EXPECT_EQ(ended.exit_code, 0) << ended;
}

TEST_F(CliCheckTest, AWrongArchitectureIsRefused) {
  const Ended ended = mgtune_.run(
      {"check", source_path("tests/families/planted.sound"), "--gpu", "cpu", "--arch", "ampere"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, HasSubstr("'ampere' is no architecture; an architecture is written like"));
}

TEST_F(CliCheckTest, JsonHasTheFindings) {
  const Ended ended = mgtune_.run({"check", source_path("tests/families/planted.writes_past_end"),
                                   "--gpu", "cpu", "--arch", "sm_80", "--json"});
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("\"findings\""), HasSubstr("\"planted.writes_past_end\""),
                               HasSubstr("writes element 256 of y")));
}

}  // namespace
}  // namespace mgtune
