// FakeGpu: a machine with a simulated GPU: libcuda, CUPTI and a Device that stands for it.

#pragma once

#include <cstdlib>

#include "device/cuda/cuda_driver.h"
#include "tests/helpers/fakes/fake_cuda.h"
#include "tests/helpers/fakes/fake_cupti.h"
#include "tests/helpers/fakes/fake_device.h"
#include "tests/helpers/fakes/fake_loader.h"

namespace mgtune {

struct FakeGpu {
  FakeGpu() {
    // Of whoever runs the tests.
    ::unsetenv("MGTUNE_CUPTI_PATH");
    ::unsetenv("CUDA_HOME");
    loader.libraries["libcuda.so.1"] = cuda.symbols();
    loader.libraries[FakeCupti::file_name()] = cupti.symbols();
    driver = open_cuda_driver(loader).value();
  }

  FakeCuda cuda;
  FakeCupti cupti{cuda};
  FakeLoader loader;
  CudaDriver driver;
  FakeDevice device;
};

}  // namespace mgtune
