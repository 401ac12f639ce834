// Why a host compiler failed: because of the source, which is for whoever wrote it to hear, or
// because of the machine, which says nothing about the source. Pure.

#pragma once

#include "system/subprocess.h"
#include "core/status.h"

namespace mgtune {

// Of a run that did not end with 0: io when there was no room to write or no permission to,
// environment when a signal ended the compiler, memory ran out, a part of it is missing or it gave
// no reason. ok when the source is at fault. Knows the words of g++, clang and ld in English; what
// it does not know counts as the source's.
Status machine_failure(const SubprocessOutcome& outcome);

}  // namespace mgtune
