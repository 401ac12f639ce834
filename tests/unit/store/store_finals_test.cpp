// Finals in a store with every sample, and the counters of what they timed.

#include <gtest/gtest.h>

#include <vector>

#include "database/database.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

FinalRecord final_of(const OutcomeRecord& record) {
  FinalRecord final;
  final.sweep = record.sweep;
  final.gpu = record.key.gpu;
  final.problem = record.key.problem;
  final.method = "rotating";
  final.noise_floor = 0.004;
  final.note = "problem too small to rotate";
  final.not_counted = "no privilege";
  final.finalists = {{"row VEC=8",
                      "sha-1",
                      "launch-1",
                      18.25,
                      18,
                      18.5,
                      0.9,
                      0.89,
                      0.91,
                      true,
                      {18, 18.5, 0.1 + 0.2}},
                     {"row VEC=1", "sha-2", "launch-2", 20, 19, 21, 1, 1, 1, false, {}}};
  final.clocks = {1980, 3201, 300.5, 50, "sw_power_cap", 2};
  return final;
}

TEST_F(StoreTest, AFinalComesBackWithEverySample) {
  Store store = open();
  const OutcomeRecord record = outcome_in(store);
  const FinalRecord final = final_of(record);
  ASSERT_TRUE(store.record_final(final).ok());
  ASSERT_TRUE(store.record_final(final).ok()) << "again: it replaces the first";
  const std::vector<FinalView> views = *store.finals("rmsnorm.forward");
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].op, "rmsnorm.forward");
  EXPECT_EQ(views[0].problem, "rows=4 hidden=64 T=f32");
  EXPECT_EQ(gpu_text(views[0].gpu), gpu_text(kCpuRecord));
  EXPECT_EQ(views[0].final.noise_floor, 0.004);
  EXPECT_EQ(views[0].final.note, "problem too small to rotate");
  EXPECT_EQ(views[0].final.not_counted, "no privilege");
  EXPECT_EQ(views[0].final.clocks, final.clocks);
  ASSERT_EQ(views[0].final.finalists.size(), 2u);
  const FinalistRecord& first = views[0].final.finalists[0];
  EXPECT_EQ(first.variant, "row VEC=8");
  EXPECT_EQ(first.build_sha256, "sha-1");
  EXPECT_EQ(first.launch_hash, "launch-1");
  EXPECT_EQ(first.median_low_ns, 18);
  EXPECT_EQ(first.median_high_ns, 18.5);
  EXPECT_EQ(first.ratio_low, 0.89);
  EXPECT_TRUE(first.tied);
  EXPECT_EQ(first.samples_ns, final.finalists[0].samples_ns);
  EXPECT_TRUE(views[0].final.finalists[1].samples_ns.empty());
  EXPECT_TRUE(store.finals("swiglu.forward")->empty());
}

TEST_F(StoreTest, TheNewestFinalOfAProblemCounts) {
  Store store = open();
  ASSERT_TRUE(store.record_final(final_of(outcome_in(store))).ok());
  FinalRecord later = final_of(outcome_in(store));
  later.noise_floor = 0.001;
  ASSERT_TRUE(store.record_final(later).ok());
  later.method = "graph";
  ASSERT_TRUE(store.record_final(later).ok());
  const std::vector<FinalView> views = *store.finals();
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(views[1].final.noise_floor, 0.001);
  EXPECT_EQ(views[1].final.sweep, later.sweep);
}

TEST_F(StoreTest, SamplesThatAreNoNumbersAreCorrupt) {
  Store store = open();
  ASSERT_TRUE(store.record_final(final_of(outcome_in(store))).ok());
  for (const char* samples : {"", "[1,]", "[,1]", "[1 2]", "[x]", "1,2", "[1"}) {
    {
      const auto database = Database::open(path_, Database::Access::read_write).value();
      Statement update = *database->query("UPDATE finalists SET samples_ns = ?", samples);
      ASSERT_TRUE(update.run().ok());
    }
    EXPECT_EQ(store.finals().status().code(), StatusCode::corrupt) << samples;
  }
}

TEST_F(StoreTest, CountersAreThoseOfTheNewestRunThatCounted) {
  Store store = open();
  const OutcomeRecord record = outcome_in(store);
  const std::vector<CounterRecord> first = {{"dram_read_bytes", 5}, {"registers", 40}};
  ASSERT_TRUE(store.record_counters(record.sweep, record.key, "row VEC=8", first).ok());
  EXPECT_EQ(*store.counters(record.key), first);
  const std::vector<CounterRecord> second = {{"l2_hit_percent", 12.5}};
  const std::int64_t later = outcome_in(store).sweep;
  ASSERT_TRUE(store.record_counters(later, record.key, "row VEC=8", first).ok());
  ASSERT_TRUE(store.record_counters(later, record.key, "row VEC=8", second).ok());
  EXPECT_EQ(*store.counters(record.key), second) << "not mixed with those of the first run";
  const std::vector<CounterView> views = *store.counters("rmsnorm.forward");
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].variant, "row VEC=8");
  EXPECT_EQ(views[0].build_sha256, "sha-1");
  EXPECT_EQ(views[0].counters, second);
  ResultKey other = record.key;
  other.launch_hash = "launch-2";
  EXPECT_TRUE(store.counters(other)->empty());
}

}  // namespace
}  // namespace mgtune
