// Ends a sweep on Ctrl-C, SIGTERM or SIGHUP (the terminal was closed). The first signal asks the
// sweep to stop after the current variant. If that variant is not done after 1.25 s, the process
// ends anyway; nothing is lost, because every finished variant is in the store. A second signal
// ends the process at once. In all cases no worker, no compiler and no temporary folder is left,
// and the database is one file again. A signal that was ignored when the program started stays
// ignored (nohup).
//
// A signal handler may neither end workers nor remove folders. So it replaces this process by a
// program that may: `mgtune worker leave`. The children stay children of this process, but its
// locks and its data are gone.
//
// Call install_interrupt_handlers() once, from the main thread, and leave_nothing_behind() as the
// last action of the main thread. Any thread may call the others.

#pragma once

#include <string>

#include "cli/exit_code.h"

namespace mgtune {

void install_interrupt_handlers(const std::string& database);
bool interrupted();
void stop_interrupt_timer();     // call it once the sweep has stopped, to have time to print
ExitCode interrupt_exit_code();  // only if interrupted()

// Cleans up at the end of a sweep, even if the sweep was interrupted. It kills and collects all
// processes that descend from this one (workers, compilers), removes their temporary folders, and
// merges the write-ahead log into the database. If `database` is "", it does not touch a database.
// A database of more than 64 MiB takes long to open, so its log stays; the next program that opens
// the database merges it.
void leave_nothing_behind(const std::string& database);

}  // namespace mgtune
