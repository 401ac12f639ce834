// Ends a sweep on Ctrl-C, SIGTERM or SIGHUP (the terminal was closed). The first signal asks the
// sweep to stop after the current variant. If that variant is not done after 1.25 s, the process
// ends anyway, because every finished variant is in the store. A second signal ends it at once. In
// all cases no worker, no compiler and no temporary folder is left, and the database is one file
// again. A signal that was ignored when the program started stays ignored (nohup).
//
// Call install_interrupt_handlers() once, from the main thread. Any thread may call the others.

#pragma once

#include <string>

#include "cli/exit_code.h"

namespace mgtune {

void install_interrupt_handlers(const std::string& database);
bool interrupted();
void stop_interrupt_timer();     // the sweep has stopped by itself: the rest can be printed
ExitCode interrupt_exit_code();  // only if interrupted()

}  // namespace mgtune
