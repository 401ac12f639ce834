// What rows of a store refer to, its sweeps, writers side by side, and where it is by default.

#include "store/store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

TEST_F(StoreTest, EqualContentHasOneId) {
  Store store = open();
  const std::int64_t id = *store.gpu_id(kH200Record);
  EXPECT_EQ(*store.gpu_id(kH200Record), id);
  GpuRecord slice = kH200Record;
  slice.mig_profile = "1g.18gb";
  EXPECT_NE(*store.gpu_id(slice), id);
  EXPECT_EQ(*store.environment_id(kEnvironment), *store.environment_id(kEnvironment));
}

TEST_F(StoreTest, AProblemKeepsItsIdWhenItsCostIsCorrected) {
  Store store = open();
  const OutcomeRecord record = outcome_in(store);
  ASSERT_TRUE(store.record(record).ok());
  EXPECT_EQ(*store.problem_id("rmsnorm.forward", "rows=4 hidden=64 T=f32", 5, 6),
            record.key.problem);
  EXPECT_NE(*store.problem_id("rmsnorm.backward", "rows=4 hidden=64 T=f32", 5, 6),
            record.key.problem);
  const std::vector<OutcomeView> outcomes = *store.outcomes();
  EXPECT_EQ(outcomes.at(0).bytes, 5);
  EXPECT_EQ(outcomes.at(0).flops, 6);
}

TEST_F(StoreTest, SweepsComeBackInOrderAndAreFinishedOnce) {
  Store store = open();
  const std::int64_t first = outcome_in(store).sweep;
  outcome_in(store, kH200Record);
  EXPECT_EQ(store.sweeps()->at(0).sweep.finished_at, "");
  ASSERT_TRUE(store.finish_sweep(first, "2026-11-21T09:05:00Z").ok());
  EXPECT_EQ(store.finish_sweep(77, "x").code(), StatusCode::invalid_argument);
  const std::vector<SweepView> sweeps = *store.sweeps();
  ASSERT_EQ(sweeps.size(), 2u);
  EXPECT_EQ(sweeps[0].sweep.id, first);
  EXPECT_EQ(sweeps[0].sweep.command, "mgtune sweep --kernel rmsnorm");
  EXPECT_EQ(sweeps[0].sweep.finished_at, "2026-11-21T09:05:00Z");
  EXPECT_EQ(gpu_text(sweeps[0].gpu), gpu_text(kCpuRecord));
  EXPECT_EQ(sweeps[0].environment, kEnvironment);
  EXPECT_EQ(gpu_text(sweeps[1].gpu), gpu_text(kH200Record));
}

TEST_F(StoreTest, TwoProcessesWriteAtOnceAndBothSucceed) {
  constexpr int kRows = 50;
  const auto write_rows = [&](const std::string& name) {
    Store store = open();
    OutcomeRecord record = outcome_in(store);
    for (int i = 0; i < kRows; ++i) {
      record.variant = name + std::to_string(i);
      if (!store.record(record).ok()) return 1;
    }
    return 0;
  };
  pid_t children[2];
  for (int i = 0; i < 2; ++i) {
    children[i] = ::fork();
    ASSERT_GE(children[i], 0);
    if (children[i] == 0) ::_exit(write_rows("process " + std::to_string(i) + " row "));
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  Store reader = Store::open(path_, Store::Mode::read_only).value();
  EXPECT_EQ(reader.outcomes()->size(), 2u * kRows);
  EXPECT_EQ(reader.sweeps()->size(), 2u);
}

}  // namespace
}  // namespace mgtune
