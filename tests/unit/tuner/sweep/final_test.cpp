// Finals with a worker that makes its times up: what is recorded, what is reused, what happens
// where one cannot be held, and the counting of finalists.

#include "final/final.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "family/catalog.h"
#include "system/file_system.h"
#include "tests/helpers/store_fixture.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kDefault[] = "row THREADS_PER_ROW=32 ROWS_PER_BLOCK=4 VEC=1 KEEP=registers";
constexpr char kFast[] = "row THREADS_PER_ROW=64 ROWS_PER_BLOCK=1 VEC=1 KEEP=registers";
constexpr char kFaster[] = "row THREADS_PER_ROW=64 ROWS_PER_BLOCK=2 VEC=1 KEEP=registers";
constexpr char kSameAsFaster[] = "row THREADS_PER_ROW=64 ROWS_PER_BLOCK=4 VEC=1 KEEP=registers";

class FinalTest : public StoreTest {
 protected:
  FinalTest() : catalog_(FileSystem::real()) {
    problem_ = bind_problem(*catalog_.find_operator("rmsnorm.forward").value(),
                            {{"rows", "4"}, {"hidden", "64"}, {"T", "f32"}})
                   .value();
    device_.kind = DeviceKind::cuda;
    device_.id = "GPU-1";
    device_.name = "NVIDIA H200";
    device_.arch = "sm_90";
    options_.method = {"rotating", ""};
    options_.program = fake_worker_path();
    view_.op = "rmsnorm.forward";
    view_.problem = problem_.text();
    view_.tuned.default_variant = kDefault;
    view_.tuned.method = "rotating";
  }

  // What run_sweep() makes.
  SweepShared& shared() {
    if (!shared_.has_value()) {
      const std::int64_t gpu_id = *store_.gpu_id(kH200Record);
      view_.tuned.gpu = gpu_id;
      view_.tuned.problem = *store_.problem_id(view_.op, view_.problem, 1000, 10);
      const BuildCache cache(FileSystem::real(), "");
      shared_.emplace(SweepShared{
          .options = options_,
          .device = device_,
          .store = store_,
          .gpu_id = gpu_id,
          .builder = Builder(cache),
          .cache = cache,
          .pool = CompilePool({options_.program, "worker", "compile"}, 1, std::chrono::seconds(5)),
          .workers =
              MeasurePool(options_.program, {device_}, options_.method, std::chrono::seconds(5)),
          .journal = SweepJournal(store_, options_, device_, gpu_id),
          .should_stop = [this] { return stop_; },
      });
    }
    return *shared_;
  }

  void count_as_well() {
    shared().counter =
        WorkerProcess({options_.program, "worker", "count", device_.id}, std::chrono::seconds(5));
  }

  std::optional<Pick> hold(const std::vector<OutcomeRecord>& contenders) {
    SweepShared& with = shared();
    Final final(with, view_, contenders, false);
    Status status = final.begin();
    while (status.ok() && final.awaits()) {
      const Result<std::optional<WorkReply>> reply = wait_for_next(with.workers);
      status = reply.ok() ? final.take(**reply) : reply.status();
    }
    EXPECT_TRUE(status.ok()) << status.message();
    FinalResult result = final.take_result();
    expelled_ = result.expelled;
    return result.pick;
  }

  static OutcomeRecord contender(const std::string& variant, double median_ns,
                                 const std::string& launch_hash = "launch") {
    OutcomeRecord contender;
    contender.variant = variant;
    contender.build.sha256 = "sha-" + variant;
    contender.build.registers = 32;
    contender.key.launch_hash = launch_hash;
    contender.measurement.emplace();
    contender.measurement->median_ns = median_ns;
    contender.measurement->q1_ns = median_ns;
    contender.measurement->q3_ns = median_ns;
    return contender;
  }
  static std::vector<OutcomeRecord> three() {
    return {contender(kDefault, 100), contender(kFast, 95), contender(kFaster, 96)};
  }

  Catalog catalog_;
  Problem problem_;
  DeviceInfo device_;
  SweepOptions options_;
  TunedView view_;
  Store store_ = open();
  std::optional<SweepShared> shared_;
  bool stop_ = false;
  std::vector<OutcomeRecord> expelled_;  // from the last one
};

TEST_F(FinalTest, RoundsDecideNotSingleMeasurements) {
  const std::optional<Pick> pick = hold(three());
  ASSERT_TRUE(pick.has_value());
  EXPECT_EQ(pick->winner.variant, kFaster) << "third in the request, so 800 ns here";
  EXPECT_EQ(pick->winner.measurement->median_ns, 800);
  EXPECT_EQ(pick->default_median_ns, 1000);
  const std::vector<FinalView> finals = *store_.finals();
  ASSERT_EQ(finals.size(), 1U);
  const FinalRecord& final = finals[0].final;
  EXPECT_EQ(final.noise_floor, 0);
  EXPECT_EQ(final.note, "problem too small to rotate");
  EXPECT_EQ(final.not_counted, "");
  ASSERT_EQ(final.finalists.size(), 3U);
  EXPECT_EQ(final.finalists[0].variant, kFaster);
  EXPECT_EQ(final.finalists[0].launch_hash, "launch");
  EXPECT_EQ(final.finalists[0].samples_ns, std::vector<double>(10, 800));
  EXPECT_EQ(final.finalists[2].ratio, 1);
}

TEST_F(FinalTest, VariantsOfIntenseArithmeticAreTimedAsInPrograms) {
  view_.bytes = 1000;
  view_.flops = 100'000;
  hold({contender(kDefault, 100), contender(kFast, 95)});
  EXPECT_EQ(store_.finals()->front().final.note, "sustained") << "the request asked for it";
  view_.flops = 1000;
  hold({contender(kDefault, 100), contender(kFaster, 95)});
  EXPECT_EQ(store_.finals()->front().final.note, "problem too small to rotate");
}

TEST_F(FinalTest, TheSameEntriesAreNotTimedAgain) {
  hold(three());
  const std::int64_t requests = shared().next_request;
  const std::optional<Pick> again = hold(three());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->winner.variant, kFaster);
  EXPECT_EQ(shared().next_request, requests);
}

TEST_F(FinalTest, OtherEntriesAreTimed) {
  hold(three());
  const std::int64_t requests = shared().next_request;
  hold({contender(kDefault, 100), contender(kFast, 95)});
  EXPECT_EQ(shared().next_request, requests + 1);
  // The same binary with another grid.
  hold({contender(kDefault, 100), contender(kFast, 95, "other launch")});
  EXPECT_EQ(shared().next_request, requests + 2);
  EXPECT_EQ(store_.finals()->front().final.finalists[0].launch_hash, "other launch");
}

TEST_F(FinalTest, OneOutcomeRecordHasNothingToDecide) {
  EXPECT_FALSE(hold({contender(kDefault, 100)}).has_value());
  EXPECT_FALSE(hold({}).has_value());
  EXPECT_TRUE(store_.finals()->empty());
  EXPECT_THAT(shared().summary.skipped, IsEmpty());
}

TEST_F(FinalTest, WhereItCannotBeHeldTheReasonIsInTheSummary) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"crash", "Segmentation fault"},
      {"failure", "no launch"},
      {"short", "the worker left samples out"}};
  for (const auto& [fault, reason] : cases) {
    device_.id = "GPU-1 final: " + fault;
    shared_.reset();
    EXPECT_FALSE(hold(three()).has_value()) << fault;
    EXPECT_THAT(shared().summary.skipped,
                ElementsAre(testing::AllOf(HasSubstr("the final of rmsnorm.forward rows=4"),
                                           HasSubstr(reason))))
        << fault;
    EXPECT_TRUE(store_.finals()->empty()) << fault;
  }
}

TEST_F(FinalTest, WhoCrashesItIsExpelledAndTheOthersDecide) {
  device_.id = "GPU-1 final: crash at ROWS_PER_BLOCK=2";
  const std::optional<Pick> pick = hold(three());
  ASSERT_TRUE(pick.has_value());
  EXPECT_EQ(pick->winner.variant, kFast);
  ASSERT_EQ(expelled_.size(), 1U);
  EXPECT_EQ(expelled_[0].variant, kFaster);
  EXPECT_EQ(expelled_[0].outcome, Outcome::crashed);
  EXPECT_THAT(expelled_[0].message, testing::StartsWith("in the final, "));
  EXPECT_THAT(expelled_[0].message, HasSubstr("Segmentation fault"));
  EXPECT_EQ(store_.finals()->front().final.finalists.size(), 2U);
  EXPECT_THAT(shared().summary.skipped, IsEmpty());
}

TEST_F(FinalTest, ThoseWithTheCodeOfACulpritGoWithIt) {
  device_.id = "GPU-1 final: crash at ROWS_PER_BLOCK=2";
  std::vector<OutcomeRecord> contenders = three();
  contenders.push_back(contender(kSameAsFaster, 96));
  contenders.back().measurement->note = "as " + std::string(kFaster) + ", which has the same code";
  const std::optional<Pick> pick = hold(contenders);
  ASSERT_TRUE(pick.has_value());
  EXPECT_EQ(pick->winner.variant, kFast);
  ASSERT_EQ(expelled_.size(), 2U);
  EXPECT_EQ(expelled_[0].variant, kFaster);
  EXPECT_EQ(expelled_[1].variant, kSameAsFaster);
  EXPECT_EQ(expelled_[1].outcome, Outcome::crashed);
}

TEST_F(FinalTest, WhoCannotBeLaunchedInItIsExpelled) {
  device_.id = "GPU-1 final: failure at ROWS_PER_BLOCK=2";
  EXPECT_EQ(hold(three())->winner.variant, kFast);
  ASSERT_EQ(expelled_.size(), 1U);
  EXPECT_EQ(expelled_[0].outcome, Outcome::launch_failed);
  EXPECT_THAT(expelled_[0].message, HasSubstr("no launch"));
}

TEST_F(FinalTest, WhereTheOthersAreOneThereIsNothingToDecide) {
  device_.id = "GPU-1 final: crash at ROWS_PER_BLOCK=2";
  EXPECT_FALSE(hold({contender(kDefault, 100), contender(kFaster, 96)}).has_value());
  ASSERT_EQ(expelled_.size(), 1U);
  EXPECT_EQ(expelled_[0].variant, kFaster);
}

TEST_F(FinalTest, WhatNobodyDoesAloneAndWhatAllDoIsNobodysFault) {
  for (const std::string fault : {"crash in company", "crash"}) {
    device_.id = "GPU-1 final: " + fault;
    shared_.reset();
    EXPECT_FALSE(hold(three()).has_value()) << fault;
    EXPECT_THAT(expelled_, IsEmpty()) << fault;
    EXPECT_EQ(shared().summary.skipped.size(), 1U) << fault;
  }
}

TEST_F(FinalTest, AStoppedSweepHoldsNone) {
  stop_ = true;
  EXPECT_FALSE(hold(three()).has_value());
  EXPECT_THAT(shared().summary.skipped, IsEmpty());
  EXPECT_EQ(shared().next_request, 1);
}

TEST_F(FinalTest, FinalistsAreCountedOnce) {
  count_as_well();
  hold(three());
  const std::vector<CounterView> counters = *store_.counters(std::string());
  ASSERT_EQ(counters.size(), 3U);
  EXPECT_EQ(counters[0].counters[0].name, "dram_read_bytes");
  EXPECT_EQ(counters[0].launch_hash, "launch");
  EXPECT_EQ(store_.finals()->front().final.not_counted, "");
  const std::int64_t sweep = counters[0].sweep;
  hold(three());
  EXPECT_EQ(store_.counters(std::string())->front().sweep, sweep);
}

TEST_F(FinalTest, ALoneOutcomeRecordIsCountedToo) {
  count_as_well();
  EXPECT_FALSE(hold({contender(kDefault, 100)}).has_value());
  EXPECT_EQ(store_.counters(std::string())->size(), 1U);
}

TEST_F(FinalTest, ARefusalIsKeptWithTheFinalAndEndsTheAsking) {
  count_as_well();
  const std::vector<OutcomeRecord> refused = {contender(kDefault, 100), contender("refused", 95)};
  ASSERT_TRUE(hold(refused).has_value());
  EXPECT_THAT(store_.finals()->front().final.not_counted,
              HasSubstr("not counted: ") /* the reason follows */);
  EXPECT_THAT(store_.finals()->front().final.not_counted,
              HasSubstr("only administrators may count"));
  EXPECT_EQ(shared().counters_refused, 1);
  hold(refused);
  EXPECT_EQ(shared().counters_refused, 2);
  hold(refused);
  EXPECT_THAT(store_.finals()->front().final.not_counted,
              HasSubstr("refused for the problems before"));
  EXPECT_EQ(store_.counters(std::string())->size(), 1U) << "the default was counted";
}

TEST_F(FinalTest, OnceCountedTheOldReasonGoes) {
  hold(three());
  FinalRecord final = store_.finals()->front().final;
  final.not_counted = "not counted: only administrators may count";
  ASSERT_TRUE(store_.record_final(final).ok());
  count_as_well();
  hold(three());
  EXPECT_EQ(store_.finals()->front().final.not_counted, "");
}

// The request has the finalists fastest first, and the fake worker gives the second the least.
TEST_F(FinalTest, EnergyChoosesAmongTheFinalists) {
  options_.objective = Objective::energy;
  const std::optional<Pick> pick = hold(three());
  ASSERT_TRUE(pick.has_value());
  EXPECT_EQ(pick->winner.variant, kFast) << "900 ns; the fastest takes 800";
  EXPECT_EQ(pick->winner.measurement->median_ns, 900);
  EXPECT_FALSE(pick->tie);
  const FinalRecord final = store_.finals()->front().final;
  EXPECT_DOUBLE_EQ(final.finalists[0].energy_j, 0.12);
  EXPECT_DOUBLE_EQ(final.finalists[1].energy_j, 0.1);
  EXPECT_DOUBLE_EQ(final.finalists[2].energy_error_j, 0.001);
}

TEST_F(FinalTest, EnergiesThatAreNotApartLeaveTheDefault) {
  device_.id = "GPU-1 energy: noisy";
  options_.objective = Objective::energy;
  const std::optional<Pick> pick = hold(three());
  ASSERT_TRUE(pick.has_value());
  EXPECT_EQ(pick->winner.variant, kDefault);
  EXPECT_EQ(pick->winner.measurement->median_ns, 1000) << "its own time, not that of the fastest";
  EXPECT_TRUE(pick->tie);
}

TEST_F(FinalTest, EnergiesAreMeasuredForAFinalThatWasHeldBefore) {
  hold(three());
  EXPECT_EQ(store_.finals()->front().final.finalists[0].energy_j, 0);
  options_.objective = Objective::energy;
  hold(three());
  EXPECT_DOUBLE_EQ(store_.finals()->front().final.finalists[0].energy_j, 0.12);
}

TEST_F(FinalTest, WithoutEnergiesThePickIsByTimeAndTheSummarySaysWhy) {
  options_.objective = Objective::energy;
  for (const auto& [order, reason] :
       {std::pair("refused", "no energy counter here"), std::pair("short", "left energies out")}) {
    shared_.reset();
    device_.id = std::string("GPU-1 energy: ") + order;
    const std::optional<Pick> pick = hold(three());
    ASSERT_TRUE(pick.has_value());
    EXPECT_EQ(pick->winner.variant, kFaster);
    EXPECT_THAT(
        shared_->summary.skipped,
        testing::Contains(testing::AllOf(HasSubstr("so the pick is by time"), HasSubstr(reason))));
  }
}

}  // namespace
}  // namespace mgtune
