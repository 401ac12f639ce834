// What selection reads of a store: the newest of each variant, problem, GPU and method.

#include <gtest/gtest.h>

#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using StoreMeasuredTest = StoreTest;

MeasuredRows measured(Store& store, const std::string& op = "") {
  Result<MeasuredRows> rows = store.measured(op);
  EXPECT_TRUE(rows.ok()) << rows.status().message();
  return rows.ok() ? *std::move(rows) : MeasuredRows();
}

TEST_F(StoreMeasuredTest, SaysWhoWasMeasuredWhereAndHow) {
  Store store = open();
  ASSERT_TRUE(store.record(outcome_in(store)).ok());
  const MeasuredRows all = measured(store);
  ASSERT_EQ(all.rows.size(), 1U);
  const MeasuredRows::Row& row = all.rows[0];
  EXPECT_EQ(gpu_text(all.gpus.at(row.gpu)), gpu_text(kCpuRecord));
  EXPECT_EQ(all.problems.at(row.problem).op, "rmsnorm.forward");
  EXPECT_EQ(all.problems.at(row.problem).text, "rows=4 hidden=64 T=f32");
  EXPECT_EQ(all.variants.at(row.variant), "row VEC=8");
  EXPECT_EQ(all.methods.at(row.method), "emulation");
  EXPECT_EQ(all.drivers.at(row.driver), "");
  EXPECT_EQ(row.outcome, Outcome::ok);
  EXPECT_EQ(row.median_ns, 100.5);
  EXPECT_EQ(measured(store, "rmsnorm.forward").rows.size(), 1U);
  EXPECT_TRUE(measured(store, "swiglu.forward").rows.empty());
}

TEST_F(StoreMeasuredTest, KeepsTheNewestOfEachMethod) {
  Store store = open();
  ASSERT_TRUE(store.record(outcome_in(store)).ok());
  OutcomeRecord again = outcome_in(store);
  again.measurement->median_ns = 90;
  ASSERT_TRUE(store.record(again).ok());
  OutcomeRecord other = outcome_in(store);
  other.measurement->method = "graph";
  ASSERT_TRUE(store.record(other).ok());
  const MeasuredRows all = measured(store);
  ASSERT_EQ(all.rows.size(), 2U);
  EXPECT_EQ(all.rows[0].median_ns, 90);
  EXPECT_EQ(all.methods.at(all.rows[1].method), "graph");
}

TEST_F(StoreMeasuredTest, AFailureReplacesEveryTimeUntilItIsMeasuredAgain) {
  Store store = open();
  ASSERT_TRUE(store.record(outcome_in(store)).ok());
  OutcomeRecord wrong = outcome_in(store);
  wrong.outcome = Outcome::wrong;
  wrong.measurement.reset();
  ASSERT_TRUE(store.record(wrong).ok());
  MeasuredRows all = measured(store);
  ASSERT_EQ(all.rows.size(), 1U);
  EXPECT_EQ(all.rows[0].outcome, Outcome::wrong);
  EXPECT_EQ(all.rows[0].median_ns, 0);
  ASSERT_TRUE(store.record(outcome_in(store)).ok());
  all = measured(store);
  ASSERT_EQ(all.rows.size(), 1U);
  EXPECT_EQ(all.rows[0].outcome, Outcome::ok);
}

}  // namespace
}  // namespace mgtune
