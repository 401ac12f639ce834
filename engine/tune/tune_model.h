// What `mgengine tune` does. For each kernel of a model, the most expensive first, it takes the
// variants that sweeps found fast and tries them in whole tokens. It stores the fastest ones as
// picks of the method `token`, which programs prefer. One thread.

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
  std::string source;                            // source of the variants, as in StepsOptions;
                                                 // "": the database and the installed tables
  std::string command;                           // as typed, for the store
  std::vector<std::uint32_t> positions = {128};  // a sample is the mean over these
  std::uint32_t run = 16;                        // tokens per position and sample
  std::uint32_t rounds = 15;                     // per comparison: see tune_token()
  std::uint32_t candidates = 8;  // at most, per kernel; again as many near a better one
  double max_ratio = 1.25;       // largest time of a candidate alone, relative to the fastest: see
                                 // choose_candidates()
};

// A kernel of the model, as it was before and as it is now.
struct TunedKernel {
  std::string op, problem;
  std::uint32_t count = 0;  // launches per token
  std::string method;       // timing method of the sweep; "" if no sweep timed the problem here
  std::string before;       // the variant that programs ran until now
  double before_ns = 0;     // time of a launch alone, from the database or a table; 0: unknown
  double share = 0;         // part of these times of all kernels in a token, mean over positions
  double pick_ns = 0;       // time of a launch of decision.pick alone; 0: not measured
  TokenDecision decision;
};

struct ModelTuning {
  std::vector<TunedKernel> kernels;  // those that cost most first
  TokenTuning tokens;                // without its decisions: they are in the kernels
  std::int64_t picks = 0;            // rows that were stored
};

// Only kernels of programs that serve one of the positions are tuned. The pick of a kernel is
// stored as soon as it is decided. If the picks are not faster together, the variants from before
// are stored as picks again.
//
// The session must run on `device` by a way that can choose variants, with tuned rows from the
// source. `report` is called after each trial. not_found if there is no database, or if it has
// no time of any kernel of the model on this device; otherwise what the machine and the store say.
Result<ModelTuning> tune_model(
    Session& session, const DeviceInfo& device, const TuneOptions& options,
    const std::function<void(const TunedKernel&, const TokenTrial&)>& report);

}  // namespace mgtune::engine
