#include "fault.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <sstream>
#include <string_view>

#include "system/process.h"

namespace mgtune {
namespace {

// Clang puts "./" before the name of a file that it found beside another.
std::string line_text(const Place& place) {
  std::string_view file = place.file;
  while (file.starts_with("./")) file.remove_prefix(2);
  return fmt::format("{}:{}", file, place.line);
}

constexpr std::chrono::seconds kDeadlineOfLookUp{5};

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

std::string race_text(const Fault& fault, Dim3 block) {
  const Race& race = fault.race;
  return fmt::format(
      "race on shared memory: thread {} {} at {}, thread {} {} at {}, no {} between them",
      to_string(index_in(race.earlier_thread, block)), race.earlier_wrote ? "wrote" : "read",
      source_line(race.earlier_address), to_string(index_in(fault.thread, block)),
      race.later_writes ? "writes" : "reads", source_line(race.later_address),
      race.same_warp ? "__syncwarp" : "__syncthreads");
}

std::string access_text(const Fault& fault, Dim3 block) {
  const BadAccess& access = fault.access;
  const auto size = static_cast<std::int64_t>(access.element_bytes);
  // Rounded down, so that the byte before the start is in element -1.
  const std::int64_t element =
      access.offset >= 0 ? access.offset / size : -((size - 1 - access.offset) / size);
  const std::string unit = size == 1 ? "byte" : "element";
  std::string text =
      fmt::format("thread {} {} {} {} of {}{}", to_string(index_in(fault.thread, block)),
                  access.writes ? "writes" : "reads", unit, element,
                  access.is_shared_array ? "shared array " : "", access.name);
  if (access.is_unwritten) {
    text += ", which nothing has written,";
  } else {
    text += fmt::format(", which has {} {}s,", access.bytes / access.element_bytes, unit);
  }
  return text + " at " + source_line(access.return_address);
}

std::string meeting_text(const Fault& fault, Dim3 block, const char* what) {
  return fmt::format("{}: thread {} in {}, thread {} in {}", what,
                     to_string(index_in(fault.other_thread, block)), to_string(fault.other_place),
                     to_string(index_in(fault.thread, block)), to_string(fault.place));
}

}  // namespace

std::string to_string(Dim3 index) { return fmt::format("({},{},{})", index.x, index.y, index.z); }

Dim3 index_in(std::uint64_t linear, Dim3 extent) {
  return {static_cast<std::uint32_t>(linear % extent.x),
          static_cast<std::uint32_t>(linear / extent.x % extent.y),
          static_cast<std::uint32_t>(linear / extent.x / extent.y)};
}

std::uint64_t count(Dim3 extent) { return std::uint64_t{extent.x} * extent.y * extent.z; }

bool Place::same_line(const Place& other) const {
  return line == other.line && (file == other.file || std::strcmp(file, other.file) == 0);
}

std::string to_string(const Place& place) {
  const std::string mask = place.mask != 0 ? fmt::format("(mask {:#010x})", place.mask) : "";
  return fmt::format("{}{} at {}", place.name, mask, line_text(place));
}

std::string source_line(const void* return_address) {
  const void* address = static_cast<const char*>(return_address) - 1;
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return fmt::format("{}", address);
  const auto offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);

  Subprocess command;
  command.arguments = {"addr2line", "-i", "-e", info.dli_fname, fmt::format("{:#x}", offset)};
  command.deadline = kDeadlineOfLookUp;
  if (const Result<SubprocessOutcome> outcome = run_subprocess(command); outcome.ok()) {
    std::string line = pick_line(outcome.value().output);
    if (!line.empty()) return line;
  }
  const char* const symbol = info.dli_sname != nullptr ? info.dli_sname : info.dli_fname;
  return fmt::format("{}+{:#x}", symbol, offset);
}

std::string fault_text(const Fault& fault, Dim3 block) {
  const std::string thread = "thread " + to_string(index_in(fault.thread, block));
  const std::string place = fault.place.file != nullptr ? to_string(fault.place) : "";
  switch (fault.kind) {
    case Fault::Kind::none:
    case Fault::Kind::deadline:
      return "";
    case Fault::Kind::trap:
      return thread + ": " + place;
    case Fault::Kind::failed_assert:
      return fmt::format("{}: assertion failed at {}: {}", thread, line_text(fault.place),
                         fault.place.name);
    case Fault::Kind::mask_without_self:
      return fmt::format("{}: {}: the mask does not name the calling lane {}", thread, place,
                         fault.number);
    case Fault::Kind::bad_width:
      return fmt::format("{}: {}: width {} is not a power of two up to 32", thread, place,
                         fault.number);
    case Fault::Kind::bad_barrier:
      return fmt::format(
          "{}: {}: barrier {} is not one of 1 to 15, or its threads are not a "
          "multiple of 32 that the others agree on",
          thread, place, fault.number);
    case Fault::Kind::different_collectives:
      return meeting_text(fault, block, "lanes of one warp are in different collectives");
    case Fault::Kind::different_barriers:
      return meeting_text(fault, block, "threads of one block are at different barriers");
    case Fault::Kind::gone_source:
      return fmt::format("{}: {} reads lane {}, which the mask names but which has returned",
                         thread, place, fault.number);
    case Fault::Kind::race:
      return race_text(fault, block);
    case Fault::Kind::bad_access:
      return access_text(fault, block);
  }
  return "";
}

}  // namespace mgtune
