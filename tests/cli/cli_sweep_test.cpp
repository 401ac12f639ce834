// Whole sweeps on the cpu device: what is recorded, what is picked, what a second one does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "device/device_lock.h"
#include "store/store.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using SweptRow = std::pair<std::string, std::string>;  // problem, variant

std::vector<OutcomeView> rows_of(const std::string& database) {
  Result<Store> store = Store::open(database, Store::Mode::read_only);
  EXPECT_TRUE(store.ok()) << store.status().message();
  if (!store.ok()) return {};
  Result<std::vector<OutcomeView>> rows = store->outcomes();
  EXPECT_TRUE(rows.ok()) << rows.status().message();
  return rows.ok() ? *std::move(rows) : std::vector<OutcomeView>();
}

std::set<SweptRow> variants_of(const std::string& database) {
  std::set<SweptRow> variants;
  for (const OutcomeView& row : rows_of(database)) {
    EXPECT_TRUE(variants.emplace(row.problem, row.variant).second) << row.variant << " twice";
  }
  return variants;
}

class CliSweepTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cache_ = new TestFolder; }
  static void TearDownTestSuite() {
    delete cache_;
    cache_ = nullptr;
  }

  void SetUp() override {
    family_ = mgtune_.folder().file("vector_add");
    std::filesystem::copy(source_path("tests/families/vector_add"), family_);
  }

  MgtuneProgram::Words sweep(const MgtuneProgram::Words& more = {}) const {
    MgtuneProgram::Words words = {"sweep", "--gpu", "cpu", "--kernel", family_};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  static TestFolder* cache_;  // one for all tests here: a build costs a second
  MgtuneProgram mgtune_{cache_->path()};
  std::string family_;  // outside the repository
};

TestFolder* CliSweepTest::cache_ = nullptr;

// Programs have functions for the families of mgtune already. The repository has folders of the
// same names, and a sweep that names a model has no word for a kernel.
TEST_F(CliSweepTest, AFamilyOfMgtuneNeedsNoHeaderWhereverASweepRuns) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(source_path(""));
  const Ended shipped = mgtune_.run({"sweep", "embedding.forward", "--gpu", "cpu", "--budget", "1",
                                     "--problem", "rows=1,columns=32,vocabulary=96,T=f32"});
  std::filesystem::current_path(before);
  EXPECT_EQ(shipped.exit_code, 0) << shipped;
  EXPECT_THAT(shipped.err, ::testing::Not(HasSubstr("next: ")));
}

TEST_F(CliSweepTest, FailuresAreRowsAndNeverPicked) {
  const Ended ended = mgtune_.run(sweep());
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("cpu emulation"), HasSubstr("9 variants"),
                               HasSubstr("6 variants failed: mgtune show failures")));
  EXPECT_THAT(ended.out, AllOf(HasSubstr("MODE=good"), HasSubstr("emulation")));

  std::map<Outcome, int> counts;
  for (const OutcomeView& row : rows_of(mgtune_.database())) {
    ++counts[row.outcome];
    if (row.outcome == Outcome::ok) {
      EXPECT_THAT(row.variant, HasSubstr("MODE=good"));
      ASSERT_TRUE(row.measurement.has_value());
      EXPECT_GT(row.measurement->median_ns, 0);
      EXPECT_EQ(row.measurement->method, "emulation");
      EXPECT_TRUE(row.gpu.emulation);
    } else if (row.outcome == Outcome::wrong) {
      EXPECT_THAT(row.variant, HasSubstr("MODE=wrong"));
      EXPECT_FALSE(row.message.empty());
      EXPECT_FALSE(row.measurement.has_value());
    } else if (row.outcome == Outcome::compile_failed) {
      EXPECT_THAT(row.variant, HasSubstr("MODE=broken"));
      EXPECT_THAT(row.message, HasSubstr("this variant is broken on purpose"));
    }
  }
  EXPECT_EQ(counts[Outcome::wrong], 3);
  EXPECT_EQ(counts[Outcome::compile_failed], 3);
  EXPECT_EQ(counts[Outcome::ok] + counts[Outcome::raced_out], 3);

  const nlohmann::json failures = mgtune_.run({"show", "failures", "--json"}).json()["failures"];
  EXPECT_EQ(failures.size(), 6U);
  EXPECT_EQ(mgtune_.run({"show", "variants", "--json"}).json()["variants"].size(), 9U);
  const nlohmann::json best = mgtune_.run({"show", "best", "--json"}).json()["picks"];
  ASSERT_EQ(best.size(), 1U);
  EXPECT_THAT(best.dump(), HasSubstr("MODE=good"));
  EXPECT_THAT(mgtune_.run({"show", "best", "--kernel", "rmsnorm"}).err,
              HasSubstr("no results of 'rmsnorm' in this store; it has those of vector_add.add"));
}

TEST_F(CliSweepTest, WhereNarrowsTheSpaceAndKeepsABetterPick) {
  const nlohmann::json narrow =
      mgtune_.run(sweep({"--where", "THREADS <= 64", "--where", "MODE == good", "--json"})).json();
  EXPECT_EQ(narrow["sweeps"][0]["evaluated"], 2);
  for (const OutcomeView& row : rows_of(mgtune_.database())) {
    EXPECT_THAT(row.variant, AllOf(HasSubstr("MODE=good"), ::testing::Not(HasSubstr("128"))));
  }
  EXPECT_THAT(mgtune_.run({"show", "environment"}).out, HasSubstr("--where 'THREADS <= 64'"));
  const nlohmann::json all = mgtune_.run(sweep({"--where", "MODE == good", "--json"})).json();
  EXPECT_EQ(all["sweeps"][0]["reused"], 2);
  EXPECT_EQ(all["sweeps"][0]["evaluated"], 1);
  const nlohmann::json again =
      mgtune_.run(sweep({"--where", "THREADS == 32 && MODE == good", "--json"})).json();
  EXPECT_EQ(again["sweeps"][0]["evaluated"], 0);
  // The default is the one of the whole space, so the final has the same entries and is not held
  // again.
  const nlohmann::json& pick = again["sweeps"][0]["picks"][0];
  EXPECT_EQ(pick["default_variant"], "flat THREADS=64 MODE=good");
  EXPECT_EQ(pick["variant"], all["sweeps"][0]["picks"][0]["variant"]);
  const Ended none = mgtune_.run(sweep({"--where", "THREADS > 128"}));
  EXPECT_EQ(none.exit_code, 4) << none;
  EXPECT_THAT(none.err, HasSubstr("--where THREADS > 128"));
}

TEST_F(CliSweepTest, ASearchBeginsWithTheVariantsOfAFile) {
  const std::string file = mgtune_.folder().file("first.txt");
  const auto with_list = [&](const std::string& list, const MgtuneProgram::Words& more = {}) {
    std::ofstream(file) << list;
    MgtuneProgram::Words words = sweep({"--try-first", file});
    words.insert(words.end(), more.begin(), more.end());
    return mgtune_.run(words);
  };
  const Ended ended =
      with_list("# fast elsewhere\n\nflat THREADS=128 MODE=good\n  flat THREADS=32 MODE=good  \n",
                {"--strategy", "adaptive", "--budget", "3"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  std::set<std::string> variants;
  for (const auto& [problem, variant] : variants_of(mgtune_.database())) variants.insert(variant);
  EXPECT_THAT(variants,
              ::testing::ElementsAre("flat THREADS=128 MODE=good", "flat THREADS=32 MODE=good",
                                     "flat THREADS=64 MODE=good"));
  const Ended unknown = with_list("flat THREADS=32 MODE=good\nflat THREADS=48 MODE=good\n");
  EXPECT_EQ(unknown.exit_code, 2) << unknown;
  EXPECT_THAT(unknown.err, HasSubstr("first.txt, line 2: "));
  EXPECT_THAT(with_list("# nothing\n").err, HasSubstr("first.txt has no variant"));
  const Ended random = with_list("flat THREADS=32 MODE=good\n", {"--strategy", "random"});
  EXPECT_EQ(random.exit_code, 2) << random;
  EXPECT_THAT(random.err,
              HasSubstr("--try-first goes with the adaptive strategy, not with random"));
  EXPECT_THAT(with_list("flat THREADS=32 MODE=good\n", {"--finals"}).err,
              HasSubstr("--finals searches nothing, so it has no --try-first"));
  const Ended missing = mgtune_.run(sweep({"--try-first", mgtune_.folder().file("nowhere.txt")}));
  EXPECT_EQ(missing.exit_code, 5) << missing;
}

TEST_F(CliSweepTest, TheSecondTimeThereIsNothingToDo) {
  const nlohmann::json first = mgtune_.run(sweep({"--json"})).json();
  EXPECT_EQ(first["sweeps"][0]["evaluated"], 9);
  EXPECT_EQ(first["sweeps"][0]["failed"], 6);
  EXPECT_EQ(first["sweeps"][0]["picks"].size(), 1U);

  const Ended second = mgtune_.run(sweep());
  EXPECT_EQ(second.exit_code, 3) << second;
  EXPECT_THAT(second.err, HasSubstr("nothing to do: all 9 variants of 1 problem are known; "
                                    "compiled 0, measured 0"));
  EXPECT_THAT(second.out, HasSubstr("MODE=good"));
  Result<Store> store = Store::open(mgtune_.database(), Store::Mode::read_only);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(store->sweeps()->size(), 1U);
}

TEST_F(CliSweepTest, TheFastestAndTheDefaultMeetInAFinal) {
  ASSERT_EQ(mgtune_.run(sweep()).exit_code, 3);
  const auto finals = [this] {
    return Store::open(mgtune_.database(), Store::Mode::read_only)->finals().value();
  };
  const std::vector<FinalView> first = finals();
  // Emulation's times are what they are: where racing left one variant there is nothing to decide.
  const std::vector<OutcomeView> rows = rows_of(mgtune_.database());
  const auto passed = std::count_if(
      rows.begin(), rows.end(), [](const OutcomeView& row) { return row.outcome == Outcome::ok; });
  ASSERT_EQ(first.size(), passed > 1 ? 1U : 0U);
  if (first.empty()) return;
  const FinalRecord& final = first[0].final;
  EXPECT_EQ(final.method, "emulation");
  EXPECT_GT(final.noise_floor, 0);
  ASSERT_GE(final.finalists.size(), 2U);
  const std::size_t rounds = final.finalists[0].samples_ns.size();
  EXPECT_GE(rounds, 3U);
  for (const FinalistRecord& finalist : final.finalists) {
    EXPECT_EQ(finalist.samples_ns.size(), rounds);
    EXPECT_LE(finalist.ratio_low, finalist.ratio);
    EXPECT_GE(finalist.ratio_high, finalist.ratio);
  }
  EXPECT_TRUE(final.finalists[0].tied) << "with itself";
  // The pick is one of them, with the time it had in the final.
  const std::vector<TunedView> tuned =
      Store::open(mgtune_.database(), Store::Mode::read_only)->tuned().value();
  ASSERT_EQ(tuned.size(), 1U);
  const auto pick = std::find_if(
      final.finalists.begin(), final.finalists.end(),
      [&](const FinalistRecord& finalist) { return finalist.variant == tuned[0].tuned.variant; });
  ASSERT_NE(pick, final.finalists.end());
  EXPECT_EQ(pick->median_ns, tuned[0].tuned.median_ns);
  EXPECT_TRUE(pick->tied);

  ASSERT_EQ(mgtune_.run(sweep()).exit_code, 3);
  EXPECT_EQ(finals()[0].final.sweep, final.sweep) << "the same variants are not timed again";
}

TEST_F(CliSweepTest, AnEditThatLeavesTheBinaryAsItIsVoidsNothing) {
  mgtune_.run(sweep());
  std::ofstream(family_ + "/add.cu", std::ios::app) << "// One more comment.\n";
  const nlohmann::json json = mgtune_.run(sweep({"--json"})).json()["sweeps"][0];
  EXPECT_EQ(json["compiled"], 9);
  EXPECT_EQ(json["evaluated"], 3);  // those that do not compile did not compile again
  EXPECT_EQ(json["reused"], 6);
}

TEST_F(CliSweepTest, APickThatTurnsOutWrongIsWithdrawn) {
  ASSERT_EQ(mgtune_.run(sweep({"--json"})).json()["sweeps"][0]["picks"].size(), 1U);
  const std::string path = family_ + "/reference.cu";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::string source = text.str();
  source.replace(source.rfind(" + static_cast<double>(y[i])"), 2, " -");
  std::ofstream(path) << source;
  const Ended second = mgtune_.run(sweep());
  EXPECT_EQ(second.exit_code, 3) << second;
  EXPECT_TRUE(mgtune_.run({"show", "best", "--json"}).json()["picks"].empty());
}

TEST_F(CliSweepTest, AReportNeverReplacesADatabase) {
  ASSERT_EQ(mgtune_.run(sweep({"--budget", "1"})).exit_code, 0);
  const Ended report = mgtune_.run({"report", "-o", mgtune_.database()});
  EXPECT_EQ(report.exit_code, 2) << report;
  EXPECT_THAT(report.err, HasSubstr("is a database; the report would replace it"));
  EXPECT_FALSE(rows_of(mgtune_.database()).empty());
}

TEST_F(CliSweepTest, ALongerBudgetGoesOnWhereTheShorterEnded) {
  const nlohmann::json first = mgtune_.run(sweep({"--budget", "2", "--json"})).json()["sweeps"][0];
  EXPECT_EQ(first["evaluated"], 2);
  const nlohmann::json second =
      mgtune_.run(sweep({"--budget", "5", "--strategy", "random", "--json"})).json()["sweeps"][0];
  EXPECT_LE(second["evaluated"], 4);
  EXPECT_GE(second["reused"], 1);
  EXPECT_EQ(second["evaluated"].get<int>() + second["reused"].get<int>(), 5);
}

TEST_F(CliSweepTest, EveryDTypeOfRmsnormIsCheckedAndTimed) {
  const Ended ended = mgtune_.run({"sweep", "--gpu", "cpu", "--kernel", "rmsnorm.forward",
                                   "--budget", "2", "--problem", "rows=3,hidden=64"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  std::set<std::string> problems;
  for (const OutcomeView& row : rows_of(mgtune_.database())) {
    ASSERT_TRUE(row.check.has_value());
    EXPECT_EQ(row.check->outcome, Outcome::ok) << row.message;
    problems.insert(row.problem);
  }
  EXPECT_THAT(problems, ::testing::ElementsAre("rows=3 hidden=64 T=bf16", "rows=3 hidden=64 T=f16",
                                               "rows=3 hidden=64 T=f32"));
}

TEST_F(CliSweepTest, ATargetIsAShareAndNeedsAStrategyThatCanTell) {
  for (const char* target : {"1", "0", "98", "much"}) {
    const Ended ended = mgtune_.run(sweep({"--target", target}));
    EXPECT_EQ(ended.exit_code, 2) << ended;
    EXPECT_THAT(ended.err, HasSubstr("--target: expected a number between 0 and 1"));
  }
  const Ended exhaustive = mgtune_.run(sweep({"--target", "0.98", "--strategy", "exhaustive"}));
  EXPECT_EQ(exhaustive.exit_code, 2) << exhaustive;
  EXPECT_THAT(exhaustive.err, HasSubstr("use adaptive or random"));

  const Ended random =
      mgtune_.run(sweep({"--target", "0.5", "--strategy", "random", "--budget", "9", "--json"}));
  EXPECT_THAT(random.err,
              HasSubstr("or a problem earlier when a further gain of 50 % is unlikely"));
  const nlohmann::json swept = random.json()["sweeps"][0];
  for (const nlohmann::json& settled : swept["settled"]) {
    EXPECT_EQ(settled["problem"], "vector_add.add n=1000 T=f32");
    EXPECT_THAT(random.err, HasSubstr("a further gain of 50 % is unlikely"));
  }
}

TEST_F(CliSweepTest, SaysWhereItStarts) {
  ASSERT_EQ(mgtune_.run(sweep({"--strategy", "adaptive"})).exit_code, 3);
  const Ended next = mgtune_.run(sweep({"--strategy", "adaptive", "--problem", "n=1500"}));
  EXPECT_THAT(next.err, HasSubstr("starts from the fastest variants of n=1000 T=f32 on cpu"));
  const Ended several =
      mgtune_.run(sweep({"--strategy", "adaptive", "--problem", "n=1500", "--problem", "n=1600"}));
  EXPECT_THAT(several.err,
              HasSubstr("each further problem from the nearest that is known by then"));
}

TEST_F(CliSweepTest, OneSweepAtATimeOnADevice) {
  const Result<DeviceLock> lock = DeviceLock::acquire(mgtune_.data_folder(), "cpu");
  ASSERT_TRUE(lock.ok());
  const Ended ended = mgtune_.run(sweep());
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_THAT(ended.err, HasSubstr("(process " + std::to_string(getpid()) + ")"));
}

TEST_F(CliSweepTest, KilledAnywhereItGoesOnAndRepeatsNothing) {
  const MgtuneProgram::Words
      words = {"sweep", "--gpu",    "cpu", "--kernel",  "rmsnorm.forward",  "--dtype",
               "f32",   "--budget", "6",   "--problem", "rows=3,hidden=64", "--strategy",
               "random"};  // which no times steer
  MgtuneProgram whole(cache_->path());
  EXPECT_EQ(whole.run(words).exit_code, 0);
  const std::set<SweptRow> expected = variants_of(whole.database());
  ASSERT_EQ(expected.size(), 6U);

  std::size_t recorded = 0;
  for (std::size_t kill_at = 1; kill_at < expected.size(); kill_at += 2) {
    mgtune_.start(words);
    mgtune_.wait_until([&] {
      const Result<Store> store = Store::open(mgtune_.database(), Store::Mode::read_only);
      return store.ok() && variants_of(mgtune_.database()).size() >= kill_at;
    });
    mgtune_.finish(SIGKILL);
    const std::size_t now = variants_of(mgtune_.database()).size();
    EXPECT_GE(now, recorded);
    recorded = now;
  }
  const Ended resumed = mgtune_.run(words);
  EXPECT_EQ(resumed.exit_code, 0) << resumed;
  EXPECT_EQ(variants_of(mgtune_.database()), expected);

  Result<Store> store = Store::open(mgtune_.database(), Store::Mode::read_only);
  ASSERT_TRUE(store.ok());
  std::set<SweptRow> seen;
  for (const SweepView& sweep : *store->sweeps()) {
    for (const OutcomeView& row : *store->outcomes(sweep.sweep.id)) {
      EXPECT_TRUE(seen.emplace(row.problem, row.variant).second) << row.variant << " was repeated";
    }
  }
  EXPECT_EQ(store->tuned()->size(), 1U);
}

TEST_F(CliSweepTest, ASignalStopsItSoonAndLeavesAGoodDatabase) {
  const MgtuneProgram::Words words = {
      "sweep", "--gpu",    "cpu", "--kernel",  "rmsnorm.forward", "--dtype",
      "bf16",  "--budget", "200", "--problem", "rows=3,hidden=96"};
  for (const auto& [signal, exit_code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143)}) {
    mgtune_.start(words);
    const std::size_t before =
        std::filesystem::exists(mgtune_.database()) ? variants_of(mgtune_.database()).size() : 0;
    ASSERT_TRUE(mgtune_.wait_until([&] {
      const Result<Store> store = Store::open(mgtune_.database(), Store::Mode::read_only);
      return store.ok() && variants_of(mgtune_.database()).size() > before;
    }));
    const auto start = std::chrono::steady_clock::now();
    const Ended ended = mgtune_.finish(signal);
    // It gives its workers two seconds. The rest is for a machine that is busy with other tests.
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
    EXPECT_EQ(ended.exit_code, exit_code) << ended;
    EXPECT_FALSE(ended.by_signal);
    EXPECT_THAT(ended.err, HasSubstr("the same command goes on from here"));
    for (const OutcomeView& row : rows_of(mgtune_.database())) {
      EXPECT_THAT(row.outcome, ::testing::AnyOf(Outcome::ok, Outcome::raced_out)) << row.message;
    }
  }
}

}  // namespace
}  // namespace mgtune
