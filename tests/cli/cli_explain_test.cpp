// mgtune explain: which rule answers, without the GPU; what it refuses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "store/store.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kFast =
    "row THREADS_PER_ROW=128 ROWS_PER_BLOCK=1 ROWS_PER_THREAD=1 VEC=8 LOAD=normal STORE=normal "
    "WEIGHT=early PDL=false";

constexpr std::size_t kWhereLoadIs = std::string_view(kFast).find("LOAD=") + 5;

// A database with three measured problems, as from an H200.
class CliExplain : public StoreTest {
 protected:
  CliExplain() {
    Store store = open();
    for (const char* rows : {"512", "1024", "4096"}) {
      for (const char* threads : {"128", "256", "512"}) {
        for (const char* load : {"normal", "streaming"}) add(store, rows, threads, load);
      }
    }
  }

  void add(Store& store, const std::string& rows, const std::string& threads,
           const std::string& load, Outcome outcome = Outcome::ok) {
    OutcomeRecord record = outcome_in(store, kH200Record);
    record.key.problem =
        *store.problem_id("rmsnorm.forward", "rows=" + rows + " hidden=4096 T=bf16", 1e6, 1e6);
    record.variant = "row THREADS_PER_ROW=" + threads +
                     " ROWS_PER_BLOCK=1 ROWS_PER_THREAD=1 VEC=8 LOAD=" + load +
                     " STORE=normal WEIGHT=early PDL=false";
    record.outcome = outcome;
    record.measurement->method = "rotating";
    record.measurement->median_ns =
        std::stod(rows) * (threads == "128" ? 10 : 13) + (load == "normal" ? 0 : 100);
    if (outcome != Outcome::ok) record.measurement.reset();
    ASSERT_TRUE(store.record(record).ok());
  }

  // A pick without the measurements of its sweep, as an import leaves it.
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
  EXPECT_THAT(at.out, HasSubstr("chosen    exact problem: measured at rows=4096"));
  EXPECT_THAT(at.out, HasSubstr("expected  40.96 us"));
  const Ended between = explain({"--problem", "rows=2000,hidden=4096,T=bf16", "--json"});
  ASSERT_EQ(between.exit_code, 0) << between.err;
  const auto json = nlohmann::json::parse(between.out);
  EXPECT_EQ(json["chosen"]["rule"], "least regret");
  EXPECT_EQ(json["chosen"]["variant"], kFast);
  EXPECT_NEAR(json["chosen"]["estimated_ns"].get<double>(), 20'000, 4'000);
  EXPECT_TRUE(json["chosen"]["expected_ns"].is_null());
  EXPECT_TRUE(json["chosen"]["slowdown"].is_null());
  EXPECT_LE(json["regret_bound"].get<double>(), 0.1);
  EXPECT_GE(json["runners_up"].size(), 2U);
}

// Neither what a model estimates nor what was measured at another problem is a time of this one.
TEST_F(CliExplain, PrintsNoTimeOfAProblemThatWasNotMeasured) {
  const auto expect_no_time = [&](const std::string& problem, const std::string& rule) {
    const Ended at = explain({"--problem", problem});
    ASSERT_EQ(at.exit_code, 0) << at.err;
    EXPECT_THAT(at.out, HasSubstr("chosen    " + rule));
    EXPECT_THAT(at.out, HasSubstr("expected  unknown: "));
    EXPECT_THAT(at.out, Not(ContainsRegex("[0-9] us"))) << "no time of any candidate";
    EXPECT_THAT(at.out, Not(HasSubstr("regret  ")));
    EXPECT_THAT(at.out, Not(ContainsRegex("[0-9] % +(least regret|nearest)"))) << "no slowdown";
    const auto json = explain({"--problem", problem, "--json"}).json();
    ASSERT_FALSE(json["runners_up"].empty());
    for (const auto& other : json["runners_up"]) {
      EXPECT_TRUE(other["expected_ns"].is_null()) << other;
      EXPECT_TRUE(other["slowdown"].is_null()) << other;
    }
  };
  expect_no_time("rows=2000,hidden=4096,T=bf16", "least regret: ");
  EXPECT_THAT(explain({"--problem", "rows=2000,hidden=4096,T=bf16"}).out, HasSubstr("bound  "));

  path_ = folder_.file("picks.db");
  add_pick("512", "128", 3'000);
  add_pick("4096", "256", 63'280);
  expect_no_time("rows=2000,hidden=4096,T=bf16", "nearest problem: ");
  const Ended exact = explain({"--problem", "rows=512,hidden=4096,T=bf16"});
  EXPECT_THAT(exact.out, HasSubstr("expected  3.00 us\n"));
  EXPECT_THAT(exact.out, Not(HasSubstr("63.28"))) << "the time of 4096 rows";
}

TEST_F(CliExplain, TheRegretOfAPickIsOfWhatWasMeasuredAlone) {
  {
    Store store = open();
    OutcomeRecord record = outcome_in(store, kH200Record);
    TunedRecord tuned;
    tuned.sweep = record.sweep;
    tuned.gpu = record.key.gpu;
    tuned.problem = *store.problem_id("rmsnorm.forward", "rows=4096 hidden=4096 T=bf16", 1e6, 1e6);
    tuned.variant = std::string(kFast).replace(kWhereLoadIs, 6, "streaming");
    tuned.build_sha256 = "sha-1";
    tuned.method = "rotating";
    tuned.median_ns = 40'000;  // of a final: faster than anything was alone
    ASSERT_TRUE(store.record_tuned(tuned).ok());
  }
  const Ended at = explain({"--problem", "rows=4096,hidden=4096,T=bf16"});
  ASSERT_EQ(at.exit_code, 0) << at.err;
  EXPECT_THAT(at.out, HasSubstr("expected  40.00 us as tuned; 41.06 us measured alone\n"));
  EXPECT_THAT(at.out, HasSubstr("regret    0.2 % over the best variant, both measured alone\n"))
      << "41.06 us over 40.96 us";
}

TEST_F(CliExplain, CrossValidates) {
  const Ended all = explain({"--cross-validate"});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("3 problems, each chosen for without its measurements"));
  EXPECT_THAT(all.out, Not(HasSubstr("the default, which needs no measurements")));
  const Ended json = explain({"--cross-validate", "--json"});
  const auto problems = json.json()["cross_validation"][0]["problems"];
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_TRUE(problems[0].at("default_regret").is_null());  // it was not measured
}

TEST_F(CliExplain, NamesWhatIsNeverDispatched) {
  {
    Store store = open();
    add(store, "1024", "128", "normal", Outcome::wrong);
  }
  const Ended at = explain({"--problem", "rows=4096,hidden=4096,T=bf16"});
  ASSERT_EQ(at.exit_code, 0) << at.err;
  EXPECT_THAT(at.out, HasSubstr(std::string("never     ") + kFast));
  EXPECT_THAT(at.out, Not(HasSubstr(std::string("variant   ") + kFast)));
}

TEST_F(CliExplain, RefusesADatabaseWithWhatTheOperatorDoesNotOffer) {
  {
    Store store = open();
    add(store, "1024", "257", "normal");
  }
  const Ended value = explain({"--problem", "rows=4096,hidden=4096,T=bf16"});
  EXPECT_EQ(value.exit_code, 5);
  EXPECT_THAT(value.err, HasSubstr(path_));
  EXPECT_THAT(value.err, HasSubstr("257"));
}

TEST_F(CliExplain, RefusesCppInAValue) {
  {
    Store store = open();
    add(store, "1024", "256>();__trap();//", "normal");
  }
  const Ended code = explain({"--problem", "rows=4096,hidden=4096,T=bf16"});
  EXPECT_EQ(code.exit_code, 5);
  EXPECT_THAT(code.err, HasSubstr("__trap"));
}

TEST_F(CliExplain, SaysWhatItNeeds) {
  EXPECT_EQ(explain({}).exit_code, 2);
  const Ended other = mgtune_.run({"explain", "--kernel", "rmsnorm.forward", "--gpu", "L4", "--db",
                                   path_, "--problem", "rows=1,hidden=8,T=bf16"});
  EXPECT_EQ(other.exit_code, 2) << "as mgtune show";
  EXPECT_THAT(other.err, HasSubstr("NVIDIA H200"));
}

}  // namespace
}  // namespace mgtune
