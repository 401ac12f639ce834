#include "timing/held_stream.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace mgtune {

// The word, and the thread that opens the gate if nobody else does.
class HeldStream::Gate {
 public:
  // Null if there is no memory for the word.
  static std::unique_ptr<Gate> make(const CudaDriver& driver, std::chrono::milliseconds patience) {
    void* word = nullptr;
    CUdeviceptr address = 0;
    if (driver.cuMemHostAlloc(&word, sizeof(std::uint32_t), CU_MEMHOSTALLOC_DEVICEMAP) !=
        CUDA_SUCCESS) {
      return nullptr;
    }
    if (driver.cuMemHostGetDevicePointer(&address, word, 0) != CUDA_SUCCESS) {
      driver.cuMemFreeHost(word);
      return nullptr;
    }
    return std::unique_ptr<Gate>(
        new Gate(driver, static_cast<std::uint32_t*>(word), address, patience));
  }

  ~Gate() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    watchdog_.join();
    driver_.cuMemFreeHost(word_);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Whether the stream now waits at the gate.
  bool close(CUstream stream) {
    const std::lock_guard lock(mutex_);
    // The stream waits for a word of at least this value. Each ticket is one more than the last.
    if (driver_.cuStreamWaitValue32(stream, address_, ticket_ + 1, CU_STREAM_WAIT_VALUE_GEQ) !=
        CUDA_SUCCESS) {
      return false;
    }
    ++ticket_;
    deadline_ = std::chrono::steady_clock::now() + patience_;
    closed_ = true;
    changed_.notify_all();
    return true;
  }

  // False if the watchdog had to open it.
  bool open() {
    const std::lock_guard lock(mutex_);
    return std::exchange(closed_, false) ? (let_go(), true) : false;
  }

 private:
  Gate(const CudaDriver& driver, std::uint32_t* word, CUdeviceptr address,
       std::chrono::milliseconds patience)
      : driver_(driver), word_(word), address_(address), patience_(patience) {
    *word_ = 0;
    watchdog_ = std::thread([this] { watch(); });
  }

  void let_go() {
    std::atomic_ref<std::uint32_t>(*word_).store(ticket_, std::memory_order_release);
  }

  void watch() {
    std::unique_lock lock(mutex_);
    while (!ends_) {
      if (!closed_) {
        changed_.wait(lock);
      } else if (changed_.wait_until(lock, deadline_) == std::cv_status::timeout && closed_ &&
                 std::chrono::steady_clock::now() >= deadline_) {
        closed_ = false;
        let_go();
      }
    }
  }

  const CudaDriver& driver_;
  std::uint32_t* word_;
  CUdeviceptr address_;
  std::chrono::milliseconds patience_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint32_t ticket_ = 0;
  bool closed_ = false;
  bool ends_ = false;
  std::chrono::steady_clock::time_point deadline_;
  std::thread watchdog_;
};

HeldStream::HeldStream(const CudaDriver& driver, CUcontext context, CUstream stream)
    : driver_(driver), context_(context), stream_(stream) {}

Result<std::unique_ptr<HeldStream>> HeldStream::make(const CudaDriver& driver, Device& device,
                                                     std::chrono::milliseconds patience) {
  MGTUNE_TRY(device.synchronize(nullptr));  // makes its context current here
  CUcontext context = nullptr;
  MGTUNE_TRY(driver.status(driver.cuCtxGetCurrent(&context), "finding the GPU's context"));
  CUstream stream = nullptr;
  MGTUNE_TRY(driver.status(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                           "making a stream to time on"));
  std::unique_ptr<HeldStream> held(new HeldStream(driver, context, stream));
  held->gate_ = Gate::make(driver, patience);
  if (held->gate_ == nullptr) held->note_ = "launches not queued ahead: no pinned host memory";
  return held;
}

HeldStream::~HeldStream() {
  if (!make_current().ok()) return;  // the device is lost, and the stream with it
  driver_.cuStreamSynchronize(stream_);
  gate_.reset();
  driver_.cuStreamDestroy(stream_);
}

Status HeldStream::make_current() const {
  return driver_.status(driver_.cuCtxSetCurrent(context_), "using the GPU");
}

Status HeldStream::synchronize() const {
  return driver_.status(driver_.cuStreamSynchronize(stream_), "running the timed kernels");
}

Status HeldStream::wait_for_device() {
  MGTUNE_TRY(make_current());
  return driver_.status(driver_.cuCtxSynchronize(), "waiting for the GPU");
}

Status HeldStream::run_free(const Enqueue& enqueue) {
  MGTUNE_TRY(make_current());
  Status queued = enqueue(stream_);
  Status ran = synchronize();  // also after a failure: what was queued before it uses buffers
  return queued.ok() ? ran : queued;
}

Status HeldStream::run_held(const Enqueue& enqueue) {
  if (gate_ == nullptr) return run_free(enqueue);
  MGTUNE_TRY(make_current());
  if (!gate_->close(stream_)) {
    gate_.reset();
    note_ = "launches not queued ahead: the driver cannot hold a stream";
    return run_free(enqueue);
  }
  Status queued = enqueue(stream_);
  const bool opened = gate_->open();
  Status ran = synchronize();
  if (!opened) {
    gate_.reset();
    note_ = "launches not queued ahead: the driver waited for the GPU while queueing";
  }
  return queued.ok() ? ran : queued;
}

Result<CUgraph> HeldStream::capture(const Enqueue& enqueue) {
  MGTUNE_TRY(make_current());
  MGTUNE_TRY(
      driver_.status(driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                     "capturing a graph"));
  const Status queued = enqueue(stream_);
  CUgraph graph = nullptr;
  const Status ended =
      driver_.status(driver_.cuStreamEndCapture(stream_, &graph), "capturing a graph");
  if (queued.ok() && ended.ok()) return graph;
  if (graph != nullptr) driver_.cuGraphDestroy(graph);
  return queued.ok() ? ended : queued;
}

}  // namespace mgtune
