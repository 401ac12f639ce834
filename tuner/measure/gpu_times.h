// GpuTimes: where the wall time of each GPU of a sweep went. At each moment a GPU is in exactly one
// phase: it is at work, or it is idle for a cause. So the phases of a GPU add up to the wall time,
// to the nanosecond.
//
// The measure pool says when a GPU begins and ends a request. How a request divides into loading,
// checking and measuring comes with the reply of the worker. The thread that drives the sweep says
// why GPUs are idle: what it does, or what it waits for. Each change costs a reading of the clock.
// One thread; callers pass the time, so tests choose it.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace mgtune {

enum class GpuPhase : std::uint8_t {
  // At work.
  load,      // builds are read from the cache, or compiled if they are not there, and loaded
  check,     // results are compared with the reference, which runs once per problem
  measure,   // launches are timed
  final,     // finals, with the energies of the finalists
  ceilings,  // of the GPU
  unload,    // the rest of what a worker does for a variant: it unloads builds, writes its reply
  start,     // a worker starts and checks the GPU
  failed,    // a variant crashed, hung or failed, and all that its tries cost
  handover,  // a worker waits for its next request, or its reply waits for the sweep
  // Idle, because ...
  wait_compile,   // no build is ready
  wait_default,   // the default has its result before any other variant
  wait_decision,  // another GPU measures a ceiling or holds a final
  wait_alone,     // a variant that ended its worker runs with nothing else beside it
  wait_last,      // other GPUs measure the last variants of a problem
  store,          // the sweep writes to the database
  search,         // the search looks for the next variant
  loop,           // the sweep does anything else, for example it reads what is known
};
inline constexpr std::size_t kGpuPhases = static_cast<std::size_t>(GpuPhase::loop) + 1;

std::string_view word_of(GpuPhase phase);         // "load", "idle: compile"; also the key in JSON
std::string_view description_of(GpuPhase phase);  // "waiting for compile processes"

class GpuTimes {
 public:
  using Clock = std::chrono::steady_clock;
  using Times = std::array<Clock::duration, kGpuPhases>;  // by phase

  explicit GpuTimes(std::size_t gpus, Clock::time_point now = Clock::now());

  void begin(std::size_t gpu, Clock::time_point now = Clock::now());
  // `parts` are what is known about the time since begin(); what they leave is of the phase `rest`.
  // If they are longer than that time, the last ones are cut.
  struct Part {
    GpuPhase phase;
    Clock::duration time;
  };
  void end(std::size_t gpu, const std::vector<Part>& parts, GpuPhase rest,
           Clock::time_point now = Clock::now());

  // From now on idle GPUs are idle because of this. Returns the cause before.
  GpuPhase set_cause(GpuPhase cause, Clock::time_point now = Clock::now());

  // Until now. A GPU that is at work counts as measuring.
  Times of(std::size_t gpu, Clock::time_point now = Clock::now()) const;
  std::size_t gpus() const { return gpus_.size(); }
  Clock::duration wall(Clock::time_point now = Clock::now()) const { return now - start_; }

 private:
  struct Gpu {
    Times times{};
    Clock::time_point since;  // which `times` do not cover yet
    bool is_busy = false;
  };

  Clock::time_point start_;
  std::vector<Gpu> gpus_;
  GpuPhase cause_ = GpuPhase::loop;
};

// IdleCause: sets the cause while it lives.
class IdleCause {
 public:
  IdleCause(GpuTimes& times, GpuPhase cause) : times_(times), before_(times.set_cause(cause)) {}
  IdleCause(const IdleCause&) = delete;
  IdleCause& operator=(const IdleCause&) = delete;
  ~IdleCause() { times_.set_cause(before_); }

 private:
  GpuTimes& times_;
  GpuPhase before_;
};

}  // namespace mgtune
