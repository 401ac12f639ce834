// GpuTimes: where the wall time of each GPU of a sweep went. At each moment a GPU is in exactly one
// phase: it is at work, or it is idle for one reason. So the times of a GPU's phases add up exactly
// to the wall time.
//
// The measure pool says when a GPU begins and ends a request. The reply of the worker says how much
// time loading, checking and measuring took. The thread that drives the sweep says why GPUs are
// idle: what it does, or what it waits for. Each change reads the clock once. One thread. Callers
// may pass the time, so that tests can choose it.

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
  unload,    // the rest of a worker's work for a variant: unloading builds, writing its reply
  start,     // a worker starts and checks the GPU; part of its first request if that is no variant
  failed,    // all tries of a variant that crashed, hung or failed
  handover,  // a worker waits for its next request, or its reply waits for the sweep
  // Idle, because ...
  wait_compile,   // no build is ready
  wait_default,   // the default has no result yet, and no GPU is free beside it
  wait_decision,  // another GPU measures a ceiling or holds a final
  wait_alone,     // a variant that ended its worker runs again, alone
  wait_last,      // other GPUs measure the last variants of a problem
  store,          // the sweep writes to the database
  search,         // the search looks for the next variant
  loop,           // the sweep does anything else, for example it reads stored results
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
  // `parts` divides the time since begin() into phases; the remaining time belongs to the phase
  // `rest`. If the parts are longer than the time since begin(), the last ones are cut.
  struct Part {
    GpuPhase phase;
    Clock::duration time;
  };
  void end(std::size_t gpu, const std::vector<Part>& parts, GpuPhase rest,
           Clock::time_point now = Clock::now());

  // From now on `cause` is the reason why idle GPUs are idle. Returns the previous cause.
  GpuPhase set_cause(GpuPhase cause, Clock::time_point now = Clock::now());

  // The times until now. If the GPU is at work now, the time since it began counts as measuring.
  Times of(std::size_t gpu, Clock::time_point now = Clock::now()) const;
  std::size_t gpus() const { return gpus_.size(); }
  Clock::duration wall(Clock::time_point now = Clock::now()) const { return now - start_; }

 private:
  struct Gpu {
    Times times{};
    Clock::time_point since;  // the start of the time that `times` does not cover yet
    bool is_busy = false;
  };

  Clock::time_point start_;
  std::vector<Gpu> gpus_;
  GpuPhase cause_ = GpuPhase::loop;
};

// IdleCause: sets the cause as long as the object exists.
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
