#include "measure/measure_pool.h"

#include <algorithm>
#include <utility>

#include "worker/worker_failure.h"

namespace mgtune {
namespace {

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
                         const TimingMethod& method, std::chrono::milliseconds deadline) {
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

bool MeasurePool::has_idle() const {
  return waiting_.empty() && !needs_silence() && std::ranges::any_of(seats_, [](const Seat& seat) {
           return seat.is_used && seat.worker.is_idle();
         });
}

void MeasurePool::submit(WorkRequest request) {
  waiting_.push_back({std::move(request)});
  feed();
}

void MeasurePool::feed(bool is_silent) {
  for (Seat& seat : seats_) {
    if (waiting_.empty()) return;
    if (!seat.is_used || !seat.worker.is_idle()) continue;
    if (needs_silence() && (!is_silent || is_at_work())) return;
    seat.is_alone = waiting_.front().is_alone;
    seat.extra_time = waiting_.front().extra_time;
    seat.worker.submit(std::move(waiting_.front()));
    waiting_.pop_front();
  }
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

Result<std::optional<WorkReply>> MeasurePool::poll() {
  for (Seat& seat : seats_) {
    if (seat.worker.is_idle()) continue;
    Result<std::optional<WorkerProcess::Finished>> polled = seat.worker.poll();
    if (polled.ok() && !polled->has_value()) continue;
    if (polled.ok() && (*polled)->reply.kind != WorkReply::Kind::failed) {
      feed();
      return std::optional(std::move((*polled)->reply));
    }
    if (polled.ok() && (*polled)->killed_in) {
      if (!seat.is_alone) {
        waiting_.push_front({.request = std::move((*polled)->request),
                             .extra_time = seat.extra_time,
                             .is_alone = true});
        continue;
      }
      if ((*polled)->killed_in == WorkReply::Phase::variant) {
        return std::optional(crashed_alone((*polled)->reply));
      }
    }
    Status failure =
        polled.ok() ? end_of_sweep((*polled)->request, (*polled)->reply) : polled.status();
    if (!leave_alone(seat, failure)) return failure;
    waiting_.push_front(polled.ok() ? WorkerProcess::Task{.request = std::move((*polled)->request),
                                                          .extra_time = seat.extra_time,
                                                          .is_alone = seat.is_alone}
                                    : seat.worker.return_unstarted());
    feed();
  }
  return std::optional<WorkReply>();
}

void MeasurePool::join(WaitSet& waiting) const {
  for (const Seat& seat : seats_) seat.worker.join(waiting);
}

Result<WorkReply> MeasurePool::measure(WorkRequest request, std::chrono::milliseconds extra_time) {
  waiting_.push_back({.request = std::move(request), .extra_time = extra_time});
  feed();
  while (true) {
    MGTUNE_ASSIGN(std::optional<WorkReply> reply, poll());
    if (reply) return *std::move(reply);
    start_alone();  // the caller waits here, so it starts nothing else
    WaitSet waiting;
    join(waiting);
    waiting.wait();
  }
}

}  // namespace mgtune
