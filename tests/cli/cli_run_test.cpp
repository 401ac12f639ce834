// mgtune run on the cpu device: what it says about variants that are right, wrong, do not compile,
// crash and print; what it prints about a build; a debugger on it. The commands of
// kernels/DEBUGGING.md that need no GPU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "debug/debug_tool.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

int times_in(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    ++count;
  }
  return count;
}

// Under AddressSanitizer the process maps terabytes, and LeakSanitizer refuses a debugger.
bool has_gdb() {
  if (std::string(MGTUNE_SANITIZE) == "" && !find_tool("gdb").empty()) return true;
  std::cout << "NO DEBUGGER WAS STARTED: no gdb here, or under a sanitizer" << std::endl;
  return false;
}

class CliRunTest : public VectorAddTest {
 protected:
  MgtuneProgram::Words words(const std::string& variant, const MgtuneProgram::Words& more = {}) {
    MgtuneProgram::Words words = {"run",       "--kernel", family_,     "--gpu", "cpu",
                                  "--problem", "n=1000",   "--variant", variant};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Ended run(const std::string& variant, const MgtuneProgram::Words& more = {}) {
    return mgtune_.run(words(variant, more));
  }
};

TEST_F(CliRunTest, ARightVariantHasItsErrorAndItsTime) {
  const Ended ended = run("flat THREADS=64 MODE=good");
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.err,
              HasSubstr("vector_add.add n=1000 T=f32 on cpu: flat THREADS=64 MODE=good"));
  EXPECT_THAT(ended.out, AllOf(HasSubstr("outcome  ok\n"), HasSubstr("0 of 1000"),
                               HasSubstr("emulation: it says nothing about a GPU")));
}

TEST_F(CliRunTest, WithoutAVariantTheDefaultRuns) {
  const Ended ended =
      mgtune_.run({"run", "--kernel", family_, "--gpu", "cpu", "--problem", "n=100"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.err, HasSubstr("flat THREADS=64 MODE=good (what a program would run)"));
}

TEST_F(CliRunTest, AWrongVariantNamesTheFirstWrongElement) {
  const Ended ended = run("flat MODE=wrong,THREADS=32");  // any order, with commas
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("outcome  wrong: z["), HasSubstr("31 of 1000"),
                               HasSubstr("z[31]"), Not(HasSubstr("time "))));
}

TEST_F(CliRunTest, AParameterThatIsLeftOutIsTheDefaults) {
  const Ended ended = run("flat MODE=wrong");
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_THAT(ended.err, HasSubstr("flat THREADS=64 MODE=wrong (named)"));
}

TEST_F(CliRunTest, AVariantThatDoesNotCompileHasTheCompilersMessage) {
  const Ended ended = run("flat MODE=broken");
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("outcome  compile_failed: "), HasSubstr("add.cu:17"),
                               HasSubstr("this variant is broken on purpose")));
}

TEST_F(CliRunTest, ACrashIsAnOutcomeWithItsLine) {
  edit("add.cu", "z[i] = sum", "z[i + (1ll << 40)] = sum");
  const Ended ended = run("flat MODE=good");
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("outcome  crashed: "), HasSubstr("add.cu:2")));
}

TEST_F(CliRunTest, WhatAKernelPrintsAppearsOnce) {
  edit("add.cu", "  z[i] = sum", "  if (i == 7) printf(\"seven %d\\n\", int(i));\n  z[i] = sum");
  const Ended ended = run("flat MODE=good");
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(times_in(ended.out, "seven 7\n"), 1) << ended;
}

TEST_F(CliRunTest, WhatAKernelPrintedBeforeACrashIsNotLost) {
  edit("add.cu", "  z[i] = sum",
       "  if (i == 0) printf(\"before\\n\");\n  z[i + (i == 999 ? 1ll << 40 : 0)] = sum");
  const Ended ended = run("flat MODE=good");
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_THAT(ended.out, HasSubstr("before\n"));
}

TEST_F(CliRunTest, AsJsonWithTheKernelAsAWord) {
  edit("add.cu", "  z[i] = sum", "  if (i == 7) printf(\"seven\\n\");\n  z[i] = sum");
  const MgtuneProgram::Words words = {
      "run",       family_, "--gpu",     "cpu",
      "--problem", "n=100", "--variant", "flat THREADS=32 MODE=wrong",
      "--json"};
  const Ended ended = mgtune_.run(words);
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_THAT(ended.err, HasSubstr("seven\n"));
  const auto json = ended.json();
  EXPECT_EQ(json["operator"], "vector_add.add");
  EXPECT_EQ(json["problem"], "n=100 T=f32");
  EXPECT_EQ(json["variant"], "flat THREADS=32 MODE=wrong");
  EXPECT_EQ(json["outcome"], "wrong");
  EXPECT_EQ(json["outputs"][0]["first"], "z[31]");
  EXPECT_EQ(json["outputs"][0]["wrong"], 3);
  EXPECT_TRUE(json["time_ns"].is_null());
  const auto right = run("flat MODE=good", {"--json"}).json();
  EXPECT_EQ(right["outcome"], "ok");
  EXPECT_TRUE(right["outputs"][0]["first"].is_null());
  EXPECT_GT(right["time_ns"], 0);
  edit("add.cu", "  z[i] = sum", "  z[i + (1ll << 40)] = sum");
  const Ended crashed = run("flat MODE=good", {"--json"});
  EXPECT_EQ(crashed.exit_code, 3) << crashed;
  EXPECT_EQ(crashed.json()["outcome"], "crashed");
  EXPECT_EQ(run("flat MODE=good", {"--in-process", "--json"}).out, "");  // it crashes
}

TEST_F(CliRunTest, PrintsTheInstantiation) {
  const Ended ended = run("flat MODE=good", {"--print", "cuda"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("// kernel        vector_add<float, 64, MODE::good>"),
                    HasSubstr("// includes      mg/types.cuh"), HasSubstr("-std=gnu++20"),
                    HasSubstr("#include \"add.cu\""), HasSubstr("z[i] = sum;")));
}

TEST_F(CliRunTest, ThePrintedCommandMakesTheBuild) {
  const Ended ended = run("flat MODE=good", {"--print", "command"});
  ASSERT_EQ(ended.exit_code, 0) << ended;
  const std::string script = mgtune_.folder().file("build.sh");
  std::ofstream(script) << ended.out << "cp mgtune_unit.so " << mgtune_.folder().file("made.so")
                        << "\n";
  EXPECT_EQ(std::system(("sh -e " + script + " >&2").c_str()), 0) << ended;
  EXPECT_GT(std::filesystem::file_size(mgtune_.folder().file("made.so")), 1000U);
}

TEST_F(CliRunTest, PrintsPtxForAGpuThatIsNotHere) {
  const Ended ended = mgtune_.run(
      {"run", "--kernel", family_, "--gpu", "H200", "--problem", "n=1000", "--print", "ptx"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.out, AllOf(HasSubstr(".target sm_90"), HasSubstr(".entry")));
  expect_refused(run("flat MODE=good", {"--print", "ptx"}), 2,
                 HasSubstr("the cpu device runs host code, which has none"));
}

TEST_F(CliRunTest, WrongWordsAreRefused) {
  expect_refused(run("flat MODE=goood"), 2, HasSubstr("MODE"));
  expect_refused(run("flat MODE=good", {"--print", "cubin"}), 2,
                 HasSubstr("'cubin' is none of cuda, ptx, sass, command"));
  expect_refused(run("flat MODE=good", {"--under", "gdbb"}), 2,
                 HasSubstr("there are gdb, cuda-gdb, compute-sanitizer, ncu; did you mean 'gdb'?"));
  expect_refused(run("flat MODE=good", {"--under", "ncu"}), 2, HasSubstr("use --under gdb"));
  expect_refused(run("flat MODE=good", {"--debug-info", "full"}), 2, HasSubstr("--in-process"));
  expect_refused(run("flat MODE=good", {"--print", "ptx", "--json"}), 2,
                 HasSubstr("--json does not go with --print or --under"));
  expect_refused(run("flat MODE=good", {"--under", "gdb", "--in-process"}), 2,
                 HasSubstr("give one of --print, --under and --in-process"));
}

TEST_F(CliRunTest, AToolThatIsMissingIsNamedWithItsPackage) {
  mgtune_.with_variable("PATH", mgtune_.folder().path());
  expect_refused(run("flat MODE=good", {"--under", "gdb"}), 2,
                 AllOf(HasSubstr("neither in PATH nor"), HasSubstr("apt-get install gdb")));
}

TEST_F(CliRunTest, GdbStopsInAKernel) {
  if (!has_gdb()) GTEST_SKIP() << "SKIPPED, NOTHING WAS TESTED: gdb is not installed";
  const Ended ended =
      run("flat MODE=good", {"--under", "gdb", "--", "-batch", "-ex", "break add.cu:22 if i == 77",
                             "-ex", "run", "-ex", "print i", "-ex", "backtrace 1"});
  EXPECT_THAT(ended.out, AllOf(HasSubstr("add.cu:22"), HasSubstr("$1 = 77"),
                               HasSubstr("vector_add<float, 64")))
      << ended;
}

// The page's lines that begin with mgtune and name the cpu device, or only print. The family is a
// copy of the one that the page copies.
TEST_F(CliRunTest, TheCommandsOfThePageWork) {
  std::filesystem::copy(family_, mgtune_.folder().file("my_family"));
  std::ifstream page(source_path("kernels/DEBUGGING.md"));
  int commands = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("mgtune run ")) continue;
    if (line.find("--gpu auto") != std::string::npos) continue;    // needs a GPU
    if (line.find("--print sass") != std::string::npos) continue;  // needs nvdisasm
    if (line.find("--under gdb") != std::string::npos && !has_gdb()) continue;
    ++commands;
    const bool is_wrong = line.find("# exit code 1") != std::string::npos;
    const std::string folder = mgtune_.folder().path();
    std::ofstream(folder + "/command.sh")
        << "cd " << folder << "\nexport HOME=" << folder << " MGTUNE_CACHE_DIR=" << cache_.path()
        << " TMPDIR=" << mgtune_.temporary_files() << "\nmgtune() { " << mgtune_path()
        << " \"$@\"; }\n"
        << line << "\n";
    const int status =
        std::system(("bash " + folder + "/command.sh >" + folder + "/out.txt 2>&1").c_str());
    EXPECT_EQ(WEXITSTATUS(status), is_wrong ? 1 : 0) << line << "\n"
                                                     << file_content(folder + "/out.txt");
  }
  EXPECT_GE(commands, 6);
}

}  // namespace
}  // namespace mgtune
