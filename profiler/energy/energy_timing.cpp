#include "energy/energy_timing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>

namespace mgtune {
namespace {

// Half widths of a 95 % interval, in standard errors, for 1, 2, ... degrees of freedom (Student's
// t). Beyond the table the last one is a little too wide.
constexpr std::array kStudent = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306};

double student(std::size_t windows) { return kStudent[std::min(windows - 2, kStudent.size() - 1)]; }

struct EnergyWindow {
  double joules = 0;      // of one launch
  double resolution = 0;  // the share of it that the ends of the window leave open
};

// The launches of one work, with the counter read after each batch.
class EnergyRun {
 public:
  EnergyRun(EnergyCounter& counter, const EnergyWork& work, const EnergyBudget& budget,
            const HostClock& clock)
      : counter_(counter), work_(work), budget_(budget), clock_(clock) {}

  // Doubles the batch until it takes long enough.
  Status choose_batch() {
    MGTUNE_TRY(work_(1));  // loads the kernel
    while (true) {
      const double start = now();
      MGTUNE_TRY(work_(calls_));
      if (now() - start >= budget_.batch_seconds / 2 || calls_ >= kMaxCalls) return {};
      calls_ *= 2;
    }
  }

  Result<EnergyWindow> window() {
    const double warm = now() + budget_.warm_up_seconds;
    while (now() < warm) MGTUNE_TRY(work_(calls_));
    MGTUNE_ASSIGN(double last, counter_.joules());
    MGTUNE_ASSIGN(const Edge start, next_edge(last));
    last = start.joules;
    std::int64_t launches = 0;
    while (true) {
      MGTUNE_ASSIGN(const Edge edge, next_edge(last));
      launches += edge.launches;
      last = edge.joules;
      const double took = edge.seconds - start.seconds;
      if (took < budget_.window_seconds) continue;
      const double joules = (edge.joules - start.joules) / static_cast<double>(launches);
      return EnergyWindow{joules, 2 * edge.batch_seconds / took};
    }
  }

 private:
  static constexpr std::int64_t kMaxCalls = 1 << 16;

  struct Edge {
    double joules = 0, seconds = 0;
    double batch_seconds = 0;  // of the batch in which the counter changed
    std::int64_t launches = 0;
  };

  double now() const { return static_cast<double>(clock_()) * 1e-9; }

  // Runs batches until the counter differs from `last`.
  Result<Edge> next_edge(double last) {
    Edge edge;
    const double patience = now() + budget_.stalled_seconds;
    while (true) {
      const double start = now();
      MGTUNE_TRY(work_(calls_));
      edge.launches += calls_;
      MGTUNE_ASSIGN(edge.joules, counter_.joules());
      edge.seconds = now();
      edge.batch_seconds = edge.seconds - start;
      if (edge.joules != last) return edge;
      if (edge.seconds > patience) {
        return environment_error("the energy counter of this GPU stands still");
      }
    }
  }

  EnergyCounter& counter_;
  const EnergyWork& work_;
  const EnergyBudget& budget_;
  const HostClock& clock_;
  std::int64_t calls_ = 1;
};

void add_mean(const std::vector<EnergyWindow>& windows, TurnEnergy& energy) {
  const auto count = static_cast<double>(windows.size());
  double joules = 0, resolution = 0, squares = 0;
  for (const EnergyWindow& window : windows) {
    joules += window.joules / count;
    resolution += window.resolution / count;
  }
  for (const EnergyWindow& window : windows) {
    squares += (window.joules - joules) * (window.joules - joules);
  }
  const double standard_error = std::sqrt(squares / (count - 1) / count);
  energy.joules.push_back(joules);
  energy.error_joules.push_back(
      std::max(student(windows.size()) * standard_error, resolution * joules / std::sqrt(count)));
}

}  // namespace

double EnergyBudget::seconds(std::size_t works) const {
  // A window begins up to one update of the counter late, and ends up to one late.
  constexpr double kUpdate = 0.1;
  const double one = warm_up_seconds + window_seconds + 2 * kUpdate + 4 * batch_seconds;
  return static_cast<double>(works) * (static_cast<double>(windows) * one + 10 * batch_seconds);
}

Result<TurnEnergy> measure_energy(EnergyCounter& counter, std::span<const EnergyWork> works,
                                  const EnergyBudget& budget, const HostClock& clock) {
  std::vector<EnergyRun> runs;
  for (const EnergyWork& work : works) {
    MGTUNE_TRY(runs.emplace_back(counter, work, budget, clock).choose_batch());
  }
  std::vector<std::vector<EnergyWindow>> windows(works.size());
  std::vector<std::size_t> order(works.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(budget.seed);
  for (std::int64_t round = 0; round < budget.windows; ++round) {
    std::ranges::shuffle(order, random);
    for (const std::size_t i : order) {
      MGTUNE_ASSIGN(const EnergyWindow window, runs[i].window());
      windows[i].push_back(window);
    }
  }
  TurnEnergy energy;
  for (const std::vector<EnergyWindow>& of_work : windows) add_mean(of_work, energy);
  return energy;
}

}  // namespace mgtune
