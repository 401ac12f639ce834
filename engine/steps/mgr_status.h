// Converts statuses of libmgruntime to those of mgtune. A pure function, except that it reads the
// thread's last message.

#pragma once

#include "core/status.h"
#include "mgruntime/mgruntime.h"

namespace mgtune::engine {

// Call it right after the function that returned `status`: the message is mgr_last_error().
Status from_mgr(mgr_status_t status);

}  // namespace mgtune::engine
