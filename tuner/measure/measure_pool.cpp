#include "measure/measure_pool.h"

#include <algorithm>
#include <utility>

#include "worker/worker_failure.h"

namespace mgtune {
namespace {

GpuPhase phase_of(const WorkRequest& request) {
  if (request.is<FinalRequest>() || request.is<EnergyRequest>()) return GpuPhase::final;
  if (request.is<CeilingRequest>()) return GpuPhase::ceilings;
  return request.is<ProbeRequest>() ? GpuPhase::start : GpuPhase::measure;
}

// The variant ended every worker, the last two of them with nothing else at work.
WorkReply crashed_alone(const WorkReply& killed) {
  WorkReply reply;
  reply.id = killed.id;
  reply.outcome = Outcome::crashed;
  reply.failure = StatusCode::environment;
  reply.message = killed.message + "\nthe last two times nothing else of the sweep was running";
  return reply;
}

}  // namespace

MeasurePool::MeasurePool(const std::string& program, const std::vector<DeviceInfo>& devices,
                         const TimingMethod& method, std::chrono::milliseconds deadline)
    : times_(devices.size()) {
  for (const DeviceInfo& device : devices) {
    const std::vector<std::string> command = {program,   "worker",    "measure",
                                              device.id, method.name, method.reason};
    seats_.push_back({device, WorkerProcess(command, deadline)});
  }
}

MeasurePool::~MeasurePool() {
  for (Seat& seat : seats_) seat.worker.dismiss();
}

bool MeasurePool::is_at_work() const {
  return !std::ranges::all_of(seats_, [](const Seat& seat) { return seat.worker.is_idle(); });
}

bool MeasurePool::needs_silence() const {
  return (!waiting_.empty() && waiting_.front().is_alone) ||
         std::ranges::any_of(
             seats_, [](const Seat& seat) { return seat.is_alone && !seat.worker.is_idle(); });
}

// The first GPU that is used also gets what is for others if there are no others any more.
bool MeasurePool::admits(const Seat& seat, Place place) const {
  if (!seat.is_used) return false;
  if (place == Place::any) return true;
  const auto first = std::ranges::find_if(seats_, &Seat::is_used);
  const bool is_only = std::ranges::count_if(seats_, &Seat::is_used) == 1;
  return is_only || (&seat == &*first) == (place == Place::first);
}

bool MeasurePool::has_idle(Place place) const {
  return waiting_.empty() && !needs_silence() && std::ranges::any_of(seats_, [&](const Seat& seat) {
           return admits(seat, place) && seat.worker.is_idle();
         });
}

void MeasurePool::submit(WorkRequest request, Place place) {
  waiting_.push_back({.request = std::move(request), .place = place});
  feed();
}

void MeasurePool::feed(bool is_silent) {
  for (std::size_t place = 0; place < seats_.size(); ++place) {
    Seat& seat = seats_[place];
    if (waiting_.empty()) return;
    if (!admits(seat, waiting_.front().place) || !seat.worker.is_idle()) continue;
    if (needs_silence() && (!is_silent || is_at_work())) return;
    WorkerProcess::Task task = std::move(waiting_.front());
    waiting_.pop_front();
    seat.is_alone = task.is_alone;
    seat.extra_time = task.extra_time;
    seat.place = task.place;
    seat.request = task.request.id;
    seat.phase = phase_of(task.request);
    seat.had_child = seat.worker.has_child();
    seat.restarts = seat.worker.restarts();
    times_.begin(place);
    seat.worker.submit(std::move(task));
  }
}

// Tells the times that the seat's worker is idle again. Without a reply the request was lost.
void MeasurePool::note_end(const Seat& seat, const WorkReply* reply) {
  const auto place = static_cast<std::size_t>(&seat - seats_.data());
  std::vector<GpuTimes::Part> parts;
  GpuPhase rest = seat.had_child ? GpuPhase::handover : GpuPhase::start;
  const bool is_lost = reply == nullptr || reply->kind == WorkReply::Kind::failed ||
                       seat.worker.restarts() != seat.restarts || !seat.worker.has_child();
  if (is_lost) {
    rest = GpuPhase::failed;
  } else if (reply->seconds.has_value()) {
    const auto add = [&](GpuPhase phase, double seconds) {
      const std::chrono::duration<double> time(seconds);
      parts.push_back({phase, std::chrono::duration_cast<GpuTimes::Clock::duration>(time)});
    };
    add(GpuPhase::load, reply->seconds->load);
    add(GpuPhase::check, reply->seconds->check);
    add(GpuPhase::measure, reply->seconds->measure);
  } else {
    rest = seat.phase;
  }
  times_.end(place, parts, rest);
}

// False if the sweep cannot go on without this GPU.
bool MeasurePool::leave_alone(Seat& seat, const Status& why) {
  const auto used = std::ranges::count_if(seats_, [](const Seat& other) { return other.is_used; });
  if (why.code() != StatusCode::environment || used < 2) return false;
  seat.is_used = false;
  left_alone_.push_back(seat.device.name + " (" + std::to_string(seat.device.index) +
                        "): " + why.message());
  return true;
}

Result<std::optional<WorkReply>> MeasurePool::receive(Seat& seat) {
  Result<std::optional<WorkerProcess::Finished>> polled = seat.worker.poll();
  if (polled.ok() && !polled->has_value()) return std::optional<WorkReply>();
  note_end(seat, polled.ok() ? &(*polled)->reply : nullptr);
  if (polled.ok() && (*polled)->reply.kind != WorkReply::Kind::failed) {
    feed();
    return std::optional(std::move((*polled)->reply));
  }
  const auto again = [&] {
    return WorkerProcess::Task{.request = std::move((*polled)->request),
                               .extra_time = seat.extra_time,
                               .is_alone = seat.is_alone,
                               .place = seat.place};
  };
  if (polled.ok() && (*polled)->killed_in) {
    if (!seat.is_alone) {
      waiting_.push_front(again());
      waiting_.front().is_alone = true;
      return std::optional<WorkReply>();
    }
    if ((*polled)->killed_in == WorkReply::Phase::variant) {
      return std::optional(crashed_alone((*polled)->reply));
    }
  }
  Status failure =
      polled.ok() ? end_of_sweep((*polled)->request, (*polled)->reply) : polled.status();
  if (!leave_alone(seat, failure)) return failure;
  waiting_.push_front(polled.ok() ? again() : seat.worker.return_unstarted());
  feed();
  return std::optional<WorkReply>();
}

Result<std::optional<WorkReply>> MeasurePool::poll_workers() {
  for (Seat& seat : seats_) {
    if (seat.worker.is_idle()) continue;
    MGTUNE_ASSIGN(std::optional<WorkReply> reply, receive(seat));
    if (reply) return reply;
  }
  return std::optional<WorkReply>();
}

Result<std::optional<WorkReply>> MeasurePool::poll() {
  if (!failure_.ok()) return std::exchange(failure_, Status());
  if (!finished_.empty()) {
    std::optional<WorkReply> reply(std::move(finished_.front()));
    finished_.pop_front();
    return reply;
  }
  if (decides_) return std::optional<WorkReply>();  // measure() polls the workers
  return poll_workers();
}

void MeasurePool::join(WaitSet& waiting) const {
  if (!finished_.empty() || !failure_.ok()) waiting.add(WaitSet::Clock::now());
  for (const Seat& seat : seats_) seat.worker.join(waiting);
}

bool MeasurePool::is_pending(std::int64_t request) const {
  return std::ranges::any_of(
             waiting_,
             [&](const WorkerProcess::Task& task) { return task.request.id == request; }) ||
         std::ranges::any_of(seats_, [&](const Seat& seat) {
           return !seat.worker.is_idle() && seat.request == request;
         });
}

Result<WorkReply> MeasurePool::measure(WorkRequest request, std::chrono::milliseconds extra_time) {
  const IdleCause cause(times_, GpuPhase::wait_decisive);
  decides_ = true;
  const std::int64_t id = request.id;
  Result<WorkReply> reply = wait_for(id, std::move(request), extra_time);
  decides_ = false;
  return reply;
}

Result<WorkReply> MeasurePool::wait_for(std::int64_t id, WorkRequest request,
                                        std::chrono::milliseconds extra_time) {
  waiting_.push_back(
      {.request = std::move(request), .extra_time = extra_time, .place = Place::first});
  feed();
  while (true) {
    Result<std::optional<WorkReply>> polled = poll_workers();
    if (!polled.ok()) {
      if (!is_pending(id)) return std::move(polled).take_status();
      failure_ = std::move(polled).take_status();
    } else if (polled->has_value() && (*polled)->id == id) {
      return **std::move(polled);
    } else if (polled->has_value()) {
      finished_.push_back(**std::move(polled));
    }
    WaitSet waiting;
    if (while_waiting_) {
      while_waiting_(waiting);
    } else {
      start_alone();  // the caller waits here, so it starts nothing else
    }
    join(waiting);
    waiting.wait();
  }
}

}  // namespace mgtune
