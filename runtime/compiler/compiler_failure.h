// Why a host compiler failed: because of the source, which its author must know, or because of the
// machine, which says nothing about the source. Pure.

#pragma once

#include "core/status.h"
#include "system/subprocess.h"

namespace mgtune {

// For a run that did not end with 0. io if there was no room or no permission to write. environment
// if a signal ended the compiler, memory ran out, a part of the compiler is missing, or it gave no
// reason. ok if the source is at fault. It knows the English messages of g++, clang and ld. A
// message that it does not know counts as a fault of the source.
Status machine_failure(const SubprocessOutcome& outcome);

}  // namespace mgtune
