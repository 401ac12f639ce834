#include "compile/compile_pool.h"

#include <algorithm>
#include <utility>

#include "worker/worker_failure.h"

namespace mgtune {
namespace {

// Variants that need too much memory are neighbours in a space. After this many suspects in a row
// we assume that the machine has no memory left.
constexpr int kMaxSuspectsInARow = 8;

// Per worker: no more failures than these wait for one probe.
constexpr std::size_t kMaxUnproven = 16;

bool is_machine_failure(const WorkReply& reply) {
  return reply.kind == WorkReply::Kind::failed && reply.failure == StatusCode::environment;
}

// Whether a request with `others` failed in a way that any variant of the group may have caused. If
// the worker refuses this variant, the reply has a build, because the worker has compiled this
// variant alone by then.
bool may_be_groups_fault(const WorkerProcess::Finished& finished) {
  const auto* compile = std::get_if<CompileRequest>(&finished.request.work);
  if (compile == nullptr || compile->others.empty()) return false;
  return !finished.reply.build.has_value() || finished.reply.outcome == Outcome::timeout;
}

}  // namespace

CompilePool::CompilePool(const std::vector<std::string>& command, std::size_t processes,
                         std::chrono::milliseconds deadline, const Cores& cores,
                         std::size_t most_together)
    : group_size_(most_together) {
  const std::size_t count = std::max<std::size_t>(processes, 1);
  slots_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    slots_.push_back({WorkerProcess(command, deadline, i < cores.size() ? cores : Cores())});
  }
}

CompilePool::~CompilePool() {
  for (Slot& slot : slots_) slot.worker.dismiss();
}

void CompilePool::submit(WorkRequest request, std::vector<std::string> kernels,
                         std::optional<std::string> group) {
  waiting_.push_back(
      {.request = std::move(request), .kernels = std::move(kernels), .group = std::move(group)});
  feed();
}

std::size_t CompilePool::running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(slots_, [](const Slot& slot) { return !slot.worker.is_idle(); }));
}

std::size_t CompilePool::next_ones() const {
  std::size_t count = 0;
  for (const Slot& slot : slots_) count += slot.next.size();
  return count;
}

std::size_t CompilePool::unproven() const {
  std::size_t count = 0;
  for (const Slot& slot : slots_) count += slot.unproven.size();
  return count;
}

std::size_t CompilePool::pending() const {
  const auto probes = static_cast<std::size_t>(std::ranges::count(slots_, true, &Slot::probes));
  return waiting_.size() + next_ones() + running() - probes + suspects_.size() + unproven() +
         finished_.size();
}

void CompilePool::pause(bool paused) {
  paused_ = paused;
  feed();
}

std::set<std::int64_t> CompilePool::drop_waiting(const std::set<std::int64_t>& requests) {
  const auto is_dropped = [&](const auto& work) { return requests.contains(work.request.id); };
  std::erase_if(waiting_, is_dropped);
  std::erase_if(suspects_, is_dropped);
  std::set<std::int64_t> others;
  for (Slot& slot : slots_) {
    std::erase_if(slot.next, is_dropped);
    std::erase_if(slot.unproven, [&](const Failure& failure) { return is_dropped(failure.work); });
    if (!slot.worker.is_idle() && requests.contains(slot.request)) others.insert(slot.request);
  }
  for (const WorkReply& reply : finished_) {
    if (requests.contains(reply.id)) others.insert(reply.id);
  }
  return others;
}

void CompilePool::begin(Slot& slot, WorkRequest request) {
  slot.request = request.id;
  slot.since = std::chrono::steady_clock::now();
  slot.worker.submit({std::move(request)});
}

std::chrono::duration<double> CompilePool::busy_time() const {
  std::chrono::steady_clock::duration busy = busy_;
  for (const Slot& slot : slots_) {
    if (!slot.worker.is_idle()) busy += std::chrono::steady_clock::now() - slot.since;
  }
  return busy;
}

// A probe costs as much as a light variant. So if there is other work, the probe waits until there
// are more failures.
bool CompilePool::must_probe(const Slot& slot) const {
  return !slot.unproven.empty() && (waiting_.empty() || slot.unproven.size() >= kMaxUnproven ||
                                    std::ranges::any_of(slot.unproven, is_alone));
}

CompilePool::Kernels CompilePool::kernels_at_work() const {
  Kernels kernels;
  const auto add = [&](const Work& work) {
    for (const std::string& kernel : work.kernels) {
      if (!compiled_.contains(kernel)) kernels.insert(kernel);
    }
  };
  for (const Slot& slot : slots_) {
    if (!slot.worker.is_idle()) add(slot.work);
    std::ranges::for_each(slot.next, add);
  }
  return kernels;
}

bool CompilePool::must_wait(const Work& work, const Kernels& at_work) {
  return std::ranges::any_of(work.kernels,
                             [&](const std::string& kernel) { return at_work.contains(kernel); });
}

bool CompilePool::runs_alone() const {
  return std::ranges::any_of(
      slots_, [](const Slot& slot) { return !slot.worker.is_idle() && slot.work.alone; });
}

bool CompilePool::may_join(const Work& work, const Work& first) {
  const auto* compile = std::get_if<CompileRequest>(&work.request.work);
  const auto& of_first = std::get<CompileRequest>(first.request.work);
  if (compile == nullptr || work.alone || !work.group || !work.doubt.empty()) return false;
  const NamedProblem& problem = *compile;
  return work.group == first.group && problem == of_first && compile->device == of_first.device;
}

// Makes the slot's request the first one of a group, if other requests may join it.
void CompilePool::take_others(Slot& slot, const Kernels& at_work) {
  auto* const first = std::get_if<CompileRequest>(&slot.work.request.work);
  if (first == nullptr || group_size_.wanted(first->op) == 1) return;
  if (!may_join(slot.work, slot.work)) return;  // it belongs to no group
  const auto joins = [&](const Work& work) {
    return may_join(work, slot.work) && !must_wait(work, at_work);
  };
  const auto waiting = 1 + static_cast<std::size_t>(std::ranges::count_if(waiting_, joins));
  const std::size_t size = group_size_.of(first->op, waiting, slots_.size());
  auto work = waiting_.begin();
  while (slot.next.size() + 1 < size) {
    work = std::find_if(work, waiting_.end(), joins);
    first->others.push_back(std::get<CompileRequest>(work->request.work).variant);
    slot.next.push_back(std::move(*work));
    work = waiting_.erase(work);
  }
}

// Every request of the group is tried again by itself. They keep their order and come before all
// other requests that need not run alone.
void CompilePool::disband(WorkRequest first, Slot& slot) {
  std::get<CompileRequest>(first.work).others.clear();
  std::deque<Work> group = std::exchange(slot.next, {});
  slot.work.request = std::move(first);
  group.push_front(std::move(slot.work));
  auto place = std::ranges::find(waiting_, false, &Work::alone);
  for (Work& work : group) {
    work.group.reset();
    place = std::next(waiting_.insert(place, std::move(work)));
  }
}

void CompilePool::feed() {
  if (paused_ || runs_alone()) return;
  // Groups that have begun continue first. A request that must run alone waits until no group is
  // left.
  for (Slot& slot : slots_) {
    if (!slot.worker.is_idle() || slot.next.empty()) continue;
    slot.work = std::move(slot.next.front());
    slot.next.pop_front();
    begin(slot, std::move(slot.work.request));
  }
  for (Slot& slot : slots_) {
    if (!slot.worker.is_idle()) continue;
    if (runs_alone()) return;
    if (must_probe(slot)) {
      // A variant that failed alone may need much memory. Its probe runs alone too, so that it does
      // not fail because other compilers use the memory.
      const bool alone = std::ranges::any_of(slot.unproven, is_alone);
      if (alone && running() > 0) return;
      slot.probes = true;
      slot.work = {.request = {}, .alone = alone};
      begin(slot, {0, ProbeRequest{std::string(CompileRequest::kKind)}});
      continue;
    }
    if (waiting_.empty()) continue;
    if (waiting_.front().alone && running() > 0) return;
    const Kernels at_work = kernels_at_work();
    const auto next =
        std::ranges::find_if(waiting_, [&](const Work& work) { return !must_wait(work, at_work); });
    if (next == waiting_.end()) return;
    slot.work = std::move(*next);
    waiting_.erase(next);
    slot.share.reset();
    take_others(slot, at_work);
    begin(slot, std::move(slot.work.request));
  }
}

Status CompilePool::suspect(WorkerProcess::Finished failed, Slot& slot) {
  if (++suspects_in_a_row_ == kMaxSuspectsInARow) {
    suspects_in_a_row_ = 0;
    suspects_.clear();
    return end_of_sweep(failed.request, failed.reply);
  }
  suspects_.push_back(std::move(failed));
  if (compiles_) charge_suspects(slot);
  return {};
}

void CompilePool::charge_suspects(Slot& slot) {
  for (WorkerProcess::Finished& suspect : suspects_) {
    WorkReply reply;
    reply.id = suspect.request.id;
    reply.outcome = Outcome::compile_failed;
    reply.failure = StatusCode::environment;
    reply.message = suspect.reply.message +
                    "\ntwice, the second time with no other compiler running, while other variants "
                    "compile; the same command tries it again";
    slot.unproven.push_back({{std::move(suspect.request), true}, std::move(reply)});
  }
  suspects_.clear();
}

Status CompilePool::judge(const WorkReply& probe, Slot& slot) {
  slot.probes = false;
  const bool passed = probe.kind == WorkReply::Kind::done && probe.outcome == Outcome::ok;
  std::vector<Failure> failures = std::exchange(slot.unproven, {});
  auto again = waiting_.begin();  // they keep their order and come first
  for (Failure& failure : failures) {
    // A new worker has its own temporary folder, so its probe proves nothing about the previous
    // worker.
    const bool same_worker =
        !failure.reply.build.has_value() || failure.restarts == slot.worker.restarts();
    if (passed && (same_worker || failure.work.alone)) {
      finished_.push_back(std::move(failure.reply));
    } else if (failure.work.doubt.empty()) {
      std::string doubt = passed ? "" : probe.message.empty() ? "the probe failed" : probe.message;
      again = std::next(
          waiting_.insert(again, {std::move(failure.work.request), true, std::move(doubt)}));
    } else {
      return end_of_sweep(failure.work.request,
                          failed_reply(failure.work.request.id, environment_error(probe.message)));
    }
  }
  if (!passed) slot.worker.replace();
  return {};
}

// The first reply of a group has the time of all its variants. Each of them gets an equal part.
void CompilePool::share_seconds(const WorkRequest& request, WorkReply& reply, Slot& slot) {
  const auto* compile = std::get_if<CompileRequest>(&request.work);
  if (compile == nullptr || reply.kind == WorkReply::Kind::failed) return;
  std::optional<double>& seconds = reply.compile_seconds;
  if (!compile->others.empty() && seconds) {
    *seconds /= static_cast<double>(compile->others.size() + 1);
    slot.share = seconds;
  } else if (!seconds && reply.outcome == Outcome::ok) {  // it comes from the cache
    seconds = slot.share;
  }
  if (seconds && slot.work.group) group_size_.report(compile->op, *seconds);
  // Without the cache, the other requests of a group would not find their builds, so we stop making
  // groups.
  if (!reply.not_cached.empty()) group_size_ = GroupSize(1);
}

Result<std::optional<WorkReply>> CompilePool::receive(WorkerProcess::Finished finished,
                                                      Slot& slot) {
  if (finished.request.is<ProbeRequest>()) {
    MGTUNE_TRY(judge(finished.reply, slot));
    return std::optional<WorkReply>();
  }
  if (may_be_groups_fault(finished)) {
    disband(std::move(finished.request), slot);
    return std::optional<WorkReply>();
  }
  share_seconds(finished.request, finished.reply, slot);
  const bool is_of_machine = is_machine_failure(finished.reply);
  if ((is_of_machine || finished.is_starved) && !slot.work.alone) {
    waiting_.push_front({std::move(finished.request), true});
    return std::optional<WorkReply>();
  }
  if (finished.reply.kind == WorkReply::Kind::failed && !slot.work.doubt.empty()) {
    finished.reply.failure = StatusCode::environment;
    finished.reply.message = slot.work.doubt + "\nand in a new worker: " + finished.reply.message;
    return end_of_sweep(finished.request, finished.reply);
  }
  if (is_of_machine) {
    MGTUNE_TRY(suspect(std::move(finished), slot));
    return std::optional<WorkReply>();
  }
  if (finished.reply.kind == WorkReply::Kind::failed) {
    return end_of_sweep(finished.request, finished.reply);
  }
  if (finished.reply.build.has_value()) {  // a compiler has run to its end
    compiles_ = true;
    suspects_in_a_row_ = 0;
    charge_suspects(slot);
  }
  if (finished.reply.outcome == Outcome::ok) {
    compiled_.insert(slot.work.kernels.begin(), slot.work.kernels.end());
    return std::optional(std::move(finished.reply));
  }
  slot.work.request = std::move(finished.request);
  slot.unproven.push_back(
      {std::move(slot.work), std::move(finished.reply), slot.worker.restarts()});
  return std::optional<WorkReply>();
}

Result<std::optional<WorkReply>> CompilePool::poll() {
  feed();
  for (Slot& slot : slots_) {
    if (slot.worker.is_idle()) continue;
    Result<std::optional<WorkerProcess::Finished>> finished = slot.worker.poll();
    if (!finished.ok()) slot.probes = false;
    if (!finished.ok()) return std::move(finished).take_status();
    if (!finished->has_value()) continue;
    busy_ += std::chrono::steady_clock::now() - slot.since;
    MGTUNE_ASSIGN(std::optional<WorkReply> reply, receive(**std::move(finished), slot));
    feed();  // a free worker starts before the caller handles the reply
    if (reply) return reply;
  }
  if (!finished_.empty()) {
    std::optional<WorkReply> reply(std::move(finished_.front()));
    finished_.pop_front();
    return reply;
  }
  if (has_only_suspects()) {  // no other variant can show that the machine works
    const WorkerProcess::Finished first = std::move(suspects_.front());
    suspects_.clear();
    return end_of_sweep(first.request, first.reply);
  }
  return std::optional<WorkReply>();
}

bool CompilePool::has_only_suspects() const {
  return !suspects_.empty() && waiting_.empty() && next_ones() == 0 && running() == 0;
}

void CompilePool::join(WaitSet& waiting) const {
  if (!finished_.empty() || has_only_suspects()) waiting.add(WaitSet::Clock::now());
  for (const Slot& slot : slots_) slot.worker.join(waiting);
}

}  // namespace mgtune
