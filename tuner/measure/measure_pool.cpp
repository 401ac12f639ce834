#include "measure/measure_pool.h"

#include <algorithm>
#include <utility>

#include "worker/worker_failure.h"

namespace mgtune {

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

bool MeasurePool::has_idle() const {
  return waiting_.empty() && std::ranges::any_of(seats_, [](const Seat& seat) {
           return seat.is_used && seat.worker.is_idle();
         });
}

void MeasurePool::submit(WorkRequest request) {
  waiting_.push_back({std::move(request)});
  feed();
}

void MeasurePool::feed() {
  for (Seat& seat : seats_) {
    if (waiting_.empty()) return;
    if (!seat.is_used || !seat.worker.is_idle()) continue;
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
    Status failure =
        polled.ok() ? end_of_sweep((*polled)->request, (*polled)->reply) : polled.status();
    if (!leave_alone(seat, failure)) return failure;
    waiting_.push_front(polled.ok() ? WorkerProcess::Task{std::move((*polled)->request)}
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
  MGTUNE_ASSIGN(std::optional<WorkReply> reply, wait_for_next(*this));
  return *std::move(reply);
}

}  // namespace mgtune
