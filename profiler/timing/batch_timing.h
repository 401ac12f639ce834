// BatchTimer: what all timers of GPUs share. Short work is launched many times a sample, the GPU
// warms up until its times settle, and samples are taken until the budget's stop rule; those taken
// while the GPU held its clocks down are taken again.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "timing/timer.h"

namespace mgtune {

// How one method measures one piece of work. Buffer sets turn on from call to call, whatever the
// call is for.
class BatchClock {
 public:
  virtual ~BatchClock() = default;

  // Runs the work once: what the driver does at a first launch is over with it.
  virtual Status start() = 0;

  // Runs `batches` batches of `calls` calls behind each other and returns, for each batch, the time
  // of one of its calls in nanoseconds (the mean).
  virtual Result<std::vector<double>> time(std::int64_t calls, std::int64_t batches) = 0;

  // How many calls a batch may have, and how many such batches one time(). At least 1; known after
  // start().
  virtual std::int64_t max_calls() const = 0;
  virtual std::int64_t max_batches(std::int64_t calls) const = 0;

  // What there is to say of the last time(): "" or why it is less than the method promises.
  virtual std::string note(std::int64_t buffer_sets) const;

 protected:
  BatchClock() = default;
  BatchClock(const BatchClock&) = default;
  BatchClock& operator=(const BatchClock&) = default;
};

struct BatchSize {
  double batch_ns = 50e3;        // a batch has as many calls as take this long
  std::int64_t least_calls = 1;  // and at least these, as far as they take no more than longest_ns
  double longest_ns = 0;

  // The calls of a batch of work that takes `call_ns`. A power of two: it stays as it is while
  // times move a little.
  std::int64_t calls(double call_ns, std::int64_t max_calls) const;
};

class BatchTimer : public Timer {
 public:
  const std::string& method() const final { return method_; }
  Result<Timing> time(const TimedWork& work, const TimingBudget& budget) final;
  Result<TurnTiming> time_in_turn(std::span<const TimedWork> works, const TurnBudget& budget) final;

 protected:
  // `watch` may be null. Timing::note says where times did not settle, and what note() says.
  BatchTimer(std::string method, const BatchSize& size, std::unique_ptr<ClockWatch> watch);

 private:
  virtual std::unique_ptr<BatchClock> clock(const TimedWork& work) = 0;  // `work` outlives it
  virtual std::string note() const = 0;  // of the method, on all that it measured

  std::string method_;
  BatchSize size_;
  std::unique_ptr<ClockWatch> watch_;
};

}  // namespace mgtune
