#include "device/cuda/cuda_driver.h"

#include <algorithm>
#include <array>

namespace mgtune {
namespace {

// This version added cuKernelGetParamInfo and cuFuncLoad.
constexpr int kOldestVersion = 12040;

// A kernel caused an error after which, according to cuda.h, the context cannot be used any more.
constexpr std::array kFaultsOfKernels = {CUDA_ERROR_ILLEGAL_ADDRESS,
                                         CUDA_ERROR_LAUNCH_TIMEOUT,
                                         CUDA_ERROR_HARDWARE_STACK_ERROR,
                                         CUDA_ERROR_ILLEGAL_INSTRUCTION,
                                         CUDA_ERROR_MISALIGNED_ADDRESS,
                                         CUDA_ERROR_INVALID_ADDRESS_SPACE,
                                         CUDA_ERROR_INVALID_PC,
                                         CUDA_ERROR_LAUNCH_FAILED,
                                         CUDA_ERROR_ASSERT,
                                         CUDA_ERROR_TENSOR_MEMORY_LEAK,
                                         CUDA_ERROR_UNKNOWN};

// Caused by the machine or by another process, whatever runs here.
constexpr std::array kFaultsOfTheMachine = {
    CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE,
    CUDA_ERROR_CONTAINED,     CUDA_ERROR_EXTERNAL_DEVICE,   CUDA_ERROR_MPS_CLIENT_TERMINATED};

}  // namespace

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Status CudaDriver::status(CUresult result, const char* what) const {
  if (result == CUDA_SUCCESS) return {};
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS) name = "unknown error";
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS) text = "no text";
  const auto is_one_of = [result](const auto& faults) {
    return std::ranges::find(faults, result) != faults.end();
  };
  const StatusCode code = is_one_of(kFaultsOfKernels)      ? StatusCode::device_lost
                          : is_one_of(kFaultsOfTheMachine) ? StatusCode::environment
                                                           : StatusCode::launch_failed;
  return {code, std::string(what) + ": " + name + ": " + text};
}

Result<std::int64_t> CudaDriver::free_bytes() const {
  std::size_t free = 0;
  std::size_t total = 0;
  MGTUNE_TRY(status(cuMemGetInfo(&free, &total), "reading the free memory"));
  return static_cast<std::int64_t>(free);
}

Result<CudaDriver> open_cuda_driver(LibraryLoader& loader) {
  const Result<SharedLibrary> library =
      SharedLibrary::open(std::array<std::string, 2>{"libcuda.so.1", "libcuda.so"}, loader);
  if (!library.ok()) {
    return environment_error("no NVIDIA driver: " + library.status().message());
  }
  CudaDriver driver;
  driver.path = library->path();
  // The version is checked first: an old driver does not have some of the functions, and the
  // message should say that it is old.
  MGTUNE_TRY(library->bind("cuDriverGetVersion", &driver.cuDriverGetVersion));
  if (driver.cuDriverGetVersion(&driver.version) != CUDA_SUCCESS) {
    return environment_error(driver.path + " does not say its version");
  }
  if (driver.version < kOldestVersion) {
    return environment_error("the NVIDIA driver at " + driver.path + " is for CUDA " +
                             cuda_version_text(driver.version) + "; mgtune needs one for CUDA " +
                             cuda_version_text(kOldestVersion) + " or newer");
  }
#define MGTUNE_BIND(function, symbol) MGTUNE_TRY(library->bind(symbol, &driver.function));
  MGTUNE_CUDA_FUNCTIONS(MGTUNE_BIND)
#undef MGTUNE_BIND
  if (const CUresult result = driver.cuInit(0); result != CUDA_SUCCESS) {
    return environment_error(driver.status(result, "the NVIDIA driver does not start").message());
  }
  return driver;
}

const Result<CudaDriver>& cuda_driver() {
  static const Result<CudaDriver> driver = open_cuda_driver(LibraryLoader::real());
  return driver;
}

}  // namespace mgtune
