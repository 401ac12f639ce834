// FakeClock and FakeWatch: a GPU whose times and clocks a test says, and the BatchTimer of such
// clocks.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "clocks/clock_watch.h"
#include "timing/batch_timing.h"

namespace mgtune {

// Work whose n-th call takes time_ns(n).
class FakeClock final : public BatchClock {
 public:
  explicit FakeClock(std::function<double(std::int64_t)> time_ns) : time_ns_(std::move(time_ns)) {}

  std::int64_t calls_limit = 1000, batches_limit = 1000;
  Status start_status, time_status;
  std::vector<std::pair<std::int64_t, std::int64_t>> rounds;  // calls, batches

  Status start() override { return start_status; }
  Result<std::vector<double>> time(std::int64_t calls, std::int64_t batches) override {
    MGTUNE_TRY(Status(time_status));
    rounds.emplace_back(calls, batches);
    std::vector<double> samples;
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      double sum_ns = 0;
      for (std::int64_t i = 0; i < calls; ++i) sum_ns += time_ns_(next_++);
      samples.push_back(sum_ns / static_cast<double>(calls));
    }
    return samples;
  }
  std::int64_t max_calls() const override { return calls_limit; }
  std::int64_t max_batches(std::int64_t) const override { return batches_limit; }

 private:
  std::function<double(std::int64_t)> time_ns_;
  std::int64_t next_ = 0;
};

// Clocks that were made before, in turn; work is not looked at.
class TimerOfClocks final : public BatchTimer {
 public:
  explicit TimerOfClocks(std::vector<FakeClock*> clocks, const BatchSize& size = {},
                         std::unique_ptr<ClockWatch> watch = nullptr)
      : BatchTimer("fake", size, std::move(watch)), clocks_(std::move(clocks)) {}

  std::string method_note;

 private:
  class Forward final : public BatchClock {
   public:
    Forward(FakeClock& clock, const TimedWork& work) : clock_(clock), work_(work) {}
    Status start() override { return clock_.start(); }
    Result<std::vector<double>> time(std::int64_t calls, std::int64_t batches) override {
      if (work_) MGTUNE_TRY(work_(-1, nullptr));
      return clock_.time(calls, batches);
    }
    std::int64_t max_calls() const override { return clock_.max_calls(); }
    std::int64_t max_batches(std::int64_t calls) const override {
      return clock_.max_batches(calls);
    }
    std::string note(std::int64_t sets) const override { return sets > 3 ? "too many sets" : ""; }

   private:
    FakeClock& clock_;
    const TimedWork& work_;
  };

  std::unique_ptr<BatchClock> clock(const TimedWork& work) override {
    return std::make_unique<Forward>(*clocks_[next_++ % clocks_.size()], work);
  }
  std::string note() const override { return method_note; }

  std::vector<FakeClock*> clocks_;
  std::size_t next_ = 0;
};

// Says what it is told to, and its last reading from then on.
class FakeWatch final : public ClockWatch {
 public:
  explicit FakeWatch(std::vector<ClockSample> readings) : readings_(std::move(readings)) {}
  ClockSample read() override { return readings_[std::min(next_++, readings_.size() - 1)]; }

 private:
  std::vector<ClockSample> readings_;
  std::size_t next_ = 0;
};

inline constexpr std::uint64_t kPowerCap = 0x4;
inline constexpr ClockSample kFull{1980, 3201, 300, 40, 0};
inline constexpr ClockSample kCapped{1500, 3201, 700, 60, kPowerCap};

}  // namespace mgtune
