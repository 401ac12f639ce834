// What `mgengine tune` does: it tries the variants that sweeps found fast in whole tokens of a
// model, the kernels that cost most first, and stores what was fastest as picks of the method
// `token`, which programs prefer. One thread.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"
#include "generate/session.h"
#include "tune/token_tuner.h"

namespace mgtune::engine {

struct TuneOptions {
  std::string database;                          // with the results of sweeps; the picks go there
  std::string source;                            // of the session's variants, as in StepsOptions;
                                                 // "": the database and the installed tables
  std::string command;                           // as typed, for the store
  std::vector<std::uint32_t> positions = {128};  // a sample is the mean over them
  std::uint32_t run = 16;                        // tokens per position and sample
  std::uint32_t rounds = 15;                     // of a comparison: see tune_token()
  std::uint32_t candidates = 8;  // at most, per kernel; and as many near a better one
  double max_ratio = 1.25;       // of their times alone to the fastest: see
                                 // choose_candidates()
};

// A kernel of the model, as it was before and as it is now.
struct TunedKernel {
  std::string op, problem;
  std::uint32_t count = 0;  // launches per token
  std::string method;       // of the times alone; "" if no sweep has timed the problem here
  std::string before;       // the variant that programs ran until now
  double before_ns = 0;     // of a launch alone, by the database or a tuned table; 0: unknown
  double share = 0;         // of the known times of all kernels alone, the mean over the positions
  double pick_ns = 0;       // of a launch alone of decision.pick; 0: not measured
  TokenDecision decision;
};

struct ModelTuning {
  std::vector<TunedKernel> kernels;  // those that cost most first
  TokenTuning tokens;                // without its decisions: they are in the kernels
  std::int64_t picks = 0;            // rows that were stored
};

// Only kernels of programs that serve one of the positions are tuned. The pick of a kernel is
// stored as soon as it is decided. If the picks are not faster together, they are stored again as
// they were.
//
// The session must run on `device` by a way that can choose variants, with tuned rows from the
// source. `report` is called after each trial. not_found if there is no database, or if it has
// no time of any kernel of the model on this device; otherwise what the machine and the store say.
Result<ModelTuning> tune_model(
    Session& session, const DeviceInfo& device, const TuneOptions& options,
    const std::function<void(const TunedKernel&, const TokenTrial&)>& report);

}  // namespace mgtune::engine
