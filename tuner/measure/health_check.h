// Whether a GPU is well: it gives memory, a small kernel runs on all of it, and every element of
// the result is right. A GPU that a kernel has harmed may open like any other. Where it hangs, so
// does this: the parent has a deadline for a worker's start. One thread.

#pragma once

#include "build/builder.h"
#include "core/status.h"
#include "device/device.h"

namespace mgtune {

// environment for a GPU that is not, naming it; the builder's failure where the kernel cannot be
// built, which says nothing about the GPU. The cpu device is always well.
Status check_health(Device& device, Builder& builder);

}  // namespace mgtune
