// Timer: samples of the time of a piece of device work, by one named method. The method is part of
// every measurement's key, because times of different methods must not be compared.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "store/records.h"

namespace mgtune {

// The timing method of a sweep, decided before it starts.
struct TimingMethod {
  std::string name;    // "rotating", "cold", "hot", "graph", "rotating_events", "emulation"
  std::string reason;  // of rotating_events: why CUPTI is not used; otherwise ""
};

// Launches the work once on the stream, with the `turn`-th of the rotating buffer sets.
using TimedWork = std::function<Status(std::int64_t turn, Stream stream)>;

// Timing ends when the first of these limits is reached, but not before min_samples.
struct TimingBudget {
  std::int64_t min_samples = 6;  // fewer have no 95 % interval of their median
  std::int64_t max_samples = 200;
  double max_seconds = 0.2;            // of measured time
  std::int64_t buffer_sets = 1;        // that the work rotates through
  double relative_half_width = 0.005;  // of the median's interval: stop once it is this narrow
  // Racing: measuring stops if the whole interval of the median is above this time, because the
  // variant is then too slow to win. Work that is far too slow may stop while the GPU warms up
  // (timing/early_race.h). 0: never.
  double stop_above_ns = 0;
  // The SM clock at which stop_above_ns was measured, of work whose speed follows this clock. If
  // the clock is lower now, the limit is higher by the same factor. 0: the clock does not matter.
  double stop_above_mhz = 0;
};

struct Timing {
  std::vector<double> samples_ns;  // in the order taken
  bool censored = false;           // measuring was stopped by stop_above_ns
  std::string note;
  ClockRecord clocks;
};

// Decides whether a measurement has enough samples. All methods use the same rule. `measured_ns` is
// the sum of the times of all timed launches so far.
enum class StopRule { go_on, enough, censored };
StopRule stop_rule(const std::vector<double>& samples_ns, double measured_ns,
                   const TimingBudget& budget);

// Several pieces of work timed in rounds. Each round has each of them once, in random order, so
// that drift (clocks, heat, other programs) affects all of them in the same way.
struct TurnBudget {
  std::int64_t min_rounds = 6;  // fewer have no 95 % interval
  std::int64_t max_rounds = 60;
  double max_seconds = 1;        // of measured time; ends it after min_rounds
  std::int64_t buffer_sets = 1;  // that all works together rotate through
  std::uint64_t seed = 1;        // of the order
  // For kernels whose speed follows the clocks. If this is above 0, each work runs alone for this
  // time. If a work then takes 1 % more or less time than in its warm-up, because the GPU lowered
  // its clocks at its power limit, every work runs alone for this time before each of its samples.
  // The note then says so.
  double settle_seconds = 0;

  // For a final: `settle_seconds` as above. If it is not 0, there are more rounds.
  static TurnBudget of_final(double settle_seconds);
};

// Whether so many rounds are enough.
bool is_enough(std::int64_t rounds, double measured_ns, const TurnBudget& budget);

class Timer {
 public:
  virtual ~Timer() = default;
  virtual const std::string& method() const = 0;
  virtual Result<Timing> time(const TimedWork& work, const TimingBudget& budget) = 0;

  // All works together rotate through the buffer sets, so that no work finds the data of the
  // previous one in the caches. The first failure ends it.
  virtual Result<TurnTiming> time_in_turn(std::span<const TimedWork> works,
                                          const TurnBudget& budget) = 0;
};

// Nanoseconds of a monotonic clock of this machine.
using HostClock = std::function<std::int64_t()>;
std::int64_t steady_clock_ns();

// The timer of the cpu device: method "emulation", the host's clock around each launch, after one
// launch that is not timed. It exercises the pipeline. Its times say nothing about a GPU. Tests
// give a clock of their own.
std::unique_ptr<Timer> make_emulation_timer(HostClock clock = steady_clock_ns);

}  // namespace mgtune
