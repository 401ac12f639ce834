// HeldStream: a CUDA stream of a timer's own that runs nothing before all of it is queued, so that
// the host's 2 to 3 us a launch do not show between kernels that are shorter.
//
// It waits on a word of host memory (cuStreamWaitValue32), which takes no SM. Work that makes the
// driver wait for the GPU while the stream is held would wait for ever: a watchdog lets it go after
// `patience`, and from then on nothing is held. One thread; the device outlives it.

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
  // Queues work on the stream that it is given.
  using Enqueue = std::function<Status(Stream stream)>;

  // `driver` outlives it. In the device's context.
  static Result<std::unique_ptr<HeldStream>> make(
      const CudaDriver& driver, Device& device,
      std::chrono::milliseconds patience = std::chrono::seconds(2));
  ~HeldStream();
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

  // Queues, then waits until it has run. What runs for the first time in a process is run free: the
  // driver may wait for the GPU to load it. The Status is the first failure, of queueing or
  // running.
  Status run_free(const Enqueue& enqueue);
  Status run_held(const Enqueue& enqueue);

  // Waits until all streams of the context are idle.
  Status wait_for_device();

  // Captures what `enqueue` queues instead of running it. The caller destroys the graph.
  Result<CUgraph> capture(const Enqueue& enqueue);

  // "" or why the host's launches may show in what was measured.
  const std::string& note() const { return note_; }

 private:
  class Gate;

  HeldStream(const CudaDriver& driver, CUcontext context, CUstream stream);
  Status make_current() const;
  Status synchronize() const;

  const CudaDriver& driver_;
  CUcontext context_;
  CUstream stream_;
  std::unique_ptr<Gate> gate_;  // null where the stream cannot be held
  std::string note_;
};

}  // namespace mgtune
