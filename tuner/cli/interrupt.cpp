#include "cli/interrupt.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace mgtune {
namespace {

constexpr long kGraceNanoseconds = 500'000'000;  // and one second

// Handlers may touch lock-free atomics and call what signal-safety(7) lists, nothing else.
std::atomic<int> first_signal{0};
std::atomic<timer_t> grace_timer{};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<timer_t>::is_always_lock_free);

void set_grace_timer(time_t seconds, long nanoseconds) {
  itimerspec time{};
  time.it_value.tv_sec = seconds;
  time.it_value.tv_nsec = nanoseconds;
  timer_settime(grace_timer.load(), 0, &time, nullptr);
}

void on_interrupt(int signal) {
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, signal)) _exit(128 + signal);
  set_grace_timer(1, kGraceNanoseconds);
}

void on_grace_over(int) {
  constexpr char kMessage[] = "\nmgtune: stopped; the same command goes on from here\n";
  static_cast<void>(!write(STDERR_FILENO, kMessage, sizeof kMessage - 1));
  _exit(128 + first_signal.load());
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void install_interrupt_handlers() {
  timer_t timer{};
  timer_create(CLOCK_MONOTONIC, nullptr, &timer);  // raises SIGALRM
  grace_timer = timer;
  handle(SIGALRM, on_grace_over);
  handle(SIGINT, on_interrupt);
  handle(SIGTERM, on_interrupt);
}

bool interrupted() { return first_signal.load() != 0; }

void stop_interrupt_timer() { set_grace_timer(0, 0); }

ExitCode interrupt_exit_code() {
  return first_signal.load() == SIGTERM ? ExitCode::terminated : ExitCode::interrupted;
}

}  // namespace mgtune
