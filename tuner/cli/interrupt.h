// What Ctrl-C, SIGTERM and SIGHUP (the terminal was closed) do to a sweep. The first asks it to
// stop after the variant in flight; when that is not back after 1.25 s the process ends all the
// same, since every finished variant is in the store. A second ends it at once. However it ends: no
// worker, no compiler and no temporary folder stays behind, and the database is one file again. A
// signal that was ignored when the program started stays ignored (nohup).
//
// install_interrupt_handlers() once, from the main thread; the others may be called from any.

#pragma once

#include <string>

#include "cli/exit_code.h"

namespace mgtune {

void install_interrupt_handlers(const std::string& database);
bool interrupted();
void stop_interrupt_timer();     // the sweep has stopped by itself: let the rest be printed
ExitCode interrupt_exit_code();  // only when interrupted()

}  // namespace mgtune
