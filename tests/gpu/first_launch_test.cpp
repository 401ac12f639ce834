// From the start of a process to the end of its first launch: through libmgruntime with a pack or a
// warm cache, beside the same cubin loaded by hand. Fresh processes in turn, so that what else the
// machine does strikes all alike; the least disturbed start of each way is compared.

#include "tests/helpers/programs/first_launch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "pack/pack.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/gpu_table.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/real_gpu.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

constexpr int kRounds = 11;  // and one before, which fills the machine's caches
constexpr int kMostRounds = 44;
constexpr double kMost = 1.15;  // times what loading by hand takes
using Words = std::vector<std::string>;

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

// A program's own words on how long its steps took: "open 12.3 ms".
using Steps = std::map<std::string, std::vector<double>>;

class FirstLaunchOnGpu : public RealGpuTest {
 protected:
  void SetUp() override {
    RealGpuTest::SetUp();
    if (IsSkipped()) return;
    std::ofstream(table()) << rmsnorm_table_for(device().info());
    MgtuneProgram mgtune(folder_.file("cache"));
    const Ended packed = mgtune.run({"pack", "--kernel", "rmsnorm", "--gpu", device().info().name,
                                     "--table", table(), "-o", pack()});
    ASSERT_EQ(packed.exit_code, 0) << packed;
    const Result<Pack> read = decode_pack(file_content(pack()));
    ASSERT_TRUE(read.ok()) << read.status().message();
    for (const PackedBuild& packed_build : read->builds) {
      const BuildKernel& kernel = packed_build.build.kernels.front();
      if (kernel.name.find(kRmsnormPick) == std::string::npos) continue;
      std::ofstream(cubin(), std::ios::binary) << packed_build.build.binary;
      symbol_ = kernel.symbol;
    }
    ASSERT_FALSE(symbol_.empty());
  }

  std::string table() const { return folder_.file("here.tuned.json"); }
  std::string pack() const { return folder_.file("here.mgpack"); }
  std::string cubin() const { return folder_.file("pick.cubin"); }

  // Milliseconds from the start of a process until it says that its launch had ended.
  double run(const Words& words, Steps& steps) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, folder_.file("out").c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = 0;
    const std::int64_t start = FirstLaunch::now_ns();
    const int error =
        ::posix_spawn(&child, words.front().c_str(), &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    EXPECT_EQ(error, 0) << words.front();
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << words.front();
    std::istringstream out(file_content(folder_.file("out")));
    std::int64_t ended = 0;
    std::string verdict;
    EXPECT_TRUE(out >> ended >> verdict);
    EXPECT_EQ(verdict, "right") << words.front();
    for (std::string name, value; out >> name >> value;) {
      if (name == "nvrtc") {
        EXPECT_EQ(value, "absent");
        continue;
      }
      steps[name].push_back(std::stod(value));
      out >> value;  // the unit
    }
    return static_cast<double>(ended - start) / 1e6;
  }

  const TestFolder folder_;
  std::string symbol_;
};

TEST_F(FirstLaunchOnGpu, ComesAboutAsSoonAsByHand) {
  struct Way {
    const char* name;
    Words words;
    const char* cache;
    std::vector<double> times = {};
    Steps steps = {};
  };
  std::array ways = {
      Way{"by hand", {first_launch_by_hand_path(), cubin(), symbol_}, "empty"},
      Way{"with a pack", {first_launch_path(), pack()}, "empty"},
      Way{"with a warm cache", {first_launch_path(), table()}, "cache"},
  };
  // The driver takes 105 to 135 ms of each start, and the machine disturbs some of them. The least
  // disturbed start of each way shows what the way itself costs. On one machine, none of eleven
  // starts of a way was an undisturbed one, so there are more rounds as long as a way seems slow.
  const auto least = [](const Way& way) { return std::ranges::min(way.times); };
  const auto is_slow = [&](const Way& way) { return least(way) > kMost * least(ways.front()); };
  for (int round = -1;
       round < kRounds || (round < kMostRounds && std::ranges::any_of(ways, is_slow)); ++round) {
    for (Way& way : ways) {
      const Variable cache("MGTUNE_CACHE_DIR", folder_.file(way.cache));
      Steps steps;
      const double time = run(way.words, steps);
      if (HasFailure()) return;
      if (round < 0) continue;
      way.times.push_back(time);
      for (const auto& [name, values] : steps) way.steps[name].push_back(values.front());
    }
  }
  for (const Way& way : ways) {
    const double ratio = least(way) / least(ways.front());
    std::cout << way.name << ": " << least(way) << " ms, ratio " << ratio << ", "
              << way.times.size() << " starts (";
    for (const auto& [name, values] : way.steps) std::cout << ' ' << name << ' ' << median(values);
    std::cout << " )" << std::endl;
    EXPECT_LE(ratio, kMost) << way.name;
  }
}

}  // namespace
}  // namespace mgtune
