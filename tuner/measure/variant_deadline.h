// VariantDeadline: how long a measure worker may be at one variant before it is taken to hang.
// Until a variant of the problem came through, that is what the caller allows. From then on it is
// 20 times what that one took, its check and its launches, so that a variant that never ends costs
// seconds; but never under 5 s, because a machine that is busy with something else is no hang, and
// never more than the caller allows. A sweep measures the default first. Plain data; one thread.

#pragma once

#include <chrono>
#include <string>

#include "worker/protocol.h"

namespace mgtune {

class VariantDeadline {
 public:
  explicit VariantDeadline(std::chrono::milliseconds most) : most_(most) {}

  // What the caller allows: for everything that is not one variant's check and measurement.
  std::chrono::milliseconds most() const { return most_; }

  std::chrono::milliseconds of(const WorkRequest& request) const;
  void learn(const WorkRequest& request, const WorkReply& reply, std::chrono::milliseconds took);

  // What of() goes by: "; the first variant of the problem was done in 240ms", or "".
  std::string yardstick(const WorkRequest& request) const;

 private:
  bool knows(const WorkRequest& request) const;

  std::chrono::milliseconds most_;
  std::string problem_;  // of took_, with its operator and family
  std::chrono::milliseconds took_{};
};

}  // namespace mgtune
