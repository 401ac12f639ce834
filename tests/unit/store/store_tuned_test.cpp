// Tuned rows and ceilings in a store: which of several count, and which ceiling a row comes with.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

TEST_F(StoreTest, TunedRowsReplaceThoseOfTheirGpuProblemAndMethod) {
  Store store = open();
  const OutcomeRecord record = outcome_in(store);
  TunedRecord tuned{record.sweep, record.key.gpu, record.key.problem, "row VEC=8",
                    "sha-1",      "row VEC=1",    "emulation",        100,
                    150,          false};
  ASSERT_TRUE(store.record_tuned(tuned).ok());
  tuned.variant = "row VEC=4";
  tuned.median_ns = 80;
  tuned.tie = true;
  ASSERT_TRUE(store.record_tuned(tuned).ok());
  tuned.method = "cold";
  tuned.default_variant = "";
  tuned.default_median_ns = std::nan("");
  ASSERT_TRUE(store.record_tuned(tuned).ok());

  const std::vector<TunedView> rows = *store.tuned("rmsnorm.forward");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].tuned.method, "cold");
  EXPECT_EQ(rows[0].tuned.default_variant, "");
  EXPECT_TRUE(std::isnan(rows[0].tuned.default_median_ns));
  EXPECT_EQ(rows[1].tuned.variant, "row VEC=4");
  EXPECT_EQ(rows[1].tuned.default_variant, "row VEC=1");
  EXPECT_EQ(rows[1].tuned.build_sha256, "sha-1");
  EXPECT_EQ(rows[1].tuned.median_ns, 80);
  EXPECT_EQ(rows[1].tuned.default_median_ns, 150);
  EXPECT_TRUE(rows[1].tuned.tie);
  EXPECT_EQ(rows[1].tuned.gpu, record.key.gpu);
  EXPECT_EQ(rows[1].tuned.problem, record.key.problem);
  EXPECT_EQ(rows[1].tuned.sweep, record.sweep);
  EXPECT_EQ(gpu_text(rows[1].gpu), gpu_text(kCpuRecord));
  EXPECT_EQ(rows[1].op, "rmsnorm.forward");
  EXPECT_EQ(rows[1].problem, "rows=4 hidden=64 T=f32");
  EXPECT_EQ(rows[1].bytes, 1e3);
  EXPECT_EQ(store.tuned()->size(), 2u);
  EXPECT_TRUE(store.tuned("swiglu.forward")->empty());

  ASSERT_TRUE(store.withdraw_tuned(record.key.gpu, record.key.problem, "cold").ok());
  ASSERT_EQ(store.tuned()->size(), 1u);
  EXPECT_EQ(store.tuned()->front().tuned.method, "emulation");
}

// Which method counts is decided among all picks of a problem, so a plan has to find all of them.
TEST_F(StoreTest, PicksOfAProblemShareTheirKey) {
  Store store = open();
  const OutcomeRecord record = outcome_in(store);
  TunedRecord tuned{record.sweep,
                    record.key.gpu,
                    record.key.problem,
                    "row VEC=8",
                    "sha-1",
                    "row VEC=1",
                    "token",
                    100,
                    150,
                    false};
  ASSERT_TRUE(store.record_tuned(tuned).ok());
  EXPECT_EQ(store.tuned()->front().tuned.key, PickKey());
  tuned.method = "rotating";
  tuned.key = {"rmsnorm.forward hidden=64 T=f32", 2};
  ASSERT_TRUE(store.record_tuned(tuned).ok());
  for (const TunedView& row : *store.tuned()) EXPECT_EQ(row.tuned.key, tuned.key);
  tuned.method = "cold";
  tuned.key = {};
  ASSERT_TRUE(store.record_tuned(tuned).ok());
  ASSERT_EQ(store.tuned()->size(), 3U);
  for (const TunedView& row : *store.tuned()) EXPECT_FALSE(row.tuned.key.kind.empty());
}

CeilingRecord ceiling(const std::string& method, std::int64_t bytes, double copy_ns) {
  CeilingRecord ceiling;
  ceiling.kind = "copy";
  ceiling.method = method;
  ceiling.bytes = bytes;
  ceiling.rate = static_cast<double>(bytes) * 1e9 / copy_ns;
  ceiling.measured_at = "2026-11-21T09:00:00Z";
  ceiling.clocks = {1980, 3201, 300, 50, "", 0};
  return ceiling;
}

TEST_F(StoreTest, TunedRowsComeWithTheNewestCeilingOfTheirBytesAndMethod) {
  Store store = open();
  const OutcomeRecord record = outcome_in(store);  // of a problem that moves 1000 bytes
  const TunedRecord tuned{record.sweep, record.key.gpu, record.key.problem, "row VEC=8",
                          "sha-1",      "row VEC=1",    "rotating",         100,
                          150,          false};
  ASSERT_TRUE(store.record_tuned(tuned).ok());
  EXPECT_EQ(store.tuned()->front().copy_ns, 0) << "none was measured";
  const std::int64_t gpu = record.key.gpu;
  ASSERT_TRUE(store.record_ceiling(record.sweep, gpu, ceiling("rotating", 2000, 70)).ok());
  ASSERT_TRUE(store.record_ceiling(record.sweep, gpu, ceiling("graph", 1000, 80)).ok());
  EXPECT_EQ(store.tuned()->front().copy_ns, 0) << "of other bytes, of another method";
  ASSERT_TRUE(store.record_ceiling(record.sweep, gpu, ceiling("rotating", 1000, 95)).ok());
  ASSERT_TRUE(store.record_ceiling(record.sweep, gpu, ceiling("rotating", 1000, 90)).ok());
  EXPECT_DOUBLE_EQ(store.tuned()->front().copy_ns, 90);
}

TEST_F(StoreTest, CeilingsAreTheNewestOfTheirKindMethodAndSize) {
  Store store = open();
  const OutcomeRecord record = outcome_in(store);
  const std::int64_t gpu = record.key.gpu;
  ASSERT_TRUE(store.record_ceiling(record.sweep, gpu, ceiling("rotating", 1000, 95)).ok());
  ASSERT_TRUE(store.record_ceiling(record.sweep, gpu, ceiling("rotating", 2000, 90)).ok());
  CeilingRecord tensor = ceiling("rotating", 0, 1);
  tensor.kind = "mma_bf16";
  tensor.rate = 7e14;
  ASSERT_TRUE(store.record_ceiling(record.sweep, gpu, tensor).ok());
  const std::int64_t later = outcome_in(store).sweep;
  ASSERT_TRUE(store.record_ceiling(later, gpu, ceiling("rotating", 1000, 80)).ok());
  const std::vector<CeilingView> ceilings = *store.ceilings(gpu);
  ASSERT_EQ(ceilings.size(), 3u);
  EXPECT_EQ(ceilings[0].sweep, later);
  EXPECT_EQ(ceilings[0].driver, kEnvironment.driver);
  EXPECT_DOUBLE_EQ(ceilings[0].ceiling.rate, 1000 * 1e9 / 80);
  EXPECT_EQ(ceilings[0].ceiling.clocks, tensor.clocks);
  EXPECT_EQ(ceilings[1].ceiling.bytes, 2000);
  EXPECT_EQ(ceilings[2].ceiling.kind, "mma_bf16");
  EXPECT_EQ(ceilings[2].ceiling.measured_at, "2026-11-21T09:00:00Z");
  EXPECT_TRUE(store.ceilings(gpu + 1)->empty());
}

}  // namespace
}  // namespace mgtune
