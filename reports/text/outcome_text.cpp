#include "text/outcome_text.h"

namespace mgtune {

std::string_view explanation(Outcome outcome) {
  switch (outcome) {
    case Outcome::wrong:
      return "the output differs from the reference beyond the tolerance";
    case Outcome::crashed:
      return "the process that ran it ended";
    case Outcome::timeout:
      return "not finished at the deadline";
    case Outcome::compile_failed:
      return "the compiler refused it";
    case Outcome::launch_failed:
      return "the device refused or aborted the launch";
    case Outcome::unsupported:
      return "not possible on this device";
    case Outcome::unstable:
      return "the times scatter too much to be ranked";
    case Outcome::ok:
    case Outcome::raced_out:
      break;
  }
  return "";
}

std::string_view headline(std::string_view message) {
  const std::size_t error = message.find("error");
  if (error == std::string_view::npos) return message;
  const std::size_t line = message.rfind('\n', error);
  return line == std::string_view::npos ? message : message.substr(line + 1);
}

}  // namespace mgtune
