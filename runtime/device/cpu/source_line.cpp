#include "source_line.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <sstream>
#include <string_view>

#include "system/subprocess.h"

namespace mgtune {
namespace {

constexpr std::chrono::seconds kDeadline{5};

bool in_device_headers(std::string_view line) {
  return line.starts_with("mg/") || line.starts_with("mgcpu/");
}

// addr2line writes the place of an address and of each function it was inlined into, innermost
// first.
std::string pick_line(const std::string& output) {
  std::string innermost;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    while (line.starts_with("./")) line.erase(0, 2);
    if (const auto discriminator = line.find(" (disc"); discriminator != std::string::npos) {
      line.resize(discriminator);
    }
    if (line.starts_with("??")) continue;
    if (!in_device_headers(line)) return line;
    if (innermost.empty()) innermost = line;
  }
  return innermost;
}

}  // namespace

std::string source_line(const void* return_address) {
  const void* address = static_cast<const char*>(return_address) - 1;
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return fmt::format("{}", address);
  const auto offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);

  Subprocess command;
  command.arguments = {"addr2line", "-i", "-e", info.dli_fname, fmt::format("{:#x}", offset)};
  command.deadline = kDeadline;
  if (const Result<SubprocessOutcome> outcome = run_subprocess(command); outcome.ok()) {
    std::string line = pick_line(outcome.value().output);
    if (!line.empty()) return line;
  }
  const char* const symbol = info.dli_sname != nullptr ? info.dli_sname : info.dli_fname;
  return fmt::format("{}+{:#x}", symbol, offset);
}

}  // namespace mgtune
