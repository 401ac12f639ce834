// Which GPUs count as one, whatever memory their drivers report, and how a store finds them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "database/database.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using SameGpuTest = StoreTest;

GpuRecord with_memory(std::int64_t bytes) {
  GpuRecord gpu = kH200Record;
  gpu.memory_bytes = bytes;
  return gpu;
}

// What cuDeviceTotalMem says with several drivers, and with ECC on and off.
TEST_F(SameGpuTest, TheDriverAndEccDoNotMakeAnotherGpu) {
  struct Pair {
    const char* what;
    std::int64_t a, b;
    bool is_same;
  };
  for (const Pair& pair : {
           Pair{"H200, three branches of the driver", 150'000'000'000, 150'754'820'096, true},
           Pair{"H200, three branches of the driver", 150'754'820'096, 149'960'835'072, true},
           Pair{"T4 with ECC and without", 15'843'721'216, 16'936'861'696, true},
           Pair{"a GPU whose memory is not known", 0, 0, true},
           Pair{"A100 with 40 and 80 GB", 42'298'834'944, 84'974'239'744, false},
           Pair{"RTX A2000 with 6 and 12 GB", 6'226'378'752, 12'624'461'824, false},
           Pair{"10 and 12 GB", 10'737'418'240, 12'884'901'888, false},
           Pair{"H100 with 80 and 94 GB", 85'045'870'592, 99'857'989'632, false},
           Pair{"half of a damaged file", std::numeric_limits<std::int64_t>::min(),
                std::numeric_limits<std::int64_t>::max(), false},
       }) {
    EXPECT_EQ(is_same_gpu(with_memory(pair.a), with_memory(pair.b)), pair.is_same) << pair.what;
    EXPECT_EQ(is_same_gpu(with_memory(pair.b), with_memory(pair.a)), pair.is_same) << pair.what;
    EXPECT_TRUE(is_same_gpu(with_memory(pair.a), with_memory(pair.a))) << pair.what;
  }
}

TEST_F(SameGpuTest, EveryOtherPropertyMakesAnotherGpu) {
  const auto expect_other = [](auto change) {
    GpuRecord other = kH200Record;
    change(other);
    EXPECT_FALSE(is_same_gpu(kH200Record, other)) << gpu_text(other);
  };
  expect_other([](GpuRecord& gpu) { gpu.model = "NVIDIA H100"; });
  expect_other([](GpuRecord& gpu) { gpu.arch = "sm_100"; });
  expect_other([](GpuRecord& gpu) { gpu.sm_count = 114; });
  expect_other([](GpuRecord& gpu) { gpu.l2_bytes = 50 << 20; });
  expect_other([](GpuRecord& gpu) { gpu.max_shared_bytes = 101'376; });
  expect_other([](GpuRecord& gpu) { gpu.mig_profile = "3g.71gb"; });
  expect_other([](GpuRecord& gpu) { gpu.emulation = true; });
}

TEST_F(SameGpuTest, AStoreHasOneRowOfOneGpu) {
  Store store = open();
  const std::int64_t id = *store.gpu_id(with_memory(150'000'000'000));
  EXPECT_EQ(*store.gpu_id(with_memory(150'754'820'096)), id);
  EXPECT_EQ(*store.gpu_id(with_memory(149'960'835'072)), id);
  EXPECT_NE(*store.gpu_id(with_memory(75'000'000'000)), id);
}

// Files of before have a row for every size of memory.
TEST_F(SameGpuTest, AFileWithTwoRowsOfOneGpuKeepsBothAndIsReadAsOne) {
  Store store = open();
  OutcomeRecord record = outcome_in(store, kH200Record);
  ASSERT_TRUE(store.record(record).ok());
  {
    const auto database = Database::open(path_, Database::Access::read_write).value();
    ASSERT_TRUE(database
                    ->execute("INSERT INTO gpus SELECT 99, model, arch, sm_count, l2_bytes,"
                              " 150754820096, max_shared_bytes, mig_profile, emulation FROM gpus")
                    .ok());
  }
  EXPECT_EQ(*store.gpu_id(kH200Record), record.key.gpu);
  EXPECT_EQ(*store.gpu_id(with_memory(150'754'820'096)), 99);
  OutcomeRecord again = outcome_in(store, with_memory(150'754'820'096));
  again.measurement->median_ns = 90;
  ASSERT_TRUE(store.record(again).ok());
  const MeasuredRows all = store.measured().value();
  EXPECT_EQ(all.gpus.size(), 1U);
  ASSERT_EQ(all.rows.size(), 1U) << "the newest of one variant and method";
  EXPECT_EQ(all.rows[0].median_ns, 90);
}

}  // namespace
}  // namespace mgtune
