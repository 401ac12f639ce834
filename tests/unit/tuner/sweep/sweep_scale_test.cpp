// Eight workers do eight times the work of one. Each piece of work costs one step of a clock: every
// worker waits at a gate, and the gate opens when all eight are there. If one of them gets no work,
// it stays closed. So the test needs no time, and the machine may be as slow as it likes.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/helpers/problem_sweep_fixture.h"

namespace mgtune {
namespace {

constexpr std::int64_t kWorkers = 8;
constexpr std::int64_t kVariants = 200;
// A worker holds two pieces of work at most. If so many are left, there is one for each worker.
constexpr std::int64_t kEnoughForAll = 2 * kWorkers - 1;
// After this time the gate stays open, so that a sweep that leaves a worker idle ends and fails.
constexpr std::chrono::minutes kPatience{10};

class SweepScaleTest : public ProblemSweepTest {
 protected:
  // The problem has so much memory that a sweep gives each variant over half an hour.
  SweepScaleTest() {
    problem_ =
        bind_problem(*problem_.op, {{"rows", "65536"}, {"hidden", "4096"}, {"T", "f32"}}).value();
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

  // Opens the gate for who waits there, and returns how many these are.
  std::int64_t open_gate() const {
    const std::vector<std::filesystem::path> files = waiting();
    for (const std::filesystem::path& file : files) std::filesystem::remove(file);
    return std::ssize(files);
  }

  // Runs the sweep. All workers have work in each step. Returns the number of steps until the rest
  // is not enough for all, which the gate does not stop.
  std::int64_t steps_of_sweep() {
    std::atomic<bool> has_ended = false;
    std::int64_t steps = 0;
    std::thread clock([&] {
      const auto deadline = std::chrono::steady_clock::now() + kPatience;
      for (std::int64_t left = kVariants; !has_ended;) {
        const bool is_step = left >= kEnoughForAll && std::chrono::steady_clock::now() < deadline;
        if (is_step && std::ssize(waiting()) < kWorkers) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          continue;
        }
        const std::int64_t opened = open_gate();
        left -= opened;
        if (!is_step) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          continue;
        }
        EXPECT_EQ(opened, kWorkers) << "in step " << steps;
        ++steps;
      }
    });
    EXPECT_EQ(sweep().evaluated, kVariants);
    has_ended = true;
    clock.join();
    return steps;
  }

  const std::string gate_ = folder_.file("gate");
};

// In the first step one GPU measures the default, and the others do not wait for its result.
TEST_F(SweepScaleTest, EightGpusMeasureEightTimesAsMuchAsOne) {
  const Variable gate("FAKE_WORKER_MEASURE_GATE", gate_);
  devices_.resize(kWorkers, devices_.front());
  for (std::size_t i = 1; i < devices_.size(); ++i) devices_[i].id = "cpu-" + std::to_string(i);
  EXPECT_EQ(steps_of_sweep(), kVariants / kWorkers - 1);
}

TEST_F(SweepScaleTest, EightProcessesCompileEightTimesAsMuchAsOne) {
  const Variable gate("FAKE_WORKER_COMPILE_GATE", gate_);
  EXPECT_EQ(steps_of_sweep(), kVariants / kWorkers - 1);
}

}  // namespace
}  // namespace mgtune
