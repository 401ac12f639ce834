#include "sweep/suspects.h"

#include <string>

namespace mgtune {
namespace {

// The same as for compilers (compile_pool.cpp): variants that need too much memory are neighbours
// in a space.
constexpr std::size_t kMaxSuspects = 8;

}  // namespace

Status Suspects::add(VariantState state) {
  states_.push_back(std::move(state));
  if (states_.size() < kMaxSuspects) return {};
  return environment_error(
      "the measure worker was killed at each of the last " + std::to_string(states_.size()) +
      " variants; the last one was " + states_.back().variant + ": " + states_.back().message +
      "\nnothing is recorded for them, and the same command goes on from here");
}

Status Suspects::probe(MeasurePool& workers, std::int64_t request) const {
  const Result<WorkReply> reply =
      workers.measure({request, ProbeRequest{std::string(MeasureRequest::kKind)}});
  if (reply.ok() && reply->outcome == Outcome::ok) return {};
  return environment_error((reply.ok() ? reply->message : reply.status().message()) + "\nafter " +
                           states_.front().variant + ": " + states_.front().message +
                           "\nnothing is recorded for it, and the same command goes on from here");
}

}  // namespace mgtune
