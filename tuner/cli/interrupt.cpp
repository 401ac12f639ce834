#include "cli/interrupt.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "core/text.h"
#include "store/store.h"
#include "system/temporary_folder.h"

namespace mgtune {
namespace {

constexpr long kGraceNanoseconds = 250'000'000;  // plus one second
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

// A signal handler may only use lock-free atomics and the functions that signal-safety(7) lists.
std::atomic<int> first_signal{0};
std::atomic<timer_t> grace_timer{};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<timer_t>::is_always_lock_free);

// The command that leave() executes, written before the first handler is installed.
struct LeaveCommand {
  std::string database;
  char code[4] = {};
  std::array<char*, 6> words{};
};
LeaveCommand leave_command;

void set_grace_timer(time_t seconds, long nanoseconds) {
  itimerspec time{};
  time.it_value.tv_sec = seconds;
  time.it_value.tv_nsec = nanoseconds;
  timer_settime(grace_timer.load(), 0, &time, nullptr);
}

[[noreturn]] void leave() {
  const int code = 128 + first_signal.load();
  for (int digit = 2, rest = code; digit >= 0; --digit, rest /= 10) {
    leave_command.code[digit] = static_cast<char>('0' + rest % 10);
  }
  for (const int signal : kSignals) ::signal(signal, SIG_IGN);
  execv("/proc/self/exe", leave_command.words.data());
  _exit(code);
}

void on_interrupt(int signal) {
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, signal)) leave();
  set_grace_timer(1, kGraceNanoseconds);
}

void on_grace_over(int) {
  constexpr char kMessage[] = "\nmgtune: stopped; the same command goes on from here\n";
  static_cast<void>(!write(STDERR_FILENO, kMessage, sizeof kMessage - 1));
  leave();
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTimeToDie{300};
constexpr std::uintmax_t kQuicklyChecked = 64 << 20;  // opening reads the whole file: some 100 ms

// The parent is the second field after the program's name in /proc/PID/stat. The name may contain
// any character, so we search for its end from the back.
pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string stat;
  std::getline(file, stat, '\0');
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos || stat.size() < name_end + 5) return -1;
  const std::string_view rest = std::string_view(stat).substr(name_end + 4);  // past the state
  return parse_number<pid_t>(rest.substr(0, rest.find(' '))).value_or(-1);
}

// We do not use /proc/self/task/*/children, because not every Linux kernel has it.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const auto process = parse_number<pid_t>(entry->path().filename().string());
    if (process && parent_of(*process) == ::getpid()) found.push_back(*process);
  }
  return found;
}

// Collects all children that have ended. False if no child is left, dead or alive.
bool collect_the_dead() {
  pid_t collected = 0;
  do {
    collected = ::waitpid(-1, nullptr, WNOHANG);
  } while (collected > 0 || (collected < 0 && errno == EINTR));
  return collected == 0;
}

// Kills and collects every process that descends from this one. Some may still exist after
// kTimeToDie, for example because the kernel waits for a device.
void end_descendants() {
  const SteadyClock::time_point deadline = SteadyClock::now() + kTimeToDie;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // children of killed processes become children of this one
  while (collect_the_dead() && SteadyClock::now() < deadline) {
    for (const pid_t child : children()) ::kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

void install_interrupt_handlers(const std::string& database) {
  static char words[3][8] = {"mgtune", "worker", "leave"};
  leave_command.database = database;
  leave_command.words = {
      words[0], words[1], words[2], leave_command.code, leave_command.database.data(), nullptr};
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans of a worker become children of this process
  timer_t timer{};
  timer_create(CLOCK_MONOTONIC, nullptr, &timer);  // raises SIGALRM
  grace_timer = timer;
  handle(SIGALRM, on_grace_over);
  for (const int signal : kSignals) {
    if (!is_ignored(signal)) handle(signal, on_interrupt);
  }
}

bool interrupted() { return first_signal.load() != 0; }

void stop_interrupt_timer() { set_grace_timer(0, 0); }

ExitCode interrupt_exit_code() { return static_cast<ExitCode>(128 + first_signal.load()); }

void leave_nothing_behind(const std::string& database) {
  end_descendants();
  TemporaryFolder::remove_abandoned();
  // Closing the store merges the log. If we skip it, the next program that opens the store merges
  // it.
  std::error_code none;
  const bool is_quick = std::filesystem::file_size(database, none) < kQuicklyChecked && !none;
  if (is_quick) static_cast<void>(Store::open(database, Store::Mode::read_write).ok());
}

}  // namespace mgtune
