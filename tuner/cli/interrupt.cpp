#include "cli/interrupt.h"

#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

namespace mgtune {
namespace {

constexpr long kGraceNanoseconds = 250'000'000;  // and one second
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

// A handler may neither end workers nor remove folders. So it replaces this process by a program
// that may: `mgtune worker leave`. The process keeps its children; its locks and data are gone.
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

}  // namespace

void install_interrupt_handlers(const std::string& database) {
  static char words[3][8] = {"mgtune", "worker", "leave"};
  leave_command.database = database;
  leave_command.words = {
      words[0], words[1], words[2], leave_command.code, leave_command.database.data(), nullptr};
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // what a worker leaves behind comes to this process
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

}  // namespace mgtune
