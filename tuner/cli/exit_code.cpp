#include "cli/exit_code.h"

namespace mgtune {

std::string exit_code_list() {
  return "  0    success\n"
         "  1    compare: something became slower; profile, run: the variant is wrong\n"
         "  2    an argument is wrong, or names no kernel or no results\n"
         "  3    some variants failed\n"
         "  4    this machine lacks something, for example a GPU or a compiler\n"
         "  5    a file or folder is missing, damaged, or cannot be read or written\n"
         "  70   an error in mgtune\n"
         "  129, 130, 143   interrupted by SIGHUP, SIGINT or SIGTERM\n";
}

ExitCode exit_code(StatusCode code) {
  switch (code) {
    case StatusCode::ok:
      return ExitCode::ok;
    case StatusCode::invalid_argument:
    case StatusCode::not_found:
    case StatusCode::compile_failed:  // the family's sources are wrong
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
