// MeasurePool: one measure worker for each of several GPUs of one model, or one for the cpu device.
// Results belong to the model, so any GPU may measure a variant, a ceiling, or all entries of a
// final. measure() waits for one request. Meanwhile the other GPUs continue with the requests that
// the while_waiting() function submits. The first request, or start(), starts the workers of all
// GPUs.
//
// A worker holds several measurements of one problem, so that it can begin the next one as soon as
// it is done with one, even if this process is busy. It holds two measurements, or up to four
// (kMostRequests) if the last measurement was so short that the waiting ones take at most 20 ms. So
// a sweep that is told to stop waits for little more than two measurements. If there are several
// GPUs, a worker gets more than two only if the problem has many variants left: a GPU never takes
// requests that wait at another GPU, so at the end of a problem one GPU would be busy while others
// wait.
//
// A GPU is not used any more if no worker can begin its work on the GPU (a worker first checks that
// the GPU works), or if its worker reports two times that the machine failed. Another GPU then gets
// the request.
//
// If a signal from outside ends a worker (SIGKILL when memory runs out, SIGTERM), no variant is to
// blame yet. After two such ends the request is started again while the sweep runs nothing else. If
// the worker is ended twice again, the reply is `crashed`. Its `failure` is set, because the caller
// must check that the machine does not kill every worker. One thread.

#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "measure/gpu_times.h"
#include "system/cores.h"
#include "system/wait_set.h"
#include "timing/timer.h"
#include "worker/protocol.h"
#include "worker/worker_process.h"

namespace mgtune {

class MeasurePool {
 public:
  // `program` is mgtune's path; no worker is started before the first request. `deadline` holds for
  // each step of a worker: until `begin`, and from there until `done`. `cores` has for each device
  // the cores that its worker may use (WorkerCores::measure); it may be shorter than `devices`.
  MeasurePool(const std::string& program, const std::vector<DeviceInfo>& devices,
              const TimingMethod& method, std::chrono::milliseconds deadline,
              const std::vector<Cores>& cores = {});

  MeasurePool(MeasurePool&&) = default;
  MeasurePool(const MeasurePool&) = delete;
  MeasurePool& operator=(const MeasurePool&) = delete;
  ~MeasurePool();

  using Place = WorkerProcess::Place;

  std::size_t size() const { return seats_.size(); }
  // Whether a worker could begin a measurement of this problem at once, or after other measurements
  // of this problem. `left`: how many variants of the problem are between search and result,
  // including those that workers have.
  bool has_room(const NamedProblem& problem, std::size_t left, Place place = Place::any) const;

  bool has_idle(Place place) const;  // a worker that has nothing to do

  // Starts the workers, so that they are ready when their first requests come: opening a GPU and
  // checking it takes some tenths of a second.
  void start();

  // Submit a measurement only when has_room(). Other work may be submitted at any time; the next
  // idle GPU begins it. The work may take `extra_time` more than the deadline, as a final does with
  // its many launches.
  void submit(WorkRequest request, Place place = Place::any,
              std::chrono::milliseconds extra_time = {});

  // The reply to a request that is finished; nullopt if there is none now. A failure ends the
  // sweep: invalid_argument if the reference crashed or hung, environment if no worker can be
  // started any more, or, if no GPU is left, the failure of the machine that the last worker
  // reported twice. Finals and energies are exceptions: a sweep can do without them, so the reply
  // to such a request says `failed` instead.
  Result<std::optional<WorkReply>> poll();

  // Whether a request runs alone or waits to do so: no other work of the sweep may start.
  bool needs_silence() const;
  // Call it when no other work of the sweep runs. It starts a request that must be alone.
  void start_alone() { feed(true); }

  // Adds to `waiting` what poll() waits for; adds nothing if there are no requests.
  void join(WaitSet& waiting) const;

  // Waits until a GPU has done the request. poll() returns the replies to other requests later.
  Result<WorkReply> measure(WorkRequest request);

  // measure() calls this function whenever there is news. The function may call all functions above
  // except measure(), and it adds to `waiting` what else to wait for. It must call start_alone()
  // when no other work of the sweep runs. If it is not set, nothing else happens during measure().
  using WhileWaiting = std::function<void(WaitSet& waiting)>;
  void while_waiting(WhileWaiting call) { while_waiting_ = std::move(call); }

  GpuTimes& times() { return times_; }  // by the indices of the devices
  const DeviceInfo& device(std::size_t place) const { return seats_[place].device; }

  // The GPUs that are not used any more: "NVIDIA H200 (1): no measure worker begins its work ...".
  const std::vector<std::string>& left_alone() const { return left_alone_; }

 private:
  // A request that a worker has.
  struct Job {
    std::int64_t id = 0;
    std::optional<NamedProblem> measured;    // the problem, if it is a measurement
    bool is_alone = false;                   // it runs alone
    std::chrono::milliseconds extra_time{};  // of the request
    Place place = Place::any;                // of the request
    GpuPhase phase = GpuPhase::measure;
  };
  struct Seat {
    DeviceInfo device;
    WorkerProcess worker;
    bool is_used = true;
    bool has_served = false;                  // its worker has replied or failed before
    std::deque<Job> jobs = {};                // the first is at work
    std::optional<double> last_seconds = {};  // of the last complete measurement
    GpuTimes::Clock::time_point since = {};   // when the first job began
    bool had_child = false;                   // at `since` it had a child that had served
    std::int64_t restarts = 0;                // of the worker, at `since`
  };

  void feed(bool is_silent = false);
  bool is_at_work() const;
  bool admits(const Seat& seat, Place place) const;
  std::size_t most_next(const Seat& seat, std::size_t left) const;
  // The index of the worker that gets such a request now: the worker with the fewest requests.
  // nullopt if no worker has room for it. `measured` is null if the request is not a measurement.
  // `left` limits nothing (it is the largest number) for a request that has_room() has let pass, or
  // that another worker had.
  std::optional<std::size_t> place_for(const NamedProblem* measured, bool is_alone, Place place,
                                       std::size_t left) const;
  bool is_pending(std::int64_t request) const;
  bool leave_alone(Seat& seat, const Status& why);
  Result<std::optional<WorkReply>> poll_workers();
  Result<WorkReply> wait_for(std::int64_t id);
  // Takes the reply that the seat's worker has, if any.
  Result<std::optional<WorkReply>> receive(Seat& seat);
  void note_begin(Seat& seat, GpuTimes::Clock::time_point now);
  GpuTimes::Clock::time_point note_end(const Seat& seat, const WorkReply* reply);

  std::vector<Seat> seats_;
  std::deque<WorkerProcess::Task> waiting_;  // for a free worker
  std::vector<std::string> left_alone_;
  bool waits_for_one_ = false;      // in measure()
  std::deque<WorkReply> finished_;  // replies that came while measure() waited for another one
  Status failure_;                  // of the request of another GPU, meanwhile
  WhileWaiting while_waiting_;
  GpuTimes times_;
};

}  // namespace mgtune
