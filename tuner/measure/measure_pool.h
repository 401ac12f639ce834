// MeasurePool: a measure worker for each of some GPUs of one model, or one for the cpu device. Who
// asks for a measurement does not choose the GPU: results belong to the model.
//
// A GPU whose worker does not begin its work any more (it shows first that the GPU is well), or
// says twice that the machine failed it, is left alone while there are others, and the request goes
// to one of those. One thread.

#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "timing/timer.h"
#include "worker/protocol.h"
#include "worker/wait_set.h"
#include "worker/worker_process.h"

namespace mgtune {

class MeasurePool {
 public:
  // `program` is mgtune's path; nothing is started before the first request. `deadline` is for each
  // step of a worker: to begin, and from there to be done.
  MeasurePool(const std::string& program, const std::vector<DeviceInfo>& devices,
              const TimingMethod& method, std::chrono::milliseconds deadline);

  MeasurePool(MeasurePool&&) = default;
  MeasurePool(const MeasurePool&) = delete;
  MeasurePool& operator=(const MeasurePool&) = delete;
  ~MeasurePool();

  std::size_t size() const { return seats_.size(); }
  bool has_idle() const;  // a worker that could begin at once

  void submit(WorkRequest request);  // when has_idle(); the request's device is filled in

  // A finished one; nullopt when none is just now. A Status is what ends the sweep:
  // invalid_argument for a reference that crashed or hung, what the last worker said of the machine
  // (tried twice), environment when no worker can be started any more.
  Result<std::optional<WorkReply>> poll();

  // Adds when poll() has something new; nothing when nothing is submitted.
  void join(WaitSet& waiting) const;

  // When nothing is submitted: submit(), and blocks until poll() has what came of it. It may take
  // `more` beyond the deadline: a final's launches do.
  Result<WorkReply> measure(WorkRequest request, std::chrono::milliseconds more = {});

  // "NVIDIA H200 (1): no measure worker begins its work ...": of those that are used no more.
  const std::vector<std::string>& left_alone() const { return left_alone_; }

 private:
  struct Seat {
    DeviceInfo device;
    WorkerProcess worker;
    bool is_used = true;
  };

  void feed();
  bool leave_alone(Seat& seat, const Status& why);

  std::vector<Seat> seats_;
  std::deque<WorkerProcess::Task> waiting_;  // for a worker that is free
  std::vector<std::string> left_alone_;
};

}  // namespace mgtune
