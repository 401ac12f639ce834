// From the start of a process to its first launch with the driver alone: CUBIN is a file, SYMBOL
// its kernel. What first_launch.cpp does, as short as it can be written: no library but libcuda,
// one kernel loaded. Prints when the launch had ended, whether it was right, and how long each step
// took.

#include <cuda.h>
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/helpers/programs/first_launch.h"

namespace {

using mgtune::FirstLaunch;

void expect(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", what, static_cast<int>(result));
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  FirstLaunch problem;
  std::array<std::int64_t, 6> steps{FirstLaunch::now_ns()};
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
#define MGTUNE_CALL(function, symbol, ...) \
  expect(reinterpret_cast<decltype(&::function)>(dlsym(driver, symbol))(__VA_ARGS__), symbol)
  MGTUNE_CALL(cuInit, "cuInit", 0);
  steps[1] = FirstLaunch::now_ns();
  CUdevice device = 0;
  MGTUNE_CALL(cuDeviceGet, "cuDeviceGet", &device, 0);
  CUcontext context = nullptr;
  MGTUNE_CALL(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", &context, device);
  MGTUNE_CALL(cuCtxSetCurrent, "cuCtxSetCurrent", context);
  steps[2] = FirstLaunch::now_ns();
  std::ifstream file(argv[1], std::ios::binary);
  const std::string cubin{std::istreambuf_iterator<char>(file), {}};
  CUmodule module = nullptr;
  MGTUNE_CALL(cuModuleLoadData, "cuModuleLoadData", &module, cubin.data());
  CUfunction kernel = nullptr;
  MGTUNE_CALL(cuModuleGetFunction, "cuModuleGetFunction", &kernel, module, argv[2]);
  steps[3] = FirstLaunch::now_ns();
  CUdeviceptr x = 0, weight = 0, y = 0, rstd = 0;
  for (CUdeviceptr* memory : {&x, &weight, &y}) {
    MGTUNE_CALL(cuMemAlloc, "cuMemAlloc_v2", memory, FirstLaunch::kBytes);
  }
  for (const CUdeviceptr memory : {x, weight}) {
    MGTUNE_CALL(cuMemcpyHtoD, "cuMemcpyHtoD_v2", memory, problem.ones.data(), FirstLaunch::kBytes);
  }
  steps[4] = FirstLaunch::now_ns();
  // rmsnorm_table()'s pick: a row a block, 64 threads.
  std::int64_t rows = FirstLaunch::kRows, stride = FirstLaunch::kHidden;
  float eps = 0, offset = 0;
  std::uint32_t pdl_blocks = 0;  // not used by the pick
  std::array<void*, 9> arguments = {&x,      &weight, &y,      &rstd,      &rows,
                                    &stride, &eps,    &offset, &pdl_blocks};
  CUlaunchConfig config{};
  config.gridDimX = FirstLaunch::kRows;
  config.blockDimX = 64;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  MGTUNE_CALL(cuLaunchKernelEx, "cuLaunchKernelEx", &config, kernel, arguments.data(), nullptr);
  MGTUNE_CALL(cuStreamSynchronize, "cuStreamSynchronize", nullptr);
  steps[5] = FirstLaunch::now_ns();

  MGTUNE_CALL(cuMemcpyDtoH, "cuMemcpyDtoH_v2", problem.y.data(), y, FirstLaunch::kBytes);
#undef MGTUNE_CALL
  const int code = problem.report(steps[5]);
  const char* const names[] = {"init", "context", "module", "copy", "launch"};
  for (std::size_t i = 0; i < 5; ++i) {
    std::printf("%s %.3f ms\n", names[i], static_cast<double>(steps[i + 1] - steps[i]) / 1e6);
  }
  return code;
}
