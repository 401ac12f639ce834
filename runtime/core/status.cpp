#include "core/status.h"

#include <array>

namespace mgtune {

std::string_view to_string(StatusCode code) {
  constexpr std::array<std::string_view, 13> kWords = {
      "ok",      "invalid_argument", "not_found",     "environment", "corrupt",     "incompatible",
      "io",      "compile_failed",   "launch_failed", "timeout",     "device_lost", "unsupported",
      "internal"};
  return kWords[static_cast<std::size_t>(code)];
}

const std::string& Status::message() const {
  static const std::string kEmpty;
  return failure_ ? failure_->message : kEmpty;
}

Status Status::with_context(std::string_view context) && {
  if (failure_) failure_->message = std::string(context) + ": " + failure_->message;
  return std::move(*this);
}

}  // namespace mgtune
