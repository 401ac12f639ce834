#include "measure/measure_pool.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

#include "worker/worker_failure.h"

namespace mgtune {
namespace {

// One measurement may always wait at a worker. More may wait only if they take at most this time
// together.
constexpr double kSecondsAhead = 0.02;

GpuPhase phase_of(const WorkRequest& request) {
  if (request.is<FinalRequest>() || request.is<EnergyRequest>()) return GpuPhase::final;
  if (request.is<CeilingRequest>()) return GpuPhase::ceilings;
  return request.is<ProbeRequest>() ? GpuPhase::start : GpuPhase::measure;
}

const NamedProblem* measured_by(const WorkRequest& request) {
  return std::get_if<MeasureRequest>(&request.work);
}

// The reply for a variant that ended every worker, the last two while the sweep ran nothing else.
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
                         const TimingMethod& method, std::chrono::milliseconds deadline,
                         const std::vector<Cores>& cores)
    : times_(devices.size()) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::vector<std::string> command = {program,       "worker",    "measure",
                                              devices[i].id, method.name, method.reason};
    seats_.push_back(
        {devices[i], WorkerProcess(command, deadline, i < cores.size() ? cores[i] : Cores())});
  }
}

MeasurePool::~MeasurePool() {
  for (Seat& seat : seats_) seat.worker.dismiss();
}

bool MeasurePool::is_at_work() const {
  return !std::ranges::all_of(seats_, [](const Seat& seat) { return seat.jobs.empty(); });
}

bool MeasurePool::needs_silence() const {
  return (!waiting_.empty() && waiting_.front().is_alone) ||
         std::ranges::any_of(seats_, [](const Seat& seat) {
           return !seat.jobs.empty() && seat.jobs.front().is_alone;
         });
}

// Requests with Place::not_first go to the first GPU that is used only if there is no other one.
bool MeasurePool::admits(const Seat& seat, Place place) const {
  if (!seat.is_used || place == Place::any) return seat.is_used;
  const auto first = std::ranges::find_if(seats_, &Seat::is_used);
  return &seat != &*first || std::ranges::count_if(seats_, &Seat::is_used) == 1;
}

// How many requests may wait at the worker, in addition to the one that it works on.
std::size_t MeasurePool::most_next(const Seat& seat, std::size_t left) const {
  std::size_t most = kMostRequests - 1;
  if (!seat.last_seconds) return 1;
  if (*seat.last_seconds * static_cast<double>(most) > kSecondsAhead) {
    most = static_cast<std::size_t>(kSecondsAhead / *seat.last_seconds);
  }
  const auto used = static_cast<std::size_t>(std::ranges::count_if(seats_, &Seat::is_used));
  if (used > 1) most = std::min(most, left / (2 * used));
  return std::max<std::size_t>(most, 1);
}

// A request may wait only at a worker that works on the same problem. A request of the next problem
// may find an idle worker earlier, and would cost this worker a new checker.
std::optional<std::size_t> MeasurePool::place_for(const NamedProblem* measured, bool is_alone,
                                                  Place place, std::size_t left) const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    const Seat& seat = seats_[i];
    if (!admits(seat, place)) continue;
    if (seat.jobs.empty()) return i;
    if (measured == nullptr || is_alone) continue;
    const Job& job = seat.jobs.front();
    const bool is_next =
        !job.is_alone && job.measured == *measured && seat.jobs.size() <= most_next(seat, left);
    if (is_next && (!best || seat.jobs.size() < seats_[*best].jobs.size())) best = i;
  }
  return best;
}

bool MeasurePool::has_room(const NamedProblem& problem, std::size_t left, Place place) const {
  return waiting_.empty() && !needs_silence() &&
         place_for(&problem, false, place, left).has_value();
}

bool MeasurePool::has_idle(Place place) const {
  return std::ranges::any_of(
      seats_, [&](const Seat& seat) { return seat.jobs.empty() && admits(seat, place); });
}

void MeasurePool::start() {
  for (Seat& seat : seats_) {
    if (seat.is_used && !seat.has_served) seat.worker.start();
  }
}

void MeasurePool::submit(WorkRequest request, Place place, std::chrono::milliseconds extra_time) {
  waiting_.push_back({.request = std::move(request), .extra_time = extra_time, .place = place});
  feed();
  start();  // the workers that get their first request later
}

void MeasurePool::feed(bool is_silent) {
  while (!waiting_.empty()) {
    const WorkerProcess::Task& first = waiting_.front();
    const NamedProblem* const measured = measured_by(first.request);
    // has_room() has counted how many variants are left.
    const std::optional<std::size_t> place =
        place_for(measured, first.is_alone, first.place, std::numeric_limits<std::size_t>::max());
    if (!place) return;
    if (needs_silence() && (!is_silent || is_at_work())) return;
    Seat& seat = seats_[*place];
    seat.jobs.push_back({.id = first.request.id,
                         .measured = measured == nullptr ? std::nullopt : std::optional(*measured),
                         .is_alone = first.is_alone,
                         .extra_time = first.extra_time,
                         .place = first.place,
                         .phase = phase_of(first.request)});
    WorkerProcess::Task task = std::move(waiting_.front());
    waiting_.pop_front();
    if (seat.jobs.size() == 1) note_begin(seat, GpuTimes::Clock::now());
    seat.worker.submit(std::move(task));
  }
}

// Tells times_ that the first job of the seat begins.
void MeasurePool::note_begin(Seat& seat, GpuTimes::Clock::time_point now) {
  seat.since = now;
  seat.had_child = seat.worker.has_child() && seat.has_served;
  seat.restarts = seat.worker.restarts();
  times_.begin(static_cast<std::size_t>(&seat - seats_.data()), now);
}

// Tells times_ that the first job of the seat is over, and returns when it ended. If there is no
// reply, the request was lost. A worker that has another request began it right after its reply,
// and not when this process read the reply. But of a worker's first job it is not known when it
// began, because the worker had to start first.
GpuTimes::Clock::time_point MeasurePool::note_end(const Seat& seat, const WorkReply* reply) {
  const auto place = static_cast<std::size_t>(&seat - seats_.data());
  std::vector<GpuTimes::Part> parts;
  GpuPhase rest = seat.had_child ? GpuPhase::handover : GpuPhase::start;
  GpuTimes::Clock::time_point end = GpuTimes::Clock::now();
  const bool is_lost = reply == nullptr || reply->kind == WorkReply::Kind::failed ||
                       seat.worker.restarts() != seat.restarts || !seat.worker.has_child();
  if (is_lost) {
    rest = GpuPhase::failed;
  } else if (reply->seconds.has_value()) {
    const auto time_of = [](double seconds) {
      return std::chrono::duration_cast<GpuTimes::Clock::duration>(
          std::chrono::duration<double>(seconds));
    };
    const WorkSeconds& seconds = *reply->seconds;
    const double parts_of_it = seconds.load + seconds.check + seconds.measure;
    parts = {{GpuPhase::load, time_of(seconds.load)},
             {GpuPhase::check, time_of(seconds.check)},
             {GpuPhase::measure, time_of(seconds.measure)},
             {GpuPhase::unload, time_of(seconds.all - parts_of_it)}};
    const bool has_next = seat.jobs.size() > 1;
    if (has_next && seat.had_child)
      end = std::clamp(seat.since + time_of(seconds.all), seat.since, end);
  } else {
    rest = seat.jobs.front().phase;
  }
  times_.end(place, parts, rest, end);
  return end;
}

// Stops using this GPU. False if the sweep cannot continue without it.
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
  const auto end = note_end(seat, polled.ok() ? &(*polled)->reply : nullptr);
  seat.has_served = true;
  const Job job = std::move(seat.jobs.front());
  seat.jobs.pop_front();
  const auto begin_next = [&] {
    if (!seat.jobs.empty()) note_begin(seat, end);
  };
  if (polled.ok() && (*polled)->reply.kind != WorkReply::Kind::failed) {
    if (const auto& seconds = (*polled)->reply.seconds) seat.last_seconds = seconds->all;
    begin_next();
    feed();
    return std::optional(std::move((*polled)->reply));
  }
  const auto again = [&] {
    return WorkerProcess::Task{.request = std::move((*polled)->request),
                               .extra_time = job.extra_time,
                               .is_alone = job.is_alone,
                               .place = job.place};
  };
  if (polled.ok() && (*polled)->killed_in) {
    if (!job.is_alone) {
      begin_next();
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
  if (!leave_alone(seat, failure)) {
    begin_next();
    if (job.phase == GpuPhase::final) return std::optional(failed_reply(job.id, failure));
    return failure;
  }
  seat.jobs.clear();
  std::vector<WorkerProcess::Task> tasks = seat.worker.return_next();
  tasks.insert(tasks.begin(), polled.ok() ? again() : seat.worker.return_unstarted());
  waiting_.insert(waiting_.begin(), std::make_move_iterator(tasks.begin()),
                  std::make_move_iterator(tasks.end()));
  feed();
  return std::optional<WorkReply>();
}

Result<std::optional<WorkReply>> MeasurePool::poll_workers() {
  for (Seat& seat : seats_) {
    if (seat.jobs.empty()) continue;
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
  if (waits_for_one_) return std::optional<WorkReply>();  // measure() polls the workers
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
           return std::ranges::find(seat.jobs, request, &Job::id) != seat.jobs.end();
         });
}

Result<WorkReply> MeasurePool::measure(WorkRequest request) {
  const IdleCause cause(times_, GpuPhase::wait_decision);
  const std::int64_t id = request.id;
  submit(std::move(request));
  waits_for_one_ = true;
  Result<WorkReply> reply = wait_for(id);
  waits_for_one_ = false;
  return reply;
}

Result<WorkReply> MeasurePool::wait_for(std::int64_t id) {
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
