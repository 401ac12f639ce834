#include "plan/compile_processes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>

#include "core/text.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

// The compiler of a heavy kernel takes some hundred MB.
constexpr std::int64_t kBytesPerProcess = std::int64_t{512} << 20;

std::string content_of(const std::string& path) {
  const Result<std::string> content = FileSystem::real().read_file(path);
  return content.ok() ? *content : "";
}

// Reads the bytes from the line "MemAvailable: 23456 kB".
std::int64_t available_memory(const std::string& root) {
  std::istringstream lines(content_of(root + "/proc/meminfo"));
  std::string word;
  std::int64_t kilobytes = 0;
  while (lines >> word) {
    if (word == "MemAvailable:" && lines >> kilobytes) return kilobytes << 10;
  }
  return std::numeric_limits<std::int64_t>::max();
}

// The path of the own group, from the line "0::/user.slice/job_7"; "" for the root group.
std::string own_group(const std::string& root) {
  std::istringstream lines(content_of(root + "/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return line.size() == 4 ? "" : line.substr(3);
  }
  return "";
}

// The cores for "200000 100000", which allows 200,000 us of processor time in 100,000 us; "max
// 100000" sets no limit.
double cores_of(const std::string& cpu_max) {
  std::istringstream words(cpu_max);
  std::string quota;
  double period = 0;
  words >> quota >> period;
  const std::optional<double> time = parse_number<double>(quota);
  return time && *time > 0 && period > 0 ? *time / period : std::numeric_limits<double>::max();
}

std::int64_t bytes_of(const std::string& memory_max) {
  std::istringstream words(memory_max);
  std::string bytes;
  words >> bytes;
  return parse_number<std::int64_t>(bytes).value_or(std::numeric_limits<std::int64_t>::max());
}

}  // namespace

std::size_t default_compile_processes(const std::string& root, std::size_t cores) {
  auto limit = static_cast<double>(cores);
  std::int64_t memory = available_memory(root);
  std::string group = own_group(root);
  while (true) {
    std::string folder = root;
    folder.append("/sys/fs/cgroup").append(group);
    limit = std::min(limit, std::ceil(cores_of(content_of(folder + "/cpu.max"))));
    memory = std::min(memory, bytes_of(content_of(folder + "/memory.max")));
    if (group.empty()) break;
    group.resize(group.rfind('/'));
  }
  const std::int64_t by_memory = memory / kBytesPerProcess;
  limit = std::min(limit, static_cast<double>(by_memory));
  return static_cast<std::size_t>(std::max(limit, 1.0));
}

}  // namespace mgtune
