// <mg/cache_hint.cuh>, <mg/cluster.cuh>, <mg/cluster_sums.cuh>, <mg/bulk_copy.cuh> and
// <mg/grid_dependency.cuh>: what they compute on the cpu device, and that NVRTC takes their PTX.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/helpers/kernels/kernel_text_fixture.h"

namespace mgtune {
namespace {

constexpr char kSource[] = R"(
#include <mg/bulk_copy.cuh>
#include <mg/cache_hint.cuh>
#include <mg/cluster.cuh>
#include <mg/cluster_sums.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

using CACHE = mg::Cache;

template <class T, int N, CACHE kCache>
__global__ void copy(const T* in, T* out) {
  mg::let_next_grid_start();
  mg::wait_for_previous_grid();
  const mg::i64 first = mg::i64{threadIdx.x} * N;
  mg::store_hinted<N, kCache>(out + first, mg::load_hinted<N, kCache>(in + first));
}

template <int N>
__global__ void copy_pieces(const float* in, float* out) {
  const mg::i64 first = mg::i64{threadIdx.x} * N;
  const mg::Pieces<float, N> value = mg::load_pieces<N>(in + first);
  for (int i = 0; i < N; ++i) out[first + i] = value[i];
}

template <int kThreads, int kBlocks>
__global__ void cluster_sum(const float* in, float* out) {
  MG_SHARED(float, slots, [mg::cluster_sum_floats<kThreads, kBlocks>()]);
  mg::cluster_arrive();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = mg::cluster_sum<kThreads, kBlocks>(in[i], slots);
}

// Round after round: the sums of two numbers of every thread.
template <int kThreads, int kBlocks>
__global__ void told_sums(const float* in, float* out, int rounds) {
  using Sums = mg::ClusterSums<kThreads, kBlocks, 2>;
  MG_SHARED(float, slots, [Sums::kFloats]);
  MG_SHARED(mg::CopyBarrier, arrived, [Sums::kBarriers]);
  Sums sums(slots, arrived);
  sums.begin();
  for (int round = 0; round < rounds; ++round) {
    const int at = 2 * (round * kThreads + static_cast<int>(threadIdx.x));
    const float parts[2] = {mg::sum_of_lanes<32>(in[at]), mg::sum_of_lanes<32>(in[at + 1])};
    float totals[2];
    sums.send(parts);
    sums.receive(totals);
    out[at] = totals[0];
    out[at + 1] = totals[1];
  }
}

// Rounds of kFloats through shared memory in two stages, each loaded while the other is stored.
template <int kFloats>
__global__ void staged_copy(const float* in, float* out, int rounds) {
  float* const stage = mg::dynamic_shared<float>();
  MG_SHARED(mg::CopyBarrier, arrived, [2]);
  const auto load = [&](int round) {
    mg::arrive_expecting(arrived[round % 2], kFloats * 4);
    mg::bulk_load(stage + round % 2 * kFloats, in + round * kFloats, kFloats * 2, arrived[round % 2]);
    mg::bulk_load(stage + round % 2 * kFloats + kFloats / 2, in + round * kFloats + kFloats / 2,
                       kFloats * 2, arrived[round % 2]);
  };
  if (threadIdx.x == 0) {
    mg::init(arrived[0], 1);
    mg::init(arrived[1], 1);
    mg::publish_init();
  }
  __syncthreads();
  if (threadIdx.x == 0 && rounds > 0) load(0);
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0 && round + 1 < rounds) {
      mg::wait_for_stores_read<0>();
      load(round + 1);
    }
    mg::wait(arrived[round % 2], round / 2 % 2);
    for (int i = threadIdx.x; i < kFloats; i += blockDim.x) stage[round % 2 * kFloats + i] *= 2.0f;
    mg::publish_to_copies();
    __syncthreads();
    if (threadIdx.x == 0) {
      mg::bulk_store(out + round * kFloats, stage + round % 2 * kFloats, kFloats * 4);
      mg::commit_stores();
    }
  }
  if (threadIdx.x == 0) mg::wait_for_stores<0>();
}
)";

const std::vector<std::string> kCopies = {
    "copy<float, 1, CACHE::normal>",       "copy<float, 4, CACHE::streaming>",
    "copy<float, 2, CACHE::no_allocate>",  "copy<__half, 1, CACHE::no_allocate>",
    "copy<__half, 8, CACHE::no_allocate>", "copy<__half, 2, CACHE::streaming>",
};
const std::vector<std::string> kOthers = {
    "copy_pieces<2>",   "copy_pieces<8>",    "cluster_sum<32, 1>", "cluster_sum<128, 1>",
    "told_sums<32, 1>", "told_sums<128, 1>", "staged_copy<64>"};

std::vector<std::string> both() {
  std::vector<std::string> names = kCopies;
  names.insert(names.end(), kOthers.begin(), kOthers.end());
  return names;
}

class MgMemory : public KernelTextTest<> {
 protected:
  static void SetUpTestSuite() { build_kernels(kSource, both()); }
};

TEST_F(MgMemory, HintsChangeNoValue) {
  for (const std::string& name : kCopies) {
    const HostArray<float> in = numbers(128, 1), out = numbers(128, 5000);
    const Status status = kernels->launch(name, {}, in.data(), out.data());
    ASSERT_TRUE(status.ok()) << status.message();
    // 32 threads copy one float or half each, at least.
    for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(out[i], in[i]) << name << " at " << i;
    EXPECT_EQ(out[127], name.starts_with("copy<float, 4") || name.starts_with("copy<__half, 8")
                            ? in[127]
                            : 5127)
        << name;
  }
}

TEST_F(MgMemory, PiecesAreTheElementsInOrder) {
  for (const int count : {2, 8}) {
    const auto size = static_cast<std::size_t>(32 * count);
    const HostArray<float> in = numbers(size, 1), out = numbers(size, 5000);
    const Status status =
        kernels->launch("copy_pieces<" + std::to_string(count) + ">", {}, in.data(), out.data());
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(out.values(), in.values());
  }
}

TEST_F(MgMemory, AClusterOfOneBlockSumsItsThreads) {
  for (const std::uint32_t threads : {32U, 128U}) {
    const HostArray<float> in = numbers(2 * threads, 3), out = numbers(2 * threads, 5000);
    double expected[] = {0, 0};
    for (std::size_t i = 0; i < 2 * threads; ++i) expected[i / threads] += in[i];
    for (const ThreadOrder order : thread_orders()) {
      ASSERT_TRUE(kernels->device().set_thread_order(order).ok());
      const Status status = kernels->launch("cluster_sum<" + std::to_string(threads) + ", 1>",
                                            {{2, 1, 1}, {threads, 1, 1}, 0}, in.data(), out.data());
      ASSERT_TRUE(status.ok()) << status.message();
      for (std::size_t i = 0; i < 2 * threads; ++i) ASSERT_EQ(out[i], expected[i / threads]) << i;
    }
  }
}

TEST_F(MgMemory, AClusterOfOneBlockTellsItselfEveryRoundsSums) {
  constexpr int kRounds = 5;
  for (const std::uint32_t threads : {32U, 128U}) {
    const std::size_t round_size = 2 * threads;
    const HostArray<float> in = numbers(kRounds * round_size, 3);
    std::vector<float> expected(kRounds * round_size);
    for (std::size_t at = 0; at < expected.size(); ++at) {
      for (std::size_t i = at % 2; i < round_size; i += 2) {
        expected[at] += in[at / round_size * round_size + i];
      }
    }
    for (const ThreadOrder order : thread_orders()) {
      ASSERT_TRUE(kernels->device().set_thread_order(order).ok());
      const HostArray<float> out = numbers(kRounds * round_size, 5000);
      const Status status =
          kernels->launch("told_sums<" + std::to_string(threads) + ", 1>",
                          {{1, 1, 1}, {threads, 1, 1}, 0}, in.data(), out.data(), kRounds);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(out.values(), expected);
    }
  }
}

TEST_F(MgMemory, BulkCopiesInStagesBringEveryRound) {
  for (const ThreadOrder order : thread_orders()) {
    ASSERT_TRUE(kernels->device().set_thread_order(order).ok());
    for (const int rounds : {0, 1, 5}) {
      const auto size = static_cast<std::size_t>(64 * 5);
      const HostArray<float> in = numbers(size, 1), out = numbers(size, 5000);
      const Status status = kernels->launch("staged_copy<64>", {{1, 1, 1}, {32, 1, 1}, 2 * 64 * 4},
                                            in.data(), out.data(), rounds);
      ASSERT_TRUE(status.ok()) << status.message();
      for (std::size_t i = 0; i < size; ++i) {
        const bool copied = i < static_cast<std::size_t>(64 * rounds);
        ASSERT_EQ(out[i], copied ? 2 * in[i] : 5000 + static_cast<float>(i)) << rounds;
      }
    }
  }
}

TEST(MgMemoryForGpus, CompilesWhereTheHardwareHasIt) {
  for (const char* arch : {"sm_90a", "sm_100a", "sm_120"}) {
    std::vector<std::string> names = both();
    names.insert(names.end(), {"cluster_sum<1024, 16>", "cluster_sum<64, 2>", "told_sums<1024, 16>",
                               "told_sums<64, 2>"});
    const Result<Build> build = build_kernel_text(kSource, names, arch);
    EXPECT_TRUE(build.ok()) << arch << ": " << build.status().message();
  }
  for (const char* arch : {"sm_75", "sm_80"}) {
    std::string source = kSource;
    for (const char* line :
         {"  mg::let_next_grid_start();\n", "  mg::wait_for_previous_grid();\n"}) {
      source.erase(source.find(line), std::string(line).size());
    }
    const Result<Build> build = build_kernel_text(source, kCopies, arch);
    EXPECT_TRUE(build.ok()) << arch << ": " << build.status().message();
  }
}

}  // namespace
}  // namespace mgtune
