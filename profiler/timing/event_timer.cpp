#include "timing/event_timer.h"

#include <utility>
#include <vector>

#include "timing/batch_timing.h"
#include "timing/event_row.h"

namespace mgtune {
namespace {

// The two events cost 2 us: 1 % of this.
constexpr BatchSize kEventBatch{.batch_ns = 200e3};

// Events do not say how many operations a call has. Up to four operations per call, and the events,
// fit the driver's queue of about 1000.
constexpr std::int64_t kMaxEventCalls = 200;

class EventClock final : public BatchClock {
 public:
  EventClock(const CudaDriver& driver, HeldStream& stream, const TimedWork& work)
      : events_(driver), stream_(stream), work_(work) {}

  Status start() override {
    MGTUNE_TRY(stream_.wait_for_device());
    return stream_.run_free([this](Stream stream) { return call(1, stream); });
  }

  Result<std::vector<double>> time(std::int64_t calls, std::int64_t batches) override {
    events_.clear();
    MGTUNE_TRY(stream_.run_held([&](Stream stream) { return queue(calls, batches, stream); }));
    MGTUNE_ASSIGN(std::vector<double> samples, events_.times_ns());
    for (double& sample : samples) sample /= static_cast<double>(calls);
    return samples;
  }

  std::int64_t max_calls() const override { return kMaxEventCalls; }
  std::int64_t max_batches(std::int64_t calls) const override { return max_calls() / calls; }

 private:
  Status queue(std::int64_t calls, std::int64_t batches, Stream stream) {
    MGTUNE_TRY(call(1, stream));  // follows an idle GPU; not of the samples
    MGTUNE_TRY(events_.record(stream));
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      MGTUNE_TRY(call(calls, stream));
      MGTUNE_TRY(events_.record(stream));
    }
    return {};
  }

  Status call(std::int64_t count, Stream stream) {
    for (std::int64_t i = 0; i < count; ++i) MGTUNE_TRY(work_(turn_++, stream));
    return {};
  }

  EventRow events_;
  HeldStream& stream_;
  const TimedWork& work_;
  std::int64_t turn_ = 0;
};

class EventTimer final : public BatchTimer {
 public:
  EventTimer(const CudaDriver& driver, std::unique_ptr<HeldStream> stream,
             const std::string& reason, std::unique_ptr<ClockWatch> watch)
      : BatchTimer("rotating_events", kEventBatch, std::move(watch)),
        driver_(driver),
        stream_(std::move(stream)),
        reason_("CUDA events, launch gaps included: " + reason) {}

 private:
  std::unique_ptr<BatchClock> clock(const TimedWork& work) override {
    return std::make_unique<EventClock>(driver_, *stream_, work);
  }
  std::string note() const override {
    return reason_ + (stream_->note().empty() ? "" : "; ") + stream_->note();
  }

  const CudaDriver& driver_;
  std::unique_ptr<HeldStream> stream_;
  std::string reason_;
};

}  // namespace

std::unique_ptr<Timer> make_event_timer(const CudaDriver& driver,
                                        std::unique_ptr<HeldStream> stream,
                                        const std::string& reason,
                                        std::unique_ptr<ClockWatch> watch) {
  return std::make_unique<EventTimer>(driver, std::move(stream), reason, std::move(watch));
}

}  // namespace mgtune
