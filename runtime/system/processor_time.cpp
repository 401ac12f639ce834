#include "system/processor_time.h"

#include <unistd.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

#include "core/text.h"

namespace mgtune {
namespace {

struct ProcessTime {
  pid_t parent = 0;
  long long ticks = 0;  // its own, and those of children that it waited for
};

// From /proc/PID/stat: "1234 (name) S 1 ...". The name may have blanks and parentheses.
bool read_process_time(const std::filesystem::path& folder, ProcessTime& process) {
  std::ifstream file(folder / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream rest(line.substr(name_end + 1));
  std::string skipped;
  rest >> skipped >> process.parent;
  constexpr int kBetween = 9;  // fields between the parent and the times
  for (int i = 0; i < kBetween; ++i) rest >> skipped;
  std::array<long long, 4> ticks{};
  for (long long& value : ticks) {
    rest >> value;
    process.ticks += value;
  }
  return !rest.fail();
}

std::chrono::milliseconds time_of_ticks(long long ticks) {
  return std::chrono::milliseconds(1000 * ticks / ::sysconf(_SC_CLK_TCK));
}

}  // namespace

std::chrono::milliseconds processor_time_of(pid_t process) {
  ProcessTime time;
  const bool known = read_process_time("/proc/" + std::to_string(process), time);
  return time_of_ticks(known ? time.ticks : 0);
}

std::chrono::milliseconds processor_time_below(pid_t root) {
  std::map<pid_t, ProcessTime> all;
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::optional<pid_t> pid = parse_number<pid_t>(entry->path().filename().string());
    ProcessTime process;
    if (pid && read_process_time(entry->path(), process)) all[*pid] = process;
  }
  long long ticks = 0;
  for (const auto& [pid, process] : all) {
    pid_t at = pid;
    for (std::size_t steps = 0; at != root && steps < all.size(); ++steps) {
      const auto found = all.find(at);
      if (found == all.end()) break;
      at = found->second.parent;
    }
    if (at == root) ticks += process.ticks;
  }
  return time_of_ticks(ticks);
}

std::chrono::nanoseconds processor_time_of_this_thread() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace mgtune
