// Many processes and threads on one build cache: each reads whole entries of one writer, compiles
// no more than it must, and together they keep to the limit.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <functional>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "build/builder.h"
#include "core/sha256.h"
#include "tests/helpers/fakes/fake_device.h"
#include "tests/helpers/long_lane.h"
#include "tests/helpers/start_child.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {
namespace {

constexpr int kCrowd = 16;

// Each writer's own bytes under the same key, so that a mixture of two would show.
Build build_of(int writer, const std::string& key, std::size_t bytes) {
  Build build;
  build.key = key;
  build.arch = "cpu";
  build.binary = std::string(bytes, static_cast<char>('a' + writer));
  build.sha256 = sha256_hex(build.binary);
  build.log = build.binary.substr(0, 100);
  return build;
}

bool is_whole(const Build& build, std::size_t bytes) {
  return build.binary == std::string(bytes, build.binary[0]) &&
         build.log == std::string(100, build.binary[0]);
}

// Counters that forked processes share with this one.
struct Shared {
  std::atomic<int> torn{0}, refused{0}, misses{0}, running{0};
};

class CacheCrowd : public testing::Test {
 protected:
  CacheCrowd() {
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = new (memory) Shared;
  }
  ~CacheCrowd() override { ::munmap(shared_, sizeof(Shared)); }

  BuildCache cache(std::int64_t limit = BuildCache::kDefaultMaxBytes) const {
    return {FileSystem::real(), folder_.file("cache"), limit};
  }

  // Starts the processes, runs `meanwhile` over and over until the last has ended.
  void run_processes(const std::function<void(int)>& work, const std::function<void()>& meanwhile) {
    std::vector<pid_t> children;
    shared_->running = kCrowd;
    for (int process = 0; process < kCrowd; ++process) {
      children.push_back(start_child([&] {
        work(process);
        --shared_->running;
        return 0;
      }));
    }
    while (shared_->running > 0) {
      meanwhile();
      ::usleep(500);
    }
    for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  }

  // As Builder does: what is there is used, else it is made and put there.
  void use_or_make(BuildCache& cache, int process, const std::string& key,
                   std::size_t bytes) const {
    const std::optional<Build> loaded = cache.load(key);
    if (loaded && !is_whole(*loaded, bytes)) ++shared_->torn;
    if (loaded) return;
    ++shared_->misses;
    if (!cache.store(build_of(process, key, bytes)).ok()) ++shared_->refused;
  }

  TestFolder folder_;
  Shared* shared_;
};

TEST_F(CacheCrowd, EachProcessMakesAnEntryAtMostOnce) {
  const int rounds = in_long_lane(1000, 200);
  const std::string key = sha256_hex("one key");
  run_processes(
      [&](int process) {
        BuildCache mine = cache();
        for (int round = 0; round < rounds; ++round) use_or_make(mine, process, key, 5000);
      },
      [] {});
  EXPECT_EQ(shared_->torn, 0);
  EXPECT_EQ(shared_->refused, 0);
  EXPECT_GE(shared_->misses, 1);
  EXPECT_LE(shared_->misses, kCrowd);
}

TEST_F(CacheCrowd, WhatIsClearedMeanwhileIsMadeAgain) {
  const int rounds = in_long_lane(1000, 100);
  const std::string key = sha256_hex("one key");
  run_processes(
      [&](int process) {
        BuildCache mine = cache();
        for (int round = 0; round < rounds; ++round) {
          use_or_make(mine, process, key, 5000);
          ::usleep(200);
        }
      },
      [&] {
        EXPECT_TRUE(cache().clear().ok());
        ::usleep(3000);
      });
  EXPECT_EQ(shared_->torn, 0);
  EXPECT_EQ(shared_->refused, 0);
  EXPECT_EQ(
      cache().usage()->entries,
      static_cast<std::int64_t>(FileSystem::real().list_files(folder_.file("cache"))->size()));
}

TEST_F(CacheCrowd, TheLimitHoldsWhileAllOfThemWrite) {
  const int rounds = in_long_lane(300, 40);
  constexpr std::int64_t kLimit = 300'000;
  constexpr std::size_t kBytes = 3000;
  std::int64_t most = 0;
  run_processes(
      [&](int process) {
        BuildCache mine = cache(kLimit);
        for (int round = 0; round < rounds; ++round) {
          const std::string name = std::to_string(process) + "/" + std::to_string(round);
          if (!mine.store(build_of(process, sha256_hex(name), kBytes)).ok()) ++shared_->refused;
        }
      },
      [&] { most = std::max(most, cache().usage()->bytes); });
  EXPECT_EQ(shared_->refused, 0);
  std::cout << "a limit of " << kLimit << " bytes: " << most << " at most, "
            << cache().usage()->bytes << " in the end\n";
  // A sixteenth, and what all of them wrote while one of them looked.
  EXPECT_LE(most, kLimit + kLimit / 16 + 2 * kCrowd * 3500);
  EXPECT_GT(cache().usage()->bytes, kLimit / 2);
}

TEST_F(CacheCrowd, ThreadsThatWantOneKeyCompileItOnce) {
  constexpr int kThreads = 64;
  std::atomic<int> compiled{0};
  class SlowCompiler final : public FakeCompiler {
   public:
    explicit SlowCompiler(std::atomic<int>& count) : FakeCompiler(""), count_(count) {}
    Result<Build> compile(const BuildRequest& request) override {
      ++count_;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return FakeCompiler::compile(request);
    }

   private:
    std::atomic<int>& count_;
  };
  const SourceTree sources{"family", {{"a.cu", "a"}}};
  std::barrier together(kThreads);
  std::vector<std::string> binaries(kThreads);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      Builder builder(cache(), [&](const std::string&) -> Result<std::unique_ptr<Compiler>> {
        return std::unique_ptr<Compiler>(std::make_unique<SlowCompiler>(compiled));
      });
      const std::string kernel = thread % 2 == 0 ? "k<1>" : "k<2>";
      together.arrive_and_wait();
      const Result<Build> build = builder.build({&sources, "a.cu", {kernel}, "cpu"});
      if (build.ok()) binaries[static_cast<std::size_t>(thread)] = build->binary;
    });
  }
  threads.clear();
  EXPECT_EQ(compiled, 2);  // one for each key
  for (int thread = 0; thread < kThreads; ++thread) {
    EXPECT_EQ(binaries[static_cast<std::size_t>(thread)], thread % 2 == 0 ? "k<1>;" : "k<2>;");
  }
}

}  // namespace
}  // namespace mgtune
