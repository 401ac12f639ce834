// A libcuda.so.1 for machines without a GPU: one "NVIDIA H200" whose memory is the host's and whose
// kernels do nothing but be counted. It takes real cubins and reads the sizes of kernel parameters
// from them, so that everything up to the driver's entry is the real thing. What is not written
// here is in stand_in_cuda_unused.cpp and fails.

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "h200_attributes.h"

namespace {

using Sizes = std::vector<std::size_t>;

struct StandInKernel {
  Sizes parameters;
};
struct StandInLibrary {
  std::map<std::string, std::unique_ptr<StandInKernel>> kernels;
};

std::atomic<std::int64_t> inits = 0, loads = 0, loaded = 0, launches = 0;
std::atomic<bool> held = false;
thread_local CUcontext current = nullptr;
int context_place = 0;
CUcontext the_context() { return reinterpret_cast<CUcontext>(&context_place); }

template <typename T>
T read_at(const unsigned char* bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes + offset, sizeof(value));
  return value;
}

// The entries of a section ".nv.info.KERNEL": format, attribute, size, payload. Attribute 0x17 is a
// parameter: its ordinal at 4, its size from bit 18 of the word at 8.
Sizes parameter_sizes(const unsigned char* info, std::size_t bytes) {
  Sizes sizes;
  for (std::size_t place = 0; place + 4 <= bytes;) {
    const unsigned char format = info[place], attribute = info[place + 1];
    const std::size_t payload = format == 4 ? read_at<std::uint16_t>(info, place + 2) : 0;
    if (attribute == 0x17 && payload == 12) {
      const auto ordinal = read_at<std::uint16_t>(info, place + 8);
      if (sizes.size() <= ordinal) sizes.resize(ordinal + 1U);
      sizes[ordinal] = read_at<std::uint32_t>(info, place + 12) >> 18U;
    }
    place += 4 + payload;
  }
  return sizes;
}

std::unique_ptr<StandInLibrary> parse(const unsigned char* elf) {
  auto library = std::make_unique<StandInLibrary>();
  const auto table = read_at<std::uint64_t>(elf, 0x28);
  const std::size_t entry = read_at<std::uint16_t>(elf, 0x3a);
  const std::size_t count = read_at<std::uint16_t>(elf, 0x3c);
  const auto place_of = [&](std::size_t section) {
    return read_at<std::uint64_t>(elf, table + entry * section + 0x18);
  };
  const std::uint64_t names = place_of(read_at<std::uint16_t>(elf, 0x3e));
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name =
        reinterpret_cast<const char*>(elf + names + read_at<std::uint32_t>(elf, table + entry * i));
    constexpr std::size_t kText = 6, kInfo = 9;  // of ".text." and ".nv.info."
    if (name.rfind(".text.", 0) == 0) {
      auto& kernel = library->kernels[name.substr(kText)];
      if (kernel == nullptr) kernel = std::make_unique<StandInKernel>();
    } else if (name.rfind(".nv.info.", 0) == 0) {
      auto& kernel = library->kernels[name.substr(kInfo)];
      if (kernel == nullptr) kernel = std::make_unique<StandInKernel>();
      const auto bytes = read_at<std::uint64_t>(elf, table + entry * i + 0x20);
      kernel->parameters = parameter_sizes(elf + place_of(i), bytes);
    }
  }
  return library;
}

}  // namespace

extern "C" {

std::int64_t stand_in_inits() { return inits; }
std::int64_t stand_in_loads() { return loads; }
std::int64_t stand_in_loaded() { return loaded; }
std::int64_t stand_in_launches() { return launches; }
// While streams are held, whoever waits for one waits on.
void stand_in_hold_streams(bool hold) {
  held = hold;
  held.notify_all();
}

CUresult cuInit(unsigned) { return ++inits, CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult, const char** name) {
  return *name = "CUDA_ERROR_STAND_IN", CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  return *text = "refused by the stand-in", CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) { return *count = 1, CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int index) { return *device = index, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  std::strncpy(name, "NVIDIA H200", static_cast<std::size_t>(size));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice) {
  std::memset(uuid->bytes, 7, sizeof(uuid->bytes));
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  return *bytes = 150'000'000'000, CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  return h200_attribute(value, attribute);
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  return *context = the_context(), CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* context) { return *context = current, CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext context) { return current = context, CUDA_SUCCESS; }
CUresult cuMemAlloc_v2(CUdeviceptr* memory, std::size_t bytes) {
  void* place = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (place == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  return *memory = reinterpret_cast<CUdeviceptr>(place), CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr memory) {
  std::free(reinterpret_cast<void*>(memory));
  return CUDA_SUCCESS;
}
CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return *free = *total = 150'000'000'000, CUDA_SUCCESS;
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, std::size_t bytes, CUstream) {
  std::memset(reinterpret_cast<void*>(memory), value, bytes);
  return CUDA_SUCCESS;
}
CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  ++loads;
  if (std::memcmp(code,
                  "\x7f"
                  "ELF",
                  4) != 0) {
    return CUDA_ERROR_INVALID_IMAGE;
  }
  *library = reinterpret_cast<CUlibrary>(parse(static_cast<const unsigned char*>(code)).release());
  ++loaded;
  return CUDA_SUCCESS;
}
CUresult cuLibraryUnload(CUlibrary library) {
  --loaded;
  delete reinterpret_cast<StandInLibrary*>(library);
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const auto& kernels = reinterpret_cast<StandInLibrary*>(library)->kernels;
  const auto found = kernels.find(name);
  if (found == kernels.end()) return CUDA_ERROR_NOT_FOUND;
  return *kernel = reinterpret_cast<CUkernel>(found->second.get()), CUDA_SUCCESS;
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return *function = reinterpret_cast<CUfunction>(kernel), CUDA_SUCCESS;
}
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute, CUkernel, CUdevice) {
  return *value = 0, CUDA_SUCCESS;
}
CUresult cuKernelSetAttribute(CUfunction_attribute, int, CUkernel, CUdevice) {
  return CUDA_SUCCESS;
}
CUresult cuKernelGetParamInfo(CUkernel kernel, std::size_t index, std::size_t* offset,
                              std::size_t* bytes) {
  const Sizes& sizes = reinterpret_cast<StandInKernel*>(kernel)->parameters;
  if (index >= sizes.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = 0;
  return *bytes = sizes[index], CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule* module, const void* code) {
  return cuLibraryLoadData(reinterpret_cast<CUlibrary*>(module), code, nullptr, nullptr, 0, nullptr,
                           nullptr, 0);
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return cuLibraryGetKernel(reinterpret_cast<CUkernel*>(function),
                            reinterpret_cast<CUlibrary>(module), name);
}
CUresult cuFuncLoad(CUfunction) { return CUDA_SUCCESS; }
CUresult cuLaunchKernelEx(const CUlaunchConfig*, CUfunction, void**, void**) {
  launches.fetch_add(1, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, std::size_t) {
  return *blocks = 4, CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction, const CUlaunchConfig*) {
  return *clusters = 16, CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) {
  held.wait(true);
  return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode*) { return CUDA_SUCCESS; }
CUresult cuTensorMapEncodeTiled(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                                const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                                const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return CUDA_SUCCESS;
}

}  // extern "C"
