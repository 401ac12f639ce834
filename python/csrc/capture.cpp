#include "capture.h"

#include <dlfcn.h>

namespace mgtune::torch {

bool is_capturing(void* stream) {
  // CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus*); 0 is "no error" and "none".
  using Function = int (*)(void*, int*);
  static const Function function = [] {
    void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return driver == nullptr ? nullptr
                             : reinterpret_cast<Function>(::dlsym(driver, "cuStreamIsCapturing"));
  }();
  int status = 0;
  return function != nullptr && function(stream, &status) == 0 && status != 0;
}

}  // namespace mgtune::torch
