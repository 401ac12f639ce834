#include "timing/graph_timer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "timing/batch_timing.h"
#include "timing/event_row.h"

namespace mgtune {
namespace {

// Long work still rotates: a graph has 32 calls, and all buffer sets, unless that takes more than
// 20 ms.
constexpr BatchSize kGraphBatch{.batch_ns = 1e6, .least_calls = 32, .longest_ns = 20e6};

// Instantiating takes about 2 us per node.
constexpr std::int64_t kMaxGraphCalls = 1024;
constexpr std::int64_t kMaxBatches = 16;

class GraphClock final : public BatchClock {
 public:
  GraphClock(const CudaDriver& driver, HeldStream& stream, const TimedWork& work)
      : driver_(driver), events_(driver), stream_(stream), work_(work) {}
  ~GraphClock() override { forget(); }
  GraphClock(const GraphClock&) = delete;
  GraphClock& operator=(const GraphClock&) = delete;

  Status start() override {
    MGTUNE_TRY(stream_.wait_for_device());
    return stream_.run_free([this](Stream stream) { return call(1, stream); });
  }

  // If a graph has fewer calls than there are sets, it uses the same sets in every replay.
  std::string note(std::int64_t buffer_sets) const override {
    if (calls_ >= buffer_sets) return "";
    return "a graph turns through " + std::to_string(calls_) + " of " +
           std::to_string(buffer_sets) + " buffer sets";
  }

  Result<std::vector<double>> time(std::int64_t calls, std::int64_t batches) override {
    MGTUNE_TRY(hold(calls));
    events_.clear();
    MGTUNE_TRY(stream_.run_held([&](Stream stream) { return queue(batches, stream); }));
    MGTUNE_ASSIGN(std::vector<double> samples, events_.times_ns());
    for (double& sample : samples) sample /= static_cast<double>(calls);
    return samples;
  }

  std::int64_t max_calls() const override { return kMaxGraphCalls; }
  std::int64_t max_batches(std::int64_t) const override { return kMaxBatches; }

 private:
  Status queue(std::int64_t batches, Stream stream) {
    MGTUNE_TRY(replay(stream));  // follows an idle GPU; not of the samples
    MGTUNE_TRY(events_.record(stream));
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      MGTUNE_TRY(replay(stream));
      MGTUNE_TRY(events_.record(stream));
    }
    return {};
  }

  Status call(std::int64_t count, Stream stream) {
    for (std::int64_t i = 0; i < count; ++i) MGTUNE_TRY(work_(turn_++, stream));
    return {};
  }

  Status replay(Stream stream) {
    return driver_.status(driver_.cuGraphLaunch(graph_, static_cast<CUstream>(stream)),
                          "replaying the graph");
  }

  // Makes a graph of `calls` calls, which replay() then runs.
  Status hold(std::int64_t calls) {
    if (calls == calls_) return {};
    forget();
    MGTUNE_ASSIGN(CUgraph captured,
                  stream_.capture([&](Stream stream) { return call(calls, stream); }));
    const CUresult result = driver_.cuGraphInstantiate(&graph_, captured, 0);
    driver_.cuGraphDestroy(captured);
    MGTUNE_TRY(driver_.status(result, "instantiating the graph"));
    calls_ = calls;
    // Uploads the graph. The driver may wait for the GPU in this call.
    return stream_.run_free([this](Stream stream) { return replay(stream); });
  }

  void forget() {
    if (calls_ > 0) driver_.cuGraphExecDestroy(graph_);
    calls_ = 0;
  }

  const CudaDriver& driver_;
  EventRow events_;
  HeldStream& stream_;
  const TimedWork& work_;
  CUgraphExec graph_ = nullptr;
  std::int64_t calls_ = 0;  // of graph_; 0 while there is none
  std::int64_t turn_ = 0;
};

class GraphTimer final : public BatchTimer {
 public:
  GraphTimer(const CudaDriver& driver, std::unique_ptr<HeldStream> stream,
             std::unique_ptr<ClockWatch> watch)
      : BatchTimer("graph", kGraphBatch, std::move(watch)),
        driver_(driver),
        stream_(std::move(stream)) {}

 private:
  std::unique_ptr<BatchClock> clock(const TimedWork& work) override {
    return std::make_unique<GraphClock>(driver_, *stream_, work);
  }
  std::string note() const override { return stream_->note(); }

  const CudaDriver& driver_;
  std::unique_ptr<HeldStream> stream_;
};

}  // namespace

std::unique_ptr<Timer> make_graph_timer(const CudaDriver& driver,
                                        std::unique_ptr<HeldStream> stream,
                                        std::unique_ptr<ClockWatch> watch) {
  return std::make_unique<GraphTimer>(driver, std::move(stream), std::move(watch));
}

}  // namespace mgtune
