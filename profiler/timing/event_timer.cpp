#include "timing/event_timer.h"

#include <string>
#include <utility>
#include <vector>

#include "timing/batch_timing.h"

namespace mgtune {
namespace {

// The two events cost 2 us: 1 % of this.
constexpr BatchSize kEventBatch{.batch_ns = 200e3};

// Events do not say how many operations a call has. Up to four operations per call, and the events,
// fit the driver's queue of about 1000.
constexpr std::int64_t kMaxEventCalls = 200;

// Long work still rotates: with several buffer sets a graph has 32 calls, and all sets, unless that
// takes more than 20 ms.
constexpr BatchSize kGraphBatch{.batch_ns = 1e6, .min_calls = 32, .longest_ns = 20e6};

// Instantiating takes about 2 us per node.
constexpr std::int64_t kMaxGraphCalls = 1024;
constexpr std::int64_t kMaxReplays = 16;

// A batch is its calls, launched one after the other between two events. A tick is 32 ns on Hopper
// and up to 0.5 us on older GPUs.
class EventClock : public BatchClock {
 public:
  EventClock(const CudaDriver& driver, HeldStream& stream, const TimedWork& work)
      : driver_(driver), stream_(stream), work_(work) {}
  ~EventClock() override {
    for (CUevent event : events_) driver_.cuEventDestroy(event);
  }
  EventClock(const EventClock&) = delete;
  EventClock& operator=(const EventClock&) = delete;

  Status start() override {
    MGTUNE_TRY(stream_.wait_for_device());
    return stream_.run_free([this](Stream stream) { return call(1, stream); });
  }

  Result<std::vector<double>> time(std::int64_t calls, std::int64_t batches) override {
    MGTUNE_TRY(prepare(calls));
    const auto queue = [&](Stream stream) -> Status {
      MGTUNE_TRY(lead(stream));  // follows an idle GPU, so it is not a sample
      MGTUNE_TRY(record(0, stream));
      for (std::int64_t i = 0; i < batches; ++i) {
        MGTUNE_TRY(batch(calls, stream));
        MGTUNE_TRY(record(static_cast<std::size_t>(i) + 1, stream));
      }
      return {};
    };
    MGTUNE_TRY(stream_.run_held(queue));
    std::vector<double> samples;
    for (std::size_t i = 0; i < static_cast<std::size_t>(batches); ++i) {
      float milliseconds = 0;
      MGTUNE_TRY(
          driver_.status(driver_.cuEventElapsedTime(&milliseconds, events_[i], events_[i + 1]),
                         "reading an event"));
      samples.push_back(static_cast<double>(milliseconds) * 1e6 / static_cast<double>(calls));
    }
    return samples;
  }

  std::int64_t max_calls() const override { return kMaxEventCalls; }
  std::int64_t max_batches(std::int64_t calls) const override { return max_calls() / calls; }

 protected:
  Status call(std::int64_t count, Stream stream) {
    for (std::int64_t i = 0; i < count; ++i) MGTUNE_TRY(work_(turn_++, stream));
    return {};
  }

  const CudaDriver& driver_;
  HeldStream& stream_;

 private:
  virtual Status prepare(std::int64_t /*calls*/) { return {}; }
  virtual Status lead(Stream stream) { return call(1, stream); }
  virtual Status batch(std::int64_t calls, Stream stream) { return call(calls, stream); }

  // Records the event of this index. The events are kept for the next batches.
  Status record(std::size_t index, Stream stream) {
    if (index == events_.size()) {
      CUevent event = nullptr;
      MGTUNE_TRY(
          driver_.status(driver_.cuEventCreate(&event, CU_EVENT_DEFAULT), "making an event"));
      events_.push_back(event);
    }
    return driver_.status(driver_.cuEventRecord(events_[index], static_cast<CUstream>(stream)),
                          "recording an event");
  }

  const TimedWork& work_;
  std::vector<CUevent> events_;
  std::int64_t turn_ = 0;
};

// A batch is a replay of one graph of its calls.
class GraphClock final : public EventClock {
 public:
  using EventClock::EventClock;
  ~GraphClock() override { destroy_graph(); }
  GraphClock(const GraphClock&) = delete;
  GraphClock& operator=(const GraphClock&) = delete;

  // If a graph has fewer calls than there are sets, it uses the same sets in every replay.
  std::string note(std::int64_t buffer_sets) const override {
    if (calls_ >= buffer_sets) return "";
    return "a graph turns through " + std::to_string(calls_) + " of " +
           std::to_string(buffer_sets) + " buffer sets";
  }

  std::int64_t max_calls() const override { return kMaxGraphCalls; }
  std::int64_t max_batches(std::int64_t) const override { return kMaxReplays; }

 private:
  Status lead(Stream stream) override { return replay(stream); }
  Status batch(std::int64_t, Stream stream) override { return replay(stream); }

  Status replay(Stream stream) {
    return driver_.status(driver_.cuGraphLaunch(graph_, static_cast<CUstream>(stream)),
                          "replaying the graph");
  }

  // Makes a graph of `calls` calls, which replay() then runs.
  Status prepare(std::int64_t calls) override {
    if (calls == calls_) return {};
    destroy_graph();
    MGTUNE_ASSIGN(CUgraph captured,
                  stream_.capture([&](Stream stream) { return call(calls, stream); }));
    const CUresult result = driver_.cuGraphInstantiate(&graph_, captured, 0);
    driver_.cuGraphDestroy(captured);
    MGTUNE_TRY(driver_.status(result, "instantiating the graph"));
    calls_ = calls;
    // Uploads the graph. The driver may wait for the GPU in this call.
    return stream_.run_free([this](Stream stream) { return replay(stream); });
  }

  void destroy_graph() {
    if (calls_ > 0) driver_.cuGraphExecDestroy(graph_);
    calls_ = 0;
  }

  CUgraphExec graph_ = nullptr;
  std::int64_t calls_ = 0;  // of graph_; 0 while there is none
};

class EventTimer final : public BatchTimer {
 public:
  EventTimer(const CudaDriver& driver, const TimingMethod& method,
             std::unique_ptr<HeldStream> stream, std::unique_ptr<ClockWatch> watch)
      : BatchTimer(method.name, method.name == "graph" ? kGraphBatch : kEventBatch,
                   std::move(watch)),
        driver_(driver),
        stream_(std::move(stream)),
        reason_(method.reason) {}

 private:
  std::unique_ptr<BatchClock> clock(const TimedWork& work) override {
    if (method() == "graph") return std::make_unique<GraphClock>(driver_, *stream_, work);
    return std::make_unique<EventClock>(driver_, *stream_, work);
  }

  std::string note() const override {
    if (method() == "graph") return stream_->note();
    return "CUDA events, launch gaps included: " + reason_ + (stream_->note().empty() ? "" : "; ") +
           stream_->note();
  }

  const CudaDriver& driver_;
  std::unique_ptr<HeldStream> stream_;
  std::string reason_;
};

}  // namespace

std::unique_ptr<Timer> make_event_timer(const CudaDriver& driver, const TimingMethod& method,
                                        std::unique_ptr<HeldStream> stream,
                                        std::unique_ptr<ClockWatch> watch) {
  return std::make_unique<EventTimer>(driver, method, std::move(stream), std::move(watch));
}

}  // namespace mgtune
