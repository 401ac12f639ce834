// Eight workers do eight times the work of one. Each piece of work costs one step of a clock: every
// worker waits at a gate, and the gate opens when all workers that can have work are there. So the
// steps count how long a sweep takes with work of a fixed cost, on any machine.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/helpers/problem_sweep_fixture.h"

namespace mgtune {
namespace {

constexpr std::int64_t kWorkers = 8;
constexpr std::int64_t kVariants = 200;
constexpr double kLeastSpeedup = 7.5;

class SweepScaleTest : public ProblemSweepTest {
 protected:
  SweepScaleTest() {
    problem_ =
        bind_problem(*problem_.op, {{"rows", "4"}, {"hidden", "4096"}, {"T", "f32"}}).value();
    options_.budget.evaluations = kVariants;
    options_.compile_processes = kWorkers;
    std::filesystem::create_directory(gate_);
  }

  std::vector<std::filesystem::path> waiting() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(gate_)) {
      files.push_back(entry.path());
    }
    return files;
  }

  // Runs the sweep. `first` is how many pieces of work the first step has; each further one has as
  // many as there are workers. Returns the number of steps.
  std::int64_t steps_of_sweep(std::int64_t first) {
    std::atomic<std::int64_t> steps = 0;
    std::atomic<bool> is_late = false;
    std::thread clock([&] {
      std::int64_t left = kVariants;
      while (left > 0 && !is_late) {
        const std::int64_t all = std::min(left, steps == 0 ? first : kWorkers);
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (std::ssize(waiting()) < all && !is_late) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          is_late = std::chrono::steady_clock::now() > deadline;
        }
        const std::vector<std::filesystem::path> files = waiting();
        EXPECT_EQ(std::ssize(files), all) << "in step " << steps;
        ++steps;
        left -= std::ssize(files);
        for (const std::filesystem::path& file : files) std::filesystem::remove(file);
      }
      for (; is_late; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
        for (const std::filesystem::path& file : waiting()) std::filesystem::remove(file);
        if (steps < 0) return;
      }
    });
    EXPECT_EQ(sweep().evaluated, kVariants);
    const std::int64_t counted = steps.exchange(-1);
    clock.join();
    EXPECT_FALSE(is_late) << "a worker had no work";
    return counted;
  }

  const std::string gate_ = folder_.file("gate");
};

// The default has its result before any other variant, which costs one step.
TEST_F(SweepScaleTest, EightGpusMeasureEightTimesAsMuchAsOne) {
  const Variable gate("FAKE_WORKER_MEASURE_GATE", gate_);
  devices_.resize(kWorkers, devices_.front());
  for (std::size_t i = 1; i < devices_.size(); ++i) devices_[i].id = "cpu-" + std::to_string(i);
  const std::int64_t steps = steps_of_sweep(1);
  EXPECT_EQ(steps, 1 + (kVariants - 1 + kWorkers - 1) / kWorkers);
  EXPECT_GE(static_cast<double>(kVariants) / static_cast<double>(steps), kLeastSpeedup);
}

TEST_F(SweepScaleTest, EightProcessesCompileEightTimesAsMuchAsOne) {
  const Variable gate("FAKE_WORKER_COMPILE_GATE", gate_);
  const std::int64_t steps = steps_of_sweep(kWorkers);
  EXPECT_EQ(steps, kVariants / kWorkers);
  EXPECT_GE(static_cast<double>(kVariants) / static_cast<double>(steps), kLeastSpeedup);
}

}  // namespace
}  // namespace mgtune
