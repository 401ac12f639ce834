// BatchTimer: the code that all GPU timers share. A sample of short work has many launches. The GPU
// warms up until its times are stable, and samples are taken until the budget's stop rule ends it.
// Samples during which the GPU held its clocks down are taken again.
//
// Work that is far too slow loses its race (timing/early_race.h) before the warm-up is over.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "clocks/clock_watch.h"
#include "clocks/full_clocks.h"
#include "core/status.h"
#include "timing/timer.h"

namespace mgtune {

// How one method measures one piece of work. Every call uses the next buffer set, also a call that
// only warms up.
class BatchClock {
 public:
  virtual ~BatchClock() = default;

  // Runs the work once, so that the driver's extra work for a first launch is done.
  virtual Status start() = 0;

  // Runs `batches` batches of `calls` calls one after the other. Returns for each batch the mean
  // time of one call in nanoseconds.
  virtual Result<std::vector<double>> time(std::int64_t calls, std::int64_t batches) = 0;

  // How many calls a batch may have, and how many such batches one time() may have. At least 1;
  // known after start().
  virtual std::int64_t max_calls() const = 0;
  virtual std::int64_t max_batches(std::int64_t calls) const = 0;

  // The note on the last time(): "", or in which way it is less than the method promises.
  virtual std::string note(std::int64_t /*buffer_sets*/) const { return ""; }
};

struct BatchSize {
  double batch_ns = 50e3;      // a batch has as many calls as fit into this time
  std::int64_t min_calls = 1;  // and at least these, unless they take more than longest_ns
  double longest_ns = 0;
  // Whether the clock itself adds nothing to the time of a call, so that a batch of one call is as
  // exact as a longer one.
  bool times_single_calls = false;

  // The number of calls in a batch of work that takes `call_ns`. It is a power of two, so that it
  // stays the same if the times of two runs differ a little.
  std::int64_t calls(double call_ns, std::int64_t max_calls) const;
};

class BatchTimer : public Timer {
 public:
  const std::string& method() const final { return method_; }
  Result<Timing> time(const TimedWork& work, const TimingBudget& budget) final;
  Result<TurnTiming> time_in_turn(std::span<const TimedWork> works, const TurnBudget& budget) final;

 protected:
  // `watch` may be null. Timing::note says if times did not become stable, and has the text of
  // note().
  BatchTimer(std::string method, const BatchSize& size, std::unique_ptr<ClockWatch> watch);

 private:
  virtual std::unique_ptr<BatchClock> clock(const TimedWork& work) = 0;  // `work` must outlive it
  virtual std::string note() const = 0;  // of the method, about all of its measurements

  std::string method_;
  BatchSize size_;
  std::unique_ptr<ClockWatch> watch_;
  FullClocks full_clocks_;  // of the GPU, from all measurements of this timer
};

}  // namespace mgtune
