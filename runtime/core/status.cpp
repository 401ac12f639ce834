#include "core/status.h"

namespace mgtune {

std::string_view to_string(StatusCode code) {
  switch (code) {
    case StatusCode::ok:
      return "ok";
    case StatusCode::invalid_argument:
      return "invalid_argument";
    case StatusCode::not_found:
      return "not_found";
    case StatusCode::environment:
      return "environment";
    case StatusCode::corrupt:
      return "corrupt";
    case StatusCode::incompatible:
      return "incompatible";
    case StatusCode::io:
      return "io";
    case StatusCode::compile_failed:
      return "compile_failed";
    case StatusCode::launch_failed:
      return "launch_failed";
    case StatusCode::timeout:
      return "timeout";
    case StatusCode::device_lost:
      return "device_lost";
    case StatusCode::unsupported:
      return "unsupported";
    case StatusCode::internal:
      return "internal";
  }
  return "unknown";
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
