// mgtune explain: which rule answers, without the GPU; what it refuses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "store/store.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/store_fixture.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kFast =
    "row THREADS_PER_ROW=128 ROWS_PER_BLOCK=1 ROWS_PER_THREAD=1 VEC=8 LOAD=normal STORE=normal "
    "WEIGHT=early PDL=false";

// A database with the picks of three problems, as from an H200.
class CliExplain : public StoreTest {
 protected:
  CliExplain() {
    add_pick("512", "128", 3'000);
    add_pick("1024", "256", 9'000);
    add_pick("4096", "128", 40'960);
  }

  void add_pick(const std::string& rows, const std::string& threads, double median_ns) {
    Store store = open();
    OutcomeRecord record = outcome_in(store, kH200Record);
    TunedRecord tuned;
    tuned.sweep = record.sweep;
    tuned.gpu = record.key.gpu;
    tuned.problem =
        *store.problem_id("rmsnorm.forward", "rows=" + rows + " hidden=4096 T=bf16", 1e6, 1e6);
    tuned.variant = std::string(kFast).replace(std::string_view(kFast).find("128"), 3, threads);
    tuned.method = "rotating";
    tuned.median_ns = median_ns;
    ASSERT_TRUE(store.record_tuned(tuned).ok());
  }

  Ended explain(const MgtuneProgram::Words& more) {
    MgtuneProgram::Words words = {"explain", "--kernel", "rmsnorm.forward", "--gpu", "H200",
                                  "--db",    path_};
    words.insert(words.end(), more.begin(), more.end());
    return mgtune_.run(words);
  }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
};

TEST_F(CliExplain, AnswersForAGpuThatIsNotHere) {
  const Ended at = explain({"--problem", "rows=4096,hidden=4096,T=bf16"});
  ASSERT_EQ(at.exit_code, 0) << at.err;
  EXPECT_THAT(at.out, HasSubstr(std::string("variant   ") + kFast));
  EXPECT_THAT(at.out, HasSubstr("chosen    exact problem: tuned for rows=4096"));
  EXPECT_THAT(at.out, HasSubstr("expected  40.96 us\n"));
  EXPECT_THAT(at.out, Not(HasSubstr("improve  ")));
}

// What was measured at another problem is not a time of this one.
TEST_F(CliExplain, PrintsNoTimeOfAProblemThatWasNotMeasured) {
  for (const auto& [rows, rule] :
       {std::pair("5000", "near problem"), std::pair("20000", "default ladder")}) {
    const std::string problem = std::string("rows=") + rows + ",hidden=4096,T=bf16";
    const Ended at = explain({"--problem", problem});
    ASSERT_EQ(at.exit_code, 0) << at.err;
    EXPECT_THAT(at.out, HasSubstr(std::string("chosen    ") + rule + ": "));
    EXPECT_THAT(at.out, HasSubstr("expected  unknown: "));
    EXPECT_THAT(at.out, HasSubstr("improve   sweep this problem: mgtune sweep rmsnorm.forward"));
    EXPECT_THAT(at.out, Not(ContainsRegex("[0-9] us"))) << "no time of any candidate";
    const auto json = explain({"--problem", problem, "--json"}).json();
    EXPECT_EQ(json["chosen"]["rule"], rule);
    ASSERT_FALSE(json["runners_up"].empty());
    for (const auto& other : json["runners_up"]) EXPECT_TRUE(other["expected_ns"].is_null());
  }
}

// From recorded results to the way through the tree.
TEST_F(CliExplain, RulesBesideTheDatabaseServeProblemsThatNobodyTuned) {
  MgtuneProgram::Words words = {"import", "--db", path_};
  const std::string folder = source_path("results/h200/recorded/rules/rmsnorm.backward/held_out");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    words.push_back(entry.path().string());
  }
  ASSERT_EQ(mgtune_.run(words).exit_code, 0);
  ASSERT_EQ(mgtune_.run({"fit", "rmsnorm.backward", "--db", path_}).exit_code, 0);
  const Ended at = mgtune_.run({"explain", "rmsnorm.backward", "--gpu", "H200", "--db", path_,
                                "--problem", "rows=30,hidden=6144,T=bf16,dw=true"});
  ASSERT_EQ(at.exit_code, 0) << at.err;
  EXPECT_THAT(at.out, HasSubstr("chosen    rules: rules of NVIDIA H200, fitted to 42 problems"));
  EXPECT_THAT(at.out, ContainsRegex("rule      .* against [0-9]+\\): (yes|no)\n"));
  EXPECT_THAT(at.out, HasSubstr("for each of them, rules were fitted to the other problems"));
  EXPECT_THAT(at.out, HasSubstr("improve   sweep this problem"));
  const MgtuneProgram::Words on_l4 = {"explain",   "rmsnorm.backward",
                                      "--gpu",     "L4",
                                      "--db",      path_,
                                      "--problem", "rows=30,hidden=6144,T=bf16,dw=true"};
  const Ended elsewhere = mgtune_.run(on_l4);
  EXPECT_THAT(elsewhere.out, HasSubstr("chosen    rules of another GPU: rules of NVIDIA H200"));
  EXPECT_THAT(elsewhere.out, ContainsRegex("variant   .* PDL=false")) << "an L4 has no PDL";
  EXPECT_THAT(elsewhere.out, HasSubstr("that was on NVIDIA H200, and nobody measured it here"));
  mgtune_.with_variable("MGTUNE_STRICT", "1");
  EXPECT_THAT(mgtune_.run(on_l4).out, HasSubstr("chosen    default ladder: "));
}

// On an H200, the first variant of the rule serves small problems with two bytes per access, if the
// grid starts early. An L4 cannot do that, and must not do so at a large problem either.
TEST_F(CliExplain, RulesOfANewerGpuChooseOnlyWhatWouldBeChosenThere) {
  const std::filesystem::path rules =
      std::filesystem::path(path_).parent_path() / "rules/nvidia-h200";
  std::filesystem::create_directories(rules);
  for (const char* op : {"swiglu.forward", "rmsnorm.forward"}) {
    const std::string file = std::string(op) + ".rules.json";
    std::filesystem::copy_file(source_path("results/h200/" + file), rules / file);
  }
  const auto on_l4 = [&](const std::string& op) {
    return mgtune_.run(
        {"explain", op, "--gpu", "L4", "--db", path_, "--problem", "rows=4096,hidden=5120,T=bf16"});
  };
  const Ended wide = on_l4("swiglu.forward");
  EXPECT_THAT(wide.out, HasSubstr("chosen    rules of another GPU: rules of NVIDIA H200"));
  EXPECT_THAT(wide.out, ContainsRegex("variant   flat .* VEC=8 .* PDL=false"));
  const Ended clusters = on_l4("rmsnorm.forward");
  EXPECT_THAT(clusters.out, HasSubstr("chosen    default ladder: "));
  EXPECT_THAT(clusters.out,
              HasSubstr("ladder    no variant of this rule can serve the problem on L4, "
                        "so the default ladder does"));
  EXPECT_THAT(clusters.out, Not(HasSubstr("loss   "))) << "it is that of another ladder";
}

TEST_F(CliExplain, NamesWhatIsNeverDispatched) {
  {
    Store store = open();
    OutcomeRecord record = outcome_in(store, kH200Record);
    record.key.problem =
        *store.problem_id("rmsnorm.forward", "rows=1024 hidden=4096 T=bf16", 1e6, 1e6);
    record.variant = kFast;
    record.outcome = Outcome::wrong;
    record.measurement.reset();
    ASSERT_TRUE(store.record(record).ok());
  }
  const Ended at = explain({"--problem", "rows=4096,hidden=4096,T=bf16"});
  ASSERT_EQ(at.exit_code, 0) << at.err;
  EXPECT_THAT(at.out, HasSubstr(std::string("never     ") + kFast));
  EXPECT_THAT(at.out, Not(HasSubstr(std::string("variant   ") + kFast)));
}

TEST_F(CliExplain, RefusesADatabaseWithWhatTheOperatorDoesNotOffer) {
  add_pick("1024", "257", 9'000);
  const Ended value = explain({"--problem", "rows=4096,hidden=4096,T=bf16"});
  EXPECT_EQ(value.exit_code, 5);
  EXPECT_THAT(value.err, HasSubstr(path_));
  EXPECT_THAT(value.err, HasSubstr("257"));
}

TEST_F(CliExplain, RefusesCppInAValue) {
  add_pick("1024", "256>();__trap();//", 9'000);
  const Ended code = explain({"--problem", "rows=4096,hidden=4096,T=bf16"});
  EXPECT_EQ(code.exit_code, 5);
  EXPECT_THAT(code.err, HasSubstr("__trap"));
}

TEST_F(CliExplain, SaysWhatItNeeds) {
  EXPECT_EQ(explain({}).exit_code, 2);
  const Ended other = mgtune_.run({"explain", "--kernel", "rmsnorm.forward", "--gpu", "K80", "--db",
                                   path_, "--problem", "rows=1,hidden=8,T=bf16"});
  EXPECT_EQ(other.exit_code, 2) << "as mgtune show";
  EXPECT_THAT(other.err, HasSubstr("NVIDIA H200"));
}

TEST_F(CliExplain, KnowsGpusThatHaveNoResults) {
  const Ended l4 = mgtune_.run({"explain", "--kernel", "rmsnorm.forward", "--gpu", "L4", "--db",
                                path_, "--problem", "rows=4096,hidden=4096,T=bf16"});
  EXPECT_EQ(l4.exit_code, 0) << l4.err;
  EXPECT_THAT(l4.out, HasSubstr("L4"));
}

}  // namespace
}  // namespace mgtune
