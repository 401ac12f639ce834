#include <chrono>
#include <string>
#include <utility>

#include "timing/statistics.h"
#include "timing/timer.h"

namespace mgtune {
namespace {

bool narrow_enough(const SampleSummary& summary, const TimingBudget& budget) {
  const double half_width = (summary.median_high - summary.median_low) / 2;
  return half_width <= budget.relative_half_width * summary.median;
}

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
    for (std::int64_t count = 1;; ++count) {
      const std::int64_t start = clock_();
      MGTUNE_TRY(work(count, nullptr));
      const auto sample_ns = static_cast<double>(clock_() - start);
      timing.samples_ns.push_back(sample_ns);
      measured_ns += sample_ns;
      if (count < budget.min_samples) continue;

      const SampleSummary summary = summarise(timing.samples_ns);
      if (budget.stop_above_ns > 0 && summary.median_low > budget.stop_above_ns) {
        timing.censored = true;
        return timing;
      }
      if (count >= budget.max_samples || measured_ns >= budget.max_seconds * 1e9 ||
          narrow_enough(summary, budget)) {
        return timing;
      }
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
