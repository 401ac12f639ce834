// MeasurePool: one measure worker for each of several GPUs of one model, or one for the cpu device.
// The caller does not choose the GPU of a measurement: results belong to the model.
//
// A GPU is not used any more if no worker can begin its work on the GPU (a worker first checks that
// the GPU works), or if its worker reports two times that the machine failed. Another GPU then gets
// the request.
//
// If a signal from outside ends a worker (SIGKILL when memory runs out, SIGTERM), no variant is to
// blame yet. After two such ends the request is started again with nothing else of the sweep beside
// it. If the worker is ended twice there too, the reply is `crashed`. Its `failure` is set: the
// caller must check that the machine does not kill every worker. One thread.

#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "system/wait_set.h"
#include "timing/timer.h"
#include "worker/protocol.h"
#include "worker/worker_process.h"

namespace mgtune {

class MeasurePool {
 public:
  // `program` is mgtune's path; no worker is started before the first request. `deadline` is for
  // each step of a worker: to `begin`, and from there to `done`.
  MeasurePool(const std::string& program, const std::vector<DeviceInfo>& devices,
              const TimingMethod& method, std::chrono::milliseconds deadline);

  MeasurePool(MeasurePool&&) = default;
  MeasurePool(const MeasurePool&) = delete;
  MeasurePool& operator=(const MeasurePool&) = delete;
  ~MeasurePool();

  std::size_t size() const { return seats_.size(); }
  bool has_idle() const;  // a worker that could begin at once

  void submit(WorkRequest request);  // when has_idle()

  // The reply to a request that is finished; nullopt if there is none now. A failure ends the
  // sweep: invalid_argument if the reference crashed or hung, environment if no worker can be
  // started any more, or, if no GPU is left, the failure of the machine that the last worker
  // reported twice.
  Result<std::optional<WorkReply>> poll();

  // Whether a request runs alone or waits to do so: no other work of the sweep may start.
  bool needs_silence() const;
  // Call it when no other work of the sweep runs. It starts a request that must be alone.
  void start_alone() { feed(true); }

  // Adds what poll() waits for; nothing if nothing is submitted.
  void join(WaitSet& waiting) const;

  // When nothing is submitted: submits the request and waits for its reply. The work may take
  // `extra_time` beyond the deadline: the launches of a final do.
  Result<WorkReply> measure(WorkRequest request, std::chrono::milliseconds extra_time = {});

  // The GPUs that are used no more, "NVIDIA H200 (1): no measure worker begins its work ...".
  const std::vector<std::string>& left_alone() const { return left_alone_; }

 private:
  struct Seat {
    DeviceInfo device;
    WorkerProcess worker;
    bool is_used = true;
    bool is_alone = false;                   // its request runs alone
    std::chrono::milliseconds extra_time{};  // of its request
  };

  void feed(bool is_silent = false);
  bool is_at_work() const;
  bool leave_alone(Seat& seat, const Status& why);

  std::vector<Seat> seats_;
  std::deque<WorkerProcess::Task> waiting_;  // for a free worker
  std::vector<std::string> left_alone_;
};

}  // namespace mgtune
