// What the subcommands that read results say of words that name nothing, of what exists and has no
// results yet, and of results that two words together leave out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Words = MgtuneProgram::Words;

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// A store with rmsnorm.forward on an H200, and a program whose own store is empty.
class CliReadingWordsTest : public StoreTest {
 protected:
  void SetUp() override { record("NVIDIA H200", "rmsnorm.forward"); }

  void record(const std::string& model, const std::string& op) {
    Store store = open();
    GpuRecord gpu = model == "cpu" ? kCpuRecord : kH200Record;
    gpu.model = model;
    OutcomeRecord record = outcome_in(store, gpu);
    record.key.problem = *store.problem_id(op, "rows=4 hidden=64 T=f32", 1e3, 2);
    record.measurement->method = "rotating";
    ASSERT_TRUE(store.record(record).ok());
  }

  Words here() const { return {"--db", path_}; }

  // All that read results by --kernel.
  std::vector<Words> by_kernel() {
    const std::string output = folder_.file("output");
    return {{"show", "best"},
            {"show", "variants", "--json"},
            {"report", "--format", "csv"},
            {"report", "-o", output},
            {"export"},
            {"simulate"},
            {"pack", "--gpu", "H200", "-o", output},
            {"explain", "--gpu", "H200", "--problem", "rows=4,hidden=64,T=f32"},
            {"profile", "--gpu", "H200", "--problem", "rows=4,hidden=64,T=f32"}};
  }

  void expect_refused(const Words& words, const ::testing::Matcher<std::string>& message) {
    const Ended ended = mgtune_.run(words);
    EXPECT_EQ(ended.exit_code, 2) << ::testing::PrintToString(words) << ended;
    EXPECT_THAT(ended.err, message) << ::testing::PrintToString(words);
    EXPECT_THAT(ended.out, IsEmpty()) << ::testing::PrintToString(words);
    EXPECT_FALSE(std::filesystem::exists(folder_.file("output"))) << words[0];
  }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
};

TEST_F(CliReadingWordsTest, AKernelThatNobodyKnowsIsRefusedByAll) {
  for (const Words& command : by_kernel()) {
    for (const Words& database : {here(), Words{}}) {
      for (const std::string kernel : {"quite_other", "rmsnorm.quite_other", "no/such/folder"}) {
        const std::string named = kernel.substr(kernel.find('.') + 1);
        expect_refused(command + Words{"--kernel", kernel} + database,
                       AllOf(HasSubstr("no"), HasSubstr(named), Not(HasSubstr("did you mean"))));
      }
    }
  }
}

TEST_F(CliReadingWordsTest, AMisspeltKernelGetsASuggestionFromAll) {
  for (const Words& command : by_kernel()) {
    for (const Words& database : {here(), Words{}}) {
      expect_refused(command + Words{"--kernel", "rmsnrm"} + database,
                     HasSubstr("did you mean 'rmsnorm'?"));
      expect_refused(command + Words{"--kernel", "rmsnorm.foward"} + database,
                     HasSubstr("forward'?"));
      expect_refused(command + Words{"--kernel", "swigul"} + database,  // has no results
                     HasSubstr("did you mean 'swiglu'?"));
    }
  }
}

// A shell's pipe must not get what looks like results.
TEST_F(CliReadingWordsTest, AnOperatorWithoutResultsIsRefusedByAll) {
  const Words kernel = {"--kernel", "swiglu.forward"};
  for (const char* view : {"best", "variants", "failures", "finals", "limits", "summary",
                           "importance", "progress", "sizes", "counters", "environment"}) {
    expect_refused(Words{"show", view} + kernel + here(),
                   AllOf(HasSubstr("no results of 'swiglu.forward' in this store"),
                         HasSubstr("it has those of rmsnorm.forward"),
                         HasSubstr("mgtune sweep --kernel swiglu.forward")));
  }
  for (const Words& database : {here(), Words{}}) {
    for (const Words& command :
         {Words{"show", "best", "--json"}, Words{"report", "--format", "csv"},
          Words{"report", "-o", folder_.file("output")}, Words{"export"}, Words{"simulate"},
          Words{"pack", "--gpu", "H200", "-o", folder_.file("output")}}) {
      expect_refused(command + kernel + database, Not(HasSubstr("unknown")));
    }
  }
}

TEST_F(CliReadingWordsTest, AMisspeltGpuGetsASuggestionFromAll) {
  const std::string output = folder_.file("output");
  for (const Words& database : {here(), Words{}}) {
    for (const Words& command :
         {Words{"show", "best"}, Words{"show", "summary", "--json"},
          Words{"report", "--format", "md"}, Words{"report", "-o", output},
          Words{"pack", "--kernel", "rmsnorm", "-o", output},
          Words{"explain", "--kernel", "rmsnorm.forward", "--problem", "rows=4,hidden=64,T=f32"},
          Words{"list"}}) {
      if (command[0] == "list" && !database.empty()) continue;  // it reads none
      expect_refused(command + Words{"--gpu", "H20"} + database, HasSubstr("did you mean 'H200'?"));
      expect_refused(command + Words{"--gpu", "quite-other"} + database, HasSubstr("quite-other"));
    }
  }
  expect_refused(Words{"export", "--gpu", "H20"} + here(), HasSubstr("did you mean 'H200'?"));
  // An L4 would be refused as well, because there are no results of one.
  expect_refused(Words{"export", "--gpu", "l44"} + here(),
                 AllOf(HasSubstr("it has those of NVIDIA H200"), Not(HasSubstr("did you mean"))));
}

TEST_F(CliReadingWordsTest, WithoutAnyResultsAGpuThatExistsIsNotCalledUnknown) {
  for (const char* gpu : {"L4", "nvidia h200", "cpu"}) {
    for (const Words& command : {Words{"show", "best"}, Words{"report", "--format", "csv"}}) {
      expect_refused(command + Words{"--gpu", gpu},
                     AllOf(HasSubstr("mgtune sweep"), HasSubstr(gpu), Not(HasSubstr("called"))));
    }
  }
}

TEST_F(CliReadingWordsTest, AGpuWithoutResultsIsNotSuggestedAgain) {
  for (const Words& command : {Words{"show", "best"}, Words{"report"}, Words{"export"}}) {
    expect_refused(command + Words{"--gpu", "L4"} + here(),
                   AllOf(HasSubstr("it has those of NVIDIA H200"), Not(HasSubstr("did you mean"))));
  }
}

TEST_F(CliReadingWordsTest, AKernelWithResultsOnAnotherGpuIsSaidSo) {
  record("cpu", "swiglu.forward");
  const Words words = Words{"--kernel", "rmsnorm", "--gpu", "cpu"} + here();
  const auto message =
      AllOf(HasSubstr("no results of 'rmsnorm' on cpu in this store; it has those on NVIDIA H200."),
            HasSubstr("mgtune sweep --kernel rmsnorm --gpu cpu"));
  expect_refused(Words{"show", "best"} + words, message);
  expect_refused(Words{"report", "--format", "csv"} + words, message);
}

TEST_F(CliReadingWordsTest, AMisspeltNameInAProblemGetsASuggestion) {
  for (const Words& command :
       {Words{"export"}, Words{"export", "--kernel", "rmsnorm"},
        Words{"simulate", "--kernel", "rmsnorm"}, Words{"simulate", "--kernel", "rmsnorm.forward"},
        Words{"explain", "--kernel", "rmsnorm.forward", "--gpu", "H200"}}) {
    expect_refused(command + Words{"--problem", "rwos=4"} + here(),
                   AllOf(HasSubstr("'rwos'"), HasSubstr("did you mean 'rows'?")));
  }
  // A flag that is not set stands in no problem's text.
  const Words csv = {"export", "--format", "csv"};
  EXPECT_EQ(mgtune_.run(csv + Words{"--problem", "rstd=false"} + here()).exit_code, 0);
  expect_refused(csv + Words{"--problem", "rstd=true"} + here(), HasSubstr("nothing to export"));
  expect_refused(csv + Words{"--problem", "rtsd=false"} + here(),
                 HasSubstr("did you mean 'rstd'?"));
}

TEST_F(CliReadingWordsTest, AFlagThatIsNotSetChoosesProblemsToSimulate) {
  const auto simulate = [this](const char* problem) {
    return mgtune_.run(Words{"simulate", "--kernel", "rmsnorm.forward", "--problem", problem} +
                       here());
  };
  constexpr const char* kLeftOut = "left out rmsnorm.forward rows=4 hidden=64 T=f32";
  EXPECT_THAT(simulate("rstd=false").err, HasSubstr(kLeftOut));
  EXPECT_THAT(simulate("rstd=true").err, Not(HasSubstr(kLeftOut)));
}

TEST_F(CliReadingWordsTest, AMisspeltMethodGetsASuggestion) {
  expect_refused(Words{"export", "--method", "rotatin"} + here(),
                 AllOf(HasSubstr("--method rotatin"), HasSubstr("did you mean 'rotating'?")));
  expect_refused(Words{"export", "--method", "graph"} + here(),
                 AllOf(HasSubstr("nothing to export"), Not(HasSubstr("did you mean"))));
}

}  // namespace
}  // namespace mgtune
