#include "cli/leave.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "store/store.h"
#include "system/temporary_folder.h"

namespace mgtune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTimeToDie{300};
constexpr std::uintmax_t kQuicklyChecked = 64 << 20;  // opening reads the whole file: some 100 ms

template <typename Integer>
bool parse(std::string_view text, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// The second field after the program's name in /proc/PID/stat, which may itself contain anything.
pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string stat;
  std::getline(file, stat, '\0');
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos || stat.size() < name_end + 5) return -1;
  const std::string_view rest = std::string_view(stat).substr(name_end + 4);  // past the state
  pid_t parent = -1;
  return parse(rest.substr(0, rest.find(' ')), parent) ? parent : -1;
}

// (Not every kernel has /proc/self/task/*/children.)
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    pid_t process = 0;
    const std::string name = entry->path().filename().string();
    if (parse(std::string_view(name), process) && parent_of(process) == ::getpid()) {
      found.push_back(process);
    }
  }
  return found;
}

// False when there is no child any more, dead or alive.
bool collect_the_dead() {
  pid_t collected = 0;
  do {
    collected = ::waitpid(-1, nullptr, WNOHANG);
  } while (collected > 0 || (collected < 0 && errno == EINTR));
  return collected == 0;
}

}  // namespace

bool end_descendants(std::chrono::milliseconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // children of killed processes become children of this one
  while (collect_the_dead()) {
    if (Clock::now() >= deadline) return false;
    for (const pid_t child : children()) ::kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void leave_nothing_behind(const std::string& database) {
  end_descendants(kTimeToDie);
  TemporaryFolder::remove_abandoned();
  // Closing the store folds the log. Otherwise the next program that opens it does.
  std::error_code none;
  const bool is_quick = std::filesystem::file_size(database, none) < kQuicklyChecked && !none;
  if (is_quick) static_cast<void>(Store::open(database, Store::Mode::read_write).ok());
}

}  // namespace mgtune
