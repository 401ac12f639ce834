#include "counters/counter_library.h"

#include <array>
#include <string>

namespace mgtune {

Status CounterLibrary::status(CUptiResult result, const char* what) const {
  Status status = cupti.status(result, what);
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return std::move(status).with_context(
          "the driver lets only administrators read hardware counters; run as root (or with "
          "CAP_SYS_ADMIN), or have the administrator load the driver with "
          "NVreg_RestrictProfilingToAdminUsers=0");
    case CUPTI_ERROR_HARDWARE_BUSY:
      return std::move(status).with_context(
          "another program uses the GPU's hardware counters (Nsight Compute, an older DCGM); end "
          "it, or pause DCGM with 'dcgmi profile --pause', and try again");
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return std::move(status).with_context(
          "counters need CUPTI for themselves; run without the debugger or profiler");
    default:
      return status;
  }
}

Result<CounterLibrary> open_counter_library(LibraryLoader& loader) {
  CounterLibrary counters;
  MGTUNE_ASSIGN(counters.cupti, open_cupti(loader));
  const std::array<std::string, 1> path = {counters.cupti.path};
  MGTUNE_ASSIGN(const SharedLibrary library, SharedLibrary::open(path, loader));
#define MGTUNE_BIND(function) MGTUNE_TRY(library.bind(#function, &counters.function));
  MGTUNE_COUNTER_FUNCTIONS(MGTUNE_BIND)
#undef MGTUNE_BIND
  return counters;
}

}  // namespace mgtune
