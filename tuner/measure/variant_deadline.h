// VariantDeadline: how long a measure worker may work on one variant before we take it to hang.
// Until one variant of the problem has been measured, this is the caller's limit. After that it is
// 20 times as long as that variant took (its check and its launches together), so that a variant
// that never ends costs only seconds. It is at least 5 s, because a variant may also be slow when
// the machine is busy with other programs. It is at most the caller's limit. A sweep measures the
// default variant first. Plain data; one thread.

#pragma once

#include <chrono>
#include <string>

#include "worker/protocol.h"

namespace mgtune {

class VariantDeadline {
 public:
  explicit VariantDeadline(std::chrono::milliseconds limit) : limit_(limit) {}

  // The caller's limit. It holds for everything but one variant's check and measurement.
  std::chrono::milliseconds limit() const { return limit_; }

  std::chrono::milliseconds of(const WorkRequest& request) const;
  void learn(const WorkRequest& request, const WorkReply& reply, std::chrono::milliseconds took);

  // For messages, the reason of the limit that of() returns: "; the first variant of the problem
  // was done in 240ms". "" if it is the caller's limit.
  std::string basis(const WorkRequest& request) const;

 private:
  bool knows(const WorkRequest& request) const;

  std::chrono::milliseconds limit_;
  NamedProblem problem_;  // the problem that took_ was measured with
  std::chrono::milliseconds took_{};
};

}  // namespace mgtune
