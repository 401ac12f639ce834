#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "timing/timer.h"

namespace mgtune {
namespace {

class EmulationTimer final : public Timer {
 public:
  explicit EmulationTimer(HostClock clock) : clock_(std::move(clock)) {}

  const std::string& method() const override {
    static const std::string kMethod = "emulation";
    return kMethod;
  }

  Result<Timing> time(const TimedWork& work, const TimingBudget& budget) override {
    MGTUNE_TRY(work(0, nullptr));  // touches the pages, fills the caches
    Timing timing;
    double measured_ns = 0;
    for (std::int64_t turn = 1;; ++turn) {
      const std::int64_t start = clock_();
      MGTUNE_TRY(work(turn, nullptr));
      const auto sample_ns = static_cast<double>(clock_() - start);
      timing.samples_ns.push_back(sample_ns);
      measured_ns += sample_ns;
      const StopRule stop = stop_rule(timing.samples_ns, measured_ns, budget);
      if (stop == StopRule::go_on) continue;
      timing.censored = stop == StopRule::censored;
      return timing;
    }
  }

  Result<TurnTiming> time_in_turn(std::span<const TimedWork> works,
                                  const TurnBudget& budget) override {
    std::int64_t turn = 0;
    for (const TimedWork& work : works) MGTUNE_TRY(work(turn++, nullptr));
    TurnTiming timing;
    timing.samples_ns.resize(works.size());
    std::vector<std::size_t> order(works.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 random(budget.seed);
    double measured_ns = 0;
    for (std::int64_t round = 0; !is_enough(round, measured_ns, budget); ++round) {
      std::ranges::shuffle(order, random);
      for (const std::size_t i : order) {
        const std::int64_t start = clock_();
        MGTUNE_TRY(works[i](turn++, nullptr));
        timing.samples_ns[i].push_back(static_cast<double>(clock_() - start));
        measured_ns += timing.samples_ns[i].back();
      }
    }
    return timing;
  }

 private:
  HostClock clock_;
};

}  // namespace

std::int64_t steady_clock_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

std::unique_ptr<Timer> make_emulation_timer(HostClock clock) {
  return std::make_unique<EmulationTimer>(std::move(clock));
}

}  // namespace mgtune
