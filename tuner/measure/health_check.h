// Whether a GPU works: it allocates memory, runs a small kernel on all of its SMs, and every
// element of the result is right. A GPU that a kernel has harmed may still open like any other. If
// the GPU hangs, so does this check: the parent has a deadline for a worker's start. One thread.

#pragma once

#include "build/builder.h"
#include "core/status.h"
#include "device/device.h"

namespace mgtune {

// environment, with the GPU's name, if it does not work. The builder's failure if the kernel cannot
// be built, which says nothing about the GPU. The cpu device always works.
Status check_health(Device& device, Builder& builder);

}  // namespace mgtune
