// mgtune report and show on stores that another process filled.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "system/file_descriptor.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CliReportTest : public StoreTest {
 protected:
  void SetUp() override { fill(path_, 100.5); }

  // A store with one pick on an H200.
  void fill(const std::string& path, double median_ns) {
    Store store = Store::open(path, Store::Mode::read_write).value();
    OutcomeRecord record = outcome_in(store, kH200Record);
    record.key.problem = *store.problem_id("rmsnorm.forward", "rows=64 hidden=1024 T=bf16", 1e3, 2);
    record.variant =
        "row THREADS_PER_ROW=64 ROWS_PER_BLOCK=1 ROWS_PER_THREAD=1 VEC=8 LOAD=no_allocate "
        "STORE=streaming WEIGHT=early PDL=false";
    record.measurement->method = "rotating";
    record.measurement->median_ns = median_ns;
    record.measurement->median_low_ns = median_ns * 0.998;
    record.measurement->median_high_ns = median_ns * 1.002;
    ASSERT_TRUE(store.record(record).ok());
    TunedRecord tuned;
    tuned.sweep = record.sweep;
    tuned.gpu = record.key.gpu;
    tuned.problem = record.key.problem;
    tuned.variant = tuned.default_variant = record.variant;
    tuned.build_sha256 = "sha-1";
    tuned.method = "rotating";
    tuned.median_ns = tuned.default_median_ns = median_ns;
    ASSERT_TRUE(store.record_tuned(tuned).ok());
  }

  Ended report(const MgtuneProgram::Words& more) {
    MgtuneProgram::Words words = {"report", "--db", path_};
    words.insert(words.end(), more.begin(), more.end());
    return mgtune_.run(words);
  }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
};

TEST_F(CliReportTest, WritesEveryFormat) {
  const std::string page = folder_.file("page.html");
  EXPECT_EQ(report({"-o", page}).exit_code, 0);
  EXPECT_THAT(file_content(page),
              AllOf(HasSubstr("<title>mgtune report: rmsnorm.forward on NVIDIA H200</title>"),
                    HasSubstr("id=\"report-data\">{\"format\":2,")));
  const Ended json = report({"--format", "json"});
  EXPECT_EQ(json.exit_code, 0) << json;
  EXPECT_EQ(json.json()["problems"][0]["variants"]["order"][0], 0);
  EXPECT_FALSE(json.json()["problems"][0]["variants"]["seconds"][0].is_null());
  EXPECT_THAT(report({"--format", "md"}).out, StartsWith("# mgtune report"));
  EXPECT_THAT(report({"--format", "csv"}).out, StartsWith("gpu,emulation,"));
  const std::string table = folder_.file("picks.csv");
  const Ended written = report({"--format", "csv", "-o", table});
  EXPECT_THAT(written.err, HasSubstr("wrote " + table));
  EXPECT_EQ(written.out, "");  // -o may be /dev/stdout
  EXPECT_THAT(file_content(table), StartsWith("gpu,emulation,"));
}

TEST_F(CliReportTest, AMisspeltWordGetsASuggestion) {
  const Ended format = report({"--format", "jsno"});
  EXPECT_EQ(format.exit_code, 2) << format;
  EXPECT_THAT(format.err, HasSubstr("did you mean 'json'"));
  const Ended kernel = report({"--kernel", "rmsnrm"});
  EXPECT_EQ(kernel.exit_code, 2) << kernel;
  EXPECT_THAT(kernel.err, HasSubstr("did you mean 'rmsnorm"));
  const Ended gpu = report({"--gpu", "L4"});
  EXPECT_EQ(gpu.exit_code, 2) << gpu;
  EXPECT_THAT(gpu.err, HasSubstr("it has those of NVIDIA H200"));
}

TEST_F(CliReportTest, AKernelWithoutResultsIsNamedWithThoseThatHaveSome) {
  const Ended swiglu = report({"--kernel", "swiglu", "-o", folder_.file("page.html")});
  EXPECT_EQ(swiglu.exit_code, 2) << swiglu;
  EXPECT_FALSE(std::filesystem::exists(folder_.file("page.html")));
  EXPECT_THAT(swiglu.err, AllOf(HasSubstr("no results of 'swiglu'"), HasSubstr("rmsnorm.forward"),
                                HasSubstr("mgtune sweep --kernel swiglu")));
}

TEST_F(CliReportTest, AKernelThatNobodyKnowsIsRefusedAsAGpuIs) {
  const std::string page = folder_.file("page.html");
  for (const char* option : {"--kernel", "--gpu"}) {
    const Ended ended = report({option, "nothing-known", "-o", page});
    EXPECT_EQ(ended.exit_code, 2) << ended;
    EXPECT_THAT(ended.err, AllOf(HasSubstr(std::string(option) + " nothing-known: no results"),
                                 HasSubstr("it has those of ")));
    EXPECT_FALSE(std::filesystem::exists(page)) << option;
  }
}

TEST_F(CliReportTest, AFileIsReplacedAndKeepsItsMode) {
  const std::string page = folder_.file("page.html");
  const auto mode = [&] {
    struct stat file {};
    return ::stat(page.c_str(), &file) == 0 ? file.st_mode & 0777 : 0;
  };
  for (const mode_t wanted : {0444, 0600}) {  // read-only; nobody else's
    std::ofstream(page) << "old";
    ASSERT_EQ(::chmod(page.c_str(), wanted), 0);
    const Ended ended = report({"-o", page});
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_THAT(file_content(page), HasSubstr("NVIDIA H200"));
    EXPECT_EQ(mode(), wanted);
    std::filesystem::remove(page);
  }
}

TEST_F(CliReportTest, APipeIsWrittenAndNeverRead) {
  const std::string path = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const FileDescriptor pipe(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  const Ended table = report({"--format", "csv", "-o", path});
  EXPECT_EQ(table.exit_code, 0) << table;
  std::string start(14, '\0');
  EXPECT_EQ(::read(pipe.get(), start.data(), start.size()), std::ssize(start));
  EXPECT_EQ(start, "gpu,emulation,");
}

TEST_F(CliReportTest, AGpuIsFoundByItsAliases) {
  for (const char* name : {"H200", "h200", "NVIDIA H200"}) {
    const Ended ended = report({"--gpu", name, "--format", "json"});
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_EQ(ended.json()["picks"].size(), 1u) << name;
  }
}

TEST_F(CliReportTest, ABaselineIsComparedWith) {
  const std::string old = folder_.file("old.db");
  fill(old, 201);
  const Ended ended = report({"--baseline", old, "--format", "json"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_NEAR(ended.json()["picks"][0]["baseline"]["speedup"], 2, 1e-6);
  EXPECT_EQ(ended.json()["picks"][0]["baseline"]["verdict"], "faster");
  const std::string none = folder_.file("none.db");
  const Ended missing = report({"--baseline", none});
  EXPECT_EQ(missing.exit_code, 5) << missing;
  EXPECT_THAT(missing.err, HasSubstr(none));
}

TEST_F(CliReportTest, ABaselineOfOtherProblemsIsSaid) {
  const std::string old = folder_.file("cpu.db");
  {
    Store store = Store::open(old, Store::Mode::read_write).value();
    ASSERT_TRUE(store.record(outcome_in(store)).ok());
  }
  const Ended ended = report({"--baseline", old, "--format", "csv"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.err, HasSubstr("has no pick for any of these problems"));
}

TEST_F(CliReportTest, ShowHasAViewOfEachPart) {
  for (const std::string view :
       {"summary", "importance", "progress", "sizes", "counters", "environment"}) {
    const Ended text = mgtune_.run({"show", view, "--db", path_});
    EXPECT_EQ(text.exit_code, 0) << text;
    EXPECT_FALSE(text.out.empty()) << view;
    const Ended json = mgtune_.run({"show", view, "--db", path_, "--json"});
    EXPECT_TRUE(json.json().contains(view)) << json;
  }
  EXPECT_THAT(mgtune_.run({"show", "counters", "--db", path_}).out, HasSubstr("--counters"));
  EXPECT_THAT(mgtune_.run({"show", "environment", "--db", path_}).out,
              HasSubstr("mgtune sweep --kernel rmsnorm"));
}

}  // namespace
}  // namespace mgtune
