// Eight workers do eight times the work of one. Each piece of work costs one step of a clock: every
// worker waits at a gate, and the gate opens when all workers that can have work are there. So the
// steps count how long a sweep takes with work of a fixed cost, on any machine. And finals of some
// problems do not hold up GPUs that can measure others.

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

  // Opens the gate in steps. `at_once` is how many pieces of work each step has: the gate opens
  // when so many are there. Call stop() when the sweep is over.
  class Steps {
   public:
    Steps(const SweepScaleTest& test, std::vector<std::int64_t> at_once)
        : clock_([this, &test, all = std::move(at_once)] { run(test, all); }) {}
    Steps(const Steps&) = delete;
    Steps& operator=(const Steps&) = delete;
    ~Steps() {
      if (clock_.joinable()) stop();
    }

    // The number of steps that all work has come in.
    std::int64_t stop() {
      is_over_ = true;
      clock_.join();
      EXPECT_FALSE(is_late_) << "in step " << steps_ << " a worker had no work";
      return steps_;
    }

   private:
    void run(const SweepScaleTest& test, const std::vector<std::int64_t>& all) {
      const auto rest = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
      for (std::size_t step = 0; step < all.size() && !is_late_; ++step) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (std::ssize(test.waiting()) < all[step] && !is_late_) {
          rest();
          is_late_ = is_over_ || std::chrono::steady_clock::now() > deadline;
        }
        if (!is_late_) {
          EXPECT_EQ(std::ssize(test.waiting()), all[step]) << "in step " << step;
          ++steps_;
        }
        open(test);
      }
      for (; !is_over_; rest()) {
        EXPECT_TRUE(is_late_ || test.waiting().empty()) << "there is more work";
        open(test);
      }
    }

    static void open(const SweepScaleTest& test) {
      for (const std::filesystem::path& file : test.waiting()) std::filesystem::remove(file);
    }

    std::atomic<std::int64_t> steps_ = 0;
    std::atomic<bool> is_late_ = false, is_over_ = false;
    std::thread clock_;
  };

  // Runs the sweep. `first` is how many pieces of work the first step has; each further one has as
  // many as there are workers. Returns the number of steps.
  std::int64_t steps_of_sweep(std::int64_t first) {
    std::vector<std::int64_t> at_once;
    for (std::int64_t left = kVariants; left > 0; left -= at_once.back()) {
      at_once.push_back(std::min(left, at_once.empty() ? first : kWorkers));
    }
    Steps steps(*this, at_once);
    EXPECT_EQ(sweep().evaluated, kVariants);
    return steps.stop();
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

// A final takes as long as six measurements, and a problem has three variants. While the first
// problem has its final, the other GPU measures the second one, and then holds that one's final.
// The third one has the GPU that is free first.
TEST_F(SweepScaleTest, NoGpuWaitsForTheFinalOfAnotherProblem) {
  constexpr std::int64_t kOfProblem = 3, kOfFinal = 6;
  const Variable gate("FAKE_WORKER_MEASURE_GATE", gate_);
  const Variable cost("FAKE_WORKER_FINAL_STEPS", std::to_string(kOfFinal));
  options_.budget.evaluations = kOfProblem;
  devices_.resize(2, devices_.front());
  devices_[1].id = "cpu-1";
  std::vector<Problem> problems;
  for (const char* rows : {"4", "8", "16"}) {
    problems.push_back(
        bind_problem(*problem_.op, {{"rows", rows}, {"hidden", "4096"}, {"T", "f32"}}).value());
  }
  // The first default, the two others of its problem, one GPU at the final of the first problem and
  // one at the second problem, one at the final of the second problem and one at the third one.
  // Only the last final has nothing beside it.
  std::vector<std::int64_t> at_once = {1};
  at_once.insert(at_once.end(), 1 + kOfProblem + kOfFinal, 2);
  at_once.insert(at_once.end(), kOfFinal, 1);
  Steps steps(*this, at_once);
  const SweepSummary summary = sweep(problems);
  EXPECT_EQ(steps.stop(), 2 + kOfProblem + 2 * kOfFinal);
  EXPECT_EQ(summary.evaluated, 3 * kOfProblem);
  ASSERT_EQ(summary.picks.size(), 3U);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    EXPECT_EQ(summary.picks[i].problem, problems[i].text()) << "in the order of the problems";
  }
}

}  // namespace
}  // namespace mgtune
