// HeldStream: a CUDA stream of a timer's own that starts only when all work is queued. So the 2 to
// 3 us that the host needs per launch do not show between shorter kernels.
//
// It waits for a word of host memory (cuStreamWaitValue32), which uses no SM. If the work makes the
// driver wait for the GPU while the stream is held, it would wait for ever. So a watchdog releases
// the stream after `patience`, and from then on the stream is not held any more. One thread; the
// device must outlive it.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/status.h"
#include "device/cuda/cuda_driver.h"
#include "device/device.h"

namespace mgtune {

class HeldStream {
 public:
  // Queues work on the given stream.
  using Enqueue = std::function<Status(Stream stream)>;

  // `driver` must outlive it. Call this in the device's context.
  static Result<std::unique_ptr<HeldStream>> make(
      const CudaDriver& driver, Device& device,
      std::chrono::milliseconds patience = std::chrono::seconds(2));
  ~HeldStream();
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

  // Queues the work, then waits until it has run. Work that runs for the first time in a process
  // must run free, because the driver may wait for the GPU to load it. The Status is the first
  // failure of queueing or running.
  Status run_free(const Enqueue& enqueue);
  Status run_held(const Enqueue& enqueue);

  // Waits until all streams of the context are idle.
  Status wait_for_device();

  // Captures what `enqueue` queues instead of running it. The caller destroys the graph.
  Result<CUgraph> capture(const Enqueue& enqueue);

  // "", or why the host's launches may show in the times.
  const std::string& note() const { return note_; }

 private:
  class Gate;

  HeldStream(const CudaDriver& driver, CUcontext context, CUstream stream);
  Status make_current() const;
  Status synchronize() const;

  const CudaDriver& driver_;
  CUcontext context_;
  CUstream stream_;
  std::unique_ptr<Gate> gate_;  // null if the stream cannot be held
  std::string note_;
};

}  // namespace mgtune
