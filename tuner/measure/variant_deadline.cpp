#include "measure/variant_deadline.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

namespace mgtune {
namespace {

constexpr int kTimes = 20;
constexpr std::chrono::seconds kLeast{5};

std::string problem_of(const WorkRequest& request) {
  return request.kernel + '\n' + request.op + '\n' + request.problem;
}

}  // namespace

bool VariantDeadline::knows(const WorkRequest& request) const {
  return request.kind == WorkRequest::Kind::measure && problem_ == problem_of(request);
}

std::chrono::milliseconds VariantDeadline::of(const WorkRequest& request) const {
  if (!knows(request)) return most_;
  return std::min<std::chrono::milliseconds>(
      most_, std::max<std::chrono::milliseconds>(kLeast, kTimes * took_));
}

void VariantDeadline::learn(const WorkRequest& request, const WorkReply& reply,
                            std::chrono::milliseconds took) {
  const bool came_through = reply.outcome == Outcome::ok || reply.outcome == Outcome::raced_out;
  if (request.kind != WorkRequest::Kind::measure || !came_through || knows(request)) return;
  problem_ = problem_of(request);
  took_ = took;
}

std::string VariantDeadline::yardstick(const WorkRequest& request) const {
  if (!knows(request)) return "";
  return fmt::format("; the first variant of the problem was done in {}", took_);
}

}  // namespace mgtune
