#include "measure/variant_deadline.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

namespace mgtune {
namespace {

constexpr int kFactor = 20;
constexpr std::chrono::seconds kMinimum{5};

}  // namespace

bool VariantDeadline::knows(const WorkRequest& request) const {
  const auto* measure = std::get_if<MeasureRequest>(&request.work);
  return measure != nullptr && problem_ == *measure;
}

std::chrono::milliseconds VariantDeadline::of(const WorkRequest& request) const {
  if (!knows(request)) return limit_;
  return std::min<std::chrono::milliseconds>(
      limit_, std::max<std::chrono::milliseconds>(kMinimum, kFactor * took_));
}

void VariantDeadline::learn(const WorkRequest& request, const WorkReply& reply,
                            std::chrono::milliseconds took) {
  const bool came_through = reply.outcome == Outcome::ok || reply.outcome == Outcome::raced_out;
  const auto* measure = std::get_if<MeasureRequest>(&request.work);
  if (measure == nullptr || !came_through || knows(request)) return;
  problem_ = *measure;
  took_ = took;
}

std::string VariantDeadline::basis(const WorkRequest& request) const {
  if (!knows(request)) return "";
  return fmt::format("; the first variant of the problem was done in {}", took_);
}

}  // namespace mgtune
