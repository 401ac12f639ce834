#include "cli/exit_code.h"

namespace mgtune {

ExitCode exit_code(StatusCode code) {
  switch (code) {
    case StatusCode::ok:
      return ExitCode::ok;
    case StatusCode::invalid_argument:
    case StatusCode::not_found:
    case StatusCode::compile_failed:  // the family's sources are at fault
      return ExitCode::usage;
    case StatusCode::environment:
    case StatusCode::unsupported:
    case StatusCode::launch_failed:
    case StatusCode::timeout:
    case StatusCode::device_lost:
      return ExitCode::environment;
    case StatusCode::corrupt:
    case StatusCode::incompatible:
    case StatusCode::io:
      return ExitCode::data;
    case StatusCode::internal:
      return ExitCode::internal;
  }
  return ExitCode::internal;
}

}  // namespace mgtune
