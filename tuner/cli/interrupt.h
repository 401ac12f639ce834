// What Ctrl-C and SIGTERM do to a sweep. The first asks it to stop after the variant in flight;
// when that is not back after 1.5 s the process ends all the same, since every finished variant is
// in the store. A second ends it at once. Workers die with this process.
//
// install_interrupt_handlers() once, from the main thread; the others may be called from any.

#pragma once

#include "cli/exit_code.h"

namespace mgtune {

void install_interrupt_handlers();
bool interrupted();
void stop_interrupt_timer();     // the sweep has stopped by itself: let the rest be printed
ExitCode interrupt_exit_code();  // only when interrupted()

}  // namespace mgtune
