#include "compiler/compiler_failure.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>

namespace mgtune {
namespace {

constexpr int kSignalled = 128;

// The texts of strerror, with which compilers and linkers end their last line.
constexpr std::array<std::string_view, 5> kNoRoom = {"No space left on device",
                                                     "Disk quota exceeded", "Read-only file system",
                                                     "Input/output error", "File too large"};
constexpr std::array<std::string_view, 7> kNotTheSource = {
    "signal terminated program",  // g++, of cc1plus and as
    "terminated with signal",     // collect2, of ld
    "unable to execute command",  // clang
    "cannot execute",             // g++ without its cc1plus
    "out of memory allocating",
    "Cannot allocate memory",
    "Too many open files"};

// A diagnostic of the source quotes the source ("error: static assertion failed: ..."), so its
// words prove nothing.
bool is_of_the_source(std::string_view line) {
  return line.find(": error: ") != std::string_view::npos ||
         line.find(": warning: ") != std::string_view::npos ||
         line.find(": note: ") != std::string_view::npos ||
         line.find(" | ") != std::string_view::npos;
}

}  // namespace

Status machine_failure(const SubprocessOutcome& outcome) {
  if (outcome.exit_code > kSignalled) {
    const char* const name = ::sigdescr_np(outcome.exit_code - kSignalled);
    return environment_error("the compiler was ended by signal " +
                             std::to_string(outcome.exit_code - kSignalled) + " (" +
                             (name == nullptr ? "unknown" : name) + ")");
  }
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);) {
    const auto says = [&line](std::string_view words) {
      return line.find(words) != std::string::npos;
    };
    if (is_of_the_source(line) && !says("clang: error: ")) continue;
    if (std::ranges::any_of(kNoRoom, says) || says("Cannot create temporary file")) {
      return io_error("the compiler cannot write: " + line);
    }
    if (std::ranges::any_of(kNotTheSource, says)) return environment_error(line);
  }
  if (!outcome.output.empty()) return {};
  return environment_error("the compiler ended with code " + std::to_string(outcome.exit_code) +
                           " and gave no reason");
}

}  // namespace mgtune
