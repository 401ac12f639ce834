// Checks whether a GPU works: it must allocate memory, run a small kernel on all of its SMs, and
// return a result in which every element is right. A GPU that a kernel has harmed may still open as
// usual. If the GPU hangs, so does this check: the parent has a deadline for a worker's start. One
// thread.

#pragma once

#include "build/builder.h"
#include "core/status.h"
#include "device/device.h"

namespace mgtune {

// environment, with the GPU's name, if the GPU does not work. If the kernel cannot be built, the
// result is the builder's failure, which says nothing about the GPU. The cpu device always works.
Status check_health(Device& device, Builder& builder);

}  // namespace mgtune
