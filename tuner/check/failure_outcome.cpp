#include "check/failure_outcome.h"

namespace mgtune {

std::optional<Outcome> outcome_of(const Status& failure) {
  switch (failure.code()) {
    case StatusCode::compile_failed:
      return Outcome::compile_failed;
    case StatusCode::launch_failed:
      return Outcome::launch_failed;
    case StatusCode::timeout:
      return Outcome::timeout;
    case StatusCode::unsupported:
      return Outcome::unsupported;
    case StatusCode::device_lost:  // an access out of bounds on a GPU ends its context
      return Outcome::crashed;
    default:
      return std::nullopt;
  }
}

Status launch_failure(Status status) {
  if (status.code() != StatusCode::invalid_argument) return status;
  return {StatusCode::launch_failed, status.message()};
}

}  // namespace mgtune
