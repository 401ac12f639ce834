#include <chrono>
#include <string>
#include <utility>

#include "timing/stop_rule.h"
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

 private:
  HostClock clock_;
};

std::int64_t steady_clock_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

std::unique_ptr<Timer> make_emulation_timer() { return make_emulation_timer(steady_clock_ns); }

std::unique_ptr<Timer> make_emulation_timer(HostClock clock) {
  return std::make_unique<EmulationTimer>(std::move(clock));
}

}  // namespace mgtune
