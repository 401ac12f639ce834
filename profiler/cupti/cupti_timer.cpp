#include "cupti/cupti_timer.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "timing/batch_timing.h"

namespace mgtune {
namespace {

// The driver queues about 1000 operations before a launch blocks. A held stream must stay far below
// that.
constexpr std::int64_t kMaxOperations = 200;

std::uint64_t last_end_ns(std::span<const DeviceOperation> operations) {
  std::uint64_t end_ns = 0;
  for (const DeviceOperation& operation : operations) end_ns = std::max(end_ns, operation.end_ns);
  return end_ns;
}

// A dependent launch starts while the previous launch runs, and waits for it. Its time begins when
// the stream was free, at `before_ns`.
double span_ns(std::span<const DeviceOperation> operations, std::uint64_t before_ns) {
  const std::uint64_t end_ns = last_end_ns(operations);
  const std::uint64_t start_ns = std::max(operations.front().start_ns, before_ns);
  return static_cast<double>(end_ns - std::min(start_ns, end_ns));
}

class CuptiClock final : public BatchClock {
 public:
  CuptiClock(ActivityRecorder& recorder, HeldStream& stream, const CacheEviction* eviction,
             const TimedWork& work)
      : recorder_(recorder), stream_(stream), eviction_(eviction), work_(work) {}

  Status start() override {
    MGTUNE_TRY(stream_.wait_for_device());
    MGTUNE_TRY(recorder_.begin());
    MGTUNE_TRY(stream_.run_free([this](Stream stream) { return call(1, stream); }));
    MGTUNE_ASSIGN(const Activity activity, recorder_.end());
    operations_per_call_ = static_cast<std::int64_t>(activity.operations.size());
    if (operations_per_call_ > evictions()) return {};
    if (activity.dropped + activity.without_time > 0) return lost(activity, 1);
    return unsupported("the work to time launches nothing");
  }

  Result<std::vector<double>> time(std::int64_t calls, std::int64_t batches) override {
    // The first call follows an idle GPU, so it does not belong to the sample.
    const std::int64_t expected = (1 + calls * batches) * operations_per_call_;
    Result<Activity> activity = record(1 + calls * batches);
    if (activity.ok() && !is_complete(*activity, expected)) {
      MGTUNE_TRY(recorder_.begin());
      activity = record(1 + calls * batches);
    }
    if (!activity.ok()) return std::move(activity).take_status();
    if (!is_complete(*activity, expected)) return lost(*activity, expected);
    return samples(activity->operations, calls, batches);
  }

  std::int64_t max_calls() const override {
    return std::max<std::int64_t>(1, kMaxOperations / operations_per_call_);
  }
  std::int64_t max_batches(std::int64_t calls) const override { return max_calls() / calls; }

 private:
  Status call(std::int64_t count, Stream stream) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (eviction_ != nullptr) MGTUNE_TRY(eviction_->launch(stream));
      MGTUNE_TRY(work_(turn_++, stream));
    }
    return {};
  }

  // These come first among a call's operations, and do not belong to its time.
  std::int64_t evictions() const { return eviction_ == nullptr ? 0 : 1; }

  // Nothing else has run on the GPU since the last end(), so there are no records to drop. Leaving
  // out begin() saves a flush per measurement.
  Result<Activity> record(std::int64_t count) {
    MGTUNE_TRY(stream_.run_held([this, count](Stream stream) { return call(count, stream); }));
    return recorder_.end();
  }

  static bool is_complete(const Activity& activity, std::int64_t expected) {
    return static_cast<std::int64_t>(activity.operations.size()) == expected;
  }

  static Status lost(const Activity& activity, std::int64_t expected) {
    return environment_error("CUPTI gave times for " + std::to_string(activity.operations.size()) +
                             " of " + std::to_string(expected) + " operations (" +
                             std::to_string(activity.dropped) + " records dropped, " +
                             std::to_string(activity.without_time) + " without a time)");
  }

  // Operations of one stream start in the order of their launches, so those of one call are
  // neighbours.
  std::vector<double> samples(std::span<const DeviceOperation> operations, std::int64_t calls,
                              std::int64_t batches) const {
    const auto size = static_cast<std::size_t>(operations_per_call_);
    const auto untimed = static_cast<std::size_t>(evictions());
    std::vector<double> samples;
    std::uint64_t before_ns = last_end_ns(operations.first(size));
    operations = operations.subspan(size);
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      double sum_ns = 0;
      for (std::int64_t i = 0; i < calls; ++i, operations = operations.subspan(size)) {
        before_ns = std::max(before_ns, last_end_ns(operations.first(untimed)));
        sum_ns += span_ns(operations.first(size).subspan(untimed), before_ns);
        before_ns = std::max(before_ns, last_end_ns(operations.first(size)));
      }
      samples.push_back(sum_ns / static_cast<double>(calls));
    }
    return samples;
  }

  ActivityRecorder& recorder_;
  HeldStream& stream_;
  const CacheEviction* eviction_;
  const TimedWork& work_;
  std::int64_t operations_per_call_ = 0;  // the eviction's included
  std::int64_t turn_ = 0;
};

class CuptiTimer final : public BatchTimer {
 public:
  CuptiTimer(std::string method, std::unique_ptr<ActivityRecorder> recorder,
             std::unique_ptr<HeldStream> stream, std::unique_ptr<ClockWatch> watch,
             std::unique_ptr<CacheEviction> eviction)
      : BatchTimer(std::move(method), BatchSize{.times_single_calls = true}, std::move(watch)),
        recorder_(std::move(recorder)),
        stream_(std::move(stream)),
        eviction_(std::move(eviction)) {}

 private:
  std::unique_ptr<BatchClock> clock(const TimedWork& work) override {
    return std::make_unique<CuptiClock>(*recorder_, *stream_, eviction_.get(), work);
  }
  std::string note() const override { return stream_->note(); }

  std::unique_ptr<ActivityRecorder> recorder_;
  std::unique_ptr<HeldStream> stream_;
  std::unique_ptr<CacheEviction> eviction_;
};

}  // namespace

std::unique_ptr<Timer> make_cupti_timer(std::string method,
                                        std::unique_ptr<ActivityRecorder> recorder,
                                        std::unique_ptr<HeldStream> stream,
                                        std::unique_ptr<ClockWatch> watch,
                                        std::unique_ptr<CacheEviction> eviction) {
  return std::make_unique<CuptiTimer>(std::move(method), std::move(recorder), std::move(stream),
                                      std::move(watch), std::move(eviction));
}

}  // namespace mgtune
