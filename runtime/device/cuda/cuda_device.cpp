#include "device/cuda/cuda_device.h"

#include <array>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "system/file_system.h"

namespace mgtune {
namespace {

CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }
CUstream cuda_stream(Stream stream) { return static_cast<CUstream>(stream); }
CUfunction function_of(const Kernel& kernel) {
  return reinterpret_cast<CUfunction>(cuda_kernel_handle(kernel));
}

// As nvidia-smi writes it.
std::string uuid_text(const CUuuid& uuid, bool is_mig) {
  std::string text = is_mig ? "MIG-" : "GPU-";
  for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += hex.data();
  }
  return text;
}

// "580.159.04, CUDA 13.0". The first part is there only if the kernel module reports it.
std::string driver_text(const CudaDriver& driver) {
  std::string text = "CUDA " + cuda_version_text(driver.version);
  const Result<std::string> module = FileSystem::real().read_file("/sys/module/nvidia/version");
  if (!module.ok() || module->empty()) return text;
  return module->substr(0, module->find('\n')) + ", " + text;
}

// The driver calls a MIG instance "NVIDIA H200 MIG 1g.18gb": product and profile.
void set_name(std::string_view name, DeviceInfo& info) {
  constexpr std::string_view kMig = " MIG ";
  const std::size_t mig = name.find(kMig);
  info.name = name.substr(0, mig);
  if (mig != name.npos) info.mig_profile = name.substr(mig + kMig.size());
}

// "" if the driver does not say it. A GPU is function 0 of its device.
std::string pci_address(const CudaDriver& driver, CUdevice device) {
  constexpr std::array kAttributes = {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,
                                      CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
                                      CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID};
  std::array<int, kAttributes.size()> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (driver.cuDeviceGetAttribute(&numbers[i], kAttributes[i], device) != CUDA_SUCCESS) return "";
  }
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.0", static_cast<unsigned>(numbers[0]),
                static_cast<unsigned>(numbers[1]), static_cast<unsigned>(numbers[2]));
  return text.data();
}

Result<DeviceInfo> describe(const CudaDriver& driver, int index) {
  CUdevice device = 0;
  MGTUNE_TRY(driver.status(driver.cuDeviceGet(&device, index), "reading a device"));
  std::array<char, 256> name{};
  MGTUNE_TRY(
      driver.status(driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()), device),
                    "reading a device's name"));
  CUuuid uuid{};
  MGTUNE_TRY(driver.status(driver.cuDeviceGetUuid(&uuid, device), "reading a device's UUID"));
  std::size_t memory = 0;
  MGTUNE_TRY(driver.status(driver.cuDeviceTotalMem(&memory, device), "reading a device's memory"));

  DeviceInfo info;
  std::int64_t major = 0, minor = 0;
  const std::array<std::pair<CUdevice_attribute, std::int64_t*>, 5> attributes = {
      {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
       {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
       {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &info.limits.sm_count},
       {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &info.limits.max_shared_bytes},
       {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &info.limits.l2_bytes}}};
  for (const auto& [attribute, out] : attributes) {
    int value = 0;
    MGTUNE_TRY(driver.status(driver.cuDeviceGetAttribute(&value, attribute, device),
                             "reading a device attribute"));
    *out = value;
  }
  info.kind = DeviceKind::cuda;
  set_name(name.data(), info);
  info.id = uuid_text(uuid, !info.mig_profile.empty());
  info.index = index;
  info.limits.compute_capability = major * 10 + minor;
  info.arch = "sm_" + std::to_string(info.limits.compute_capability);
  info.memory_bytes = static_cast<std::int64_t>(memory);
  info.driver = driver_text(driver);
  info.pci_address = pci_address(driver, device);
  return info;
}

constexpr std::array kSwizzles = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                                  CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B};
constexpr std::array kPromotions = {
    CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
    CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B};

// By DType. The copy engine has no i8.
constexpr std::array<std::optional<CUtensorMapDataType>, kDTypes.size()> kTensorMapTypes = {
    CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
    CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
    CU_TENSOR_MAP_DATA_TYPE_INT64,
    CU_TENSOR_MAP_DATA_TYPE_UINT64,
    CU_TENSOR_MAP_DATA_TYPE_INT32,
    CU_TENSOR_MAP_DATA_TYPE_UINT32,
    std::nullopt,
    CU_TENSOR_MAP_DATA_TYPE_UINT8};

class CudaDevice final : public Device {
 public:
  CudaDevice(const CudaDriver& driver, DeviceInfo info, CUdevice device, CUcontext context)
      : driver_(driver), info_(std::move(info)), device_(device), context_(context) {}
  ~CudaDevice() override { driver_.cuDevicePrimaryCtxRelease(device_); }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const DeviceInfo& info() const override { return info_; }

  Result<void*> allocate(std::size_t bytes) override {
    MGTUNE_TRY(make_current());
    CUdeviceptr memory = 0;
    const CUresult result = driver_.cuMemAlloc(&memory, bytes == 0 ? 1 : bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return out_of_memory(bytes);
    MGTUNE_TRY(driver_.status(result, "allocating device memory"));
    return reinterpret_cast<void*>(memory);  // NOLINT(performance-no-int-to-ptr): the driver's type
  }

  void free(void* memory) override {
    // If the device is lost, there is nothing left to report to.
    if (make_current().ok()) driver_.cuMemFree(address(memory));
  }

  Status copy_to_device(void* device, const void* host, std::size_t bytes) override {
    MGTUNE_TRY(make_current());
    return driver_.status(driver_.cuMemcpyHtoD(address(device), host, bytes), "copying to the GPU");
  }

  Status copy_to_host(void* host, const void* device, std::size_t bytes) override {
    MGTUNE_TRY(make_current());
    return driver_.status(driver_.cuMemcpyDtoH(host, address(device), bytes),
                          "copying from the GPU");
  }

  Status fill_bytes(void* device, unsigned char value, std::size_t bytes, Stream stream) override {
    MGTUNE_TRY(make_current());
    return driver_.status(
        driver_.cuMemsetD8Async(address(device), value, bytes, cuda_stream(stream)),
        "filling device memory");
  }

  Status copy_on_device(void* to, const void* from, std::size_t bytes, Stream stream) override {
    if (bytes == 0) return {};
    MGTUNE_TRY(make_current());
    return driver_.status(
        driver_.cuMemcpyAsync(address(to), address(from), bytes, cuda_stream(stream)),
        "copying within device memory");
  }

  Result<std::unique_ptr<Module>> load(const Build& build) override {
    MGTUNE_TRY(make_current());
    // Loading must not break the capture of a stream by another thread.
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    MGTUNE_TRY(driver_.status(driver_.cuThreadExchangeStreamCaptureMode(&mode), "loading"));
    auto module = load_cuda_module(driver_, device_, info_.limits, build);
    driver_.cuThreadExchangeStreamCaptureMode(&mode);
    return module;
  }

  Result<std::int64_t> blocks_per_sm(const Kernel& kernel, std::uint32_t threads,
                                     std::uint32_t shared_bytes) override {
    MGTUNE_TRY(make_current());
    int blocks = 0;
    MGTUNE_TRY(
        driver_.status(driver_.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                           &blocks, function_of(kernel), static_cast<int>(threads), shared_bytes),
                       "reading the occupancy"));
    return std::int64_t{blocks};
  }

  Result<std::int64_t> max_clusters(const KernelLaunch& launch) override {
    MGTUNE_TRY(make_current());
    LaunchConfig config(launch);
    int clusters = 0;
    MGTUNE_TRY(driver_.status(driver_.cuOccupancyMaxActiveClusters(
                                  &clusters, function_of(*launch.kernel), &config.config),
                              "reading how many clusters fit"));
    return std::int64_t{clusters};
  }

  Status launch(const KernelLaunch& launch) override {
    MGTUNE_TRY(make_current());
    const LaunchConfig config(launch);
    const CUresult result = driver_.cuLaunchKernelEx(&config.config, function_of(*launch.kernel),
                                                     const_cast<void**>(launch.args), nullptr);
    if (result == CUDA_SUCCESS) return {};
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {  // for its threads' local memory
      return {StatusCode::launch_failed, launch.kernel->name() + ": no room for local memory"};
    }
    return driver_.status(result, launch.kernel->name().c_str());
  }

  Status synchronize(Stream stream) override {
    MGTUNE_TRY(make_current());
    return driver_.status(driver_.cuStreamSynchronize(cuda_stream(stream)), "running the kernels");
  }

  Status encode_tensor_map(const TensorMapRequest& request, EncodedTensorMap& map) const override {
    const auto type = kTensorMapTypes[static_cast<std::size_t>(request.dtype)];
    if (!type) {
      return unsupported("a tensor map cannot be of dtype " +
                         std::string(to_string(request.dtype)));
    }
    constexpr std::array<cuuint32_t, kMaxTensorMapRank> kDense = {1, 1, 1, 1, 1};
    static_assert(sizeof(CUtensorMap) == sizeof(EncodedTensorMap));
    const CUresult result = driver_.cuTensorMapEncodeTiled(
        reinterpret_cast<CUtensorMap*>(map.bytes.data()), *type, request.rank, request.memory,
        request.extent.data(), request.stride_bytes.data(), request.box.data(), kDense.data(),
        CU_TENSOR_MAP_INTERLEAVE_NONE, kSwizzles[static_cast<std::size_t>(request.swizzle)],
        kPromotions[static_cast<std::size_t>(request.l2)], CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result == CUDA_ERROR_INVALID_VALUE) {
      return invalid_argument("the copy engine cannot serve this tensor map");
    }
    if (result == CUDA_ERROR_NOT_SUPPORTED) return unsupported(info_.name + " has no tensor maps");
    return driver_.status(result, "encoding a tensor map");
  }

  Status set_thread_order(ThreadOrder) override {
    return unsupported("a GPU orders the threads of a block itself");
  }

 private:
  // Converts a KernelLaunch into the arguments of cuLaunchKernelEx.
  struct LaunchConfig {
    explicit LaunchConfig(const KernelLaunch& launch) {
      config.gridDimX = launch.grid[0];
      config.gridDimY = launch.grid[1];
      config.gridDimZ = launch.grid[2];
      config.blockDimX = launch.block[0];
      config.blockDimY = launch.block[1];
      config.blockDimZ = launch.block[2];
      config.sharedMemBytes = launch.shared_bytes;
      config.hStream = cuda_stream(launch.stream);
      config.attrs = attributes.data();
      if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1) {
        CUlaunchAttribute& attribute = next(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
        attribute.value.clusterDim = {launch.cluster[0], launch.cluster[1], launch.cluster[2]};
      }
      if (launch.cooperative) next(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).value.cooperative = 1;
      if (launch.pdl) {
        next(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            .value.programmaticStreamSerializationAllowed = 1;
      }
    }
    LaunchConfig(const LaunchConfig&) = delete;
    LaunchConfig& operator=(const LaunchConfig&) = delete;

    CUlaunchAttribute& next(CUlaunchAttributeID id) {
      CUlaunchAttribute& attribute = attributes[config.numAttrs++];
      attribute.id = id;
      return attribute;
    }

    CUlaunchConfig config{};
    std::array<CUlaunchAttribute, 3> attributes{};
  };

  // Takes about 10 ns if the context is current already, which is so in all calls of a thread
  // except the first.
  Status make_current() const {
    CUcontext current = nullptr;
    if (driver_.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context_) return {};
    return driver_.status(driver_.cuCtxSetCurrent(context_), "using the GPU");
  }

  Status out_of_memory(std::size_t bytes) const {
    std::size_t free = 0;
    std::size_t total = 0;
    driver_.cuMemGetInfo(&free, &total);
    return environment_error(info_.name + " has no room for " + std::to_string(bytes) + " bytes: " +
                             std::to_string(free) + " of " + std::to_string(total) + " are free");
  }

  const CudaDriver& driver_;
  DeviceInfo info_;
  CUdevice device_;
  CUcontext context_;
};

}  // namespace

Result<CudaDevices> list_cuda_devices(const CudaDriver& driver) {
  int count = 0;
  MGTUNE_TRY(driver.status(driver.cuDeviceGetCount(&count), "counting devices"));
  CudaDevices found;
  for (int index = 0; index < count; ++index) {
    Result<DeviceInfo> info = describe(driver, index);
    if (info.ok()) {
      found.devices.push_back(std::move(*info));
    } else {
      found.failures.push_back("GPU " + std::to_string(index) + ": " + info.status().message());
    }
  }
  return found;
}

Result<std::unique_ptr<Device>> open_cuda_device(const CudaDriver& driver, int index) {
  MGTUNE_ASSIGN(DeviceInfo info, describe(driver, index));
  CUdevice device = 0;
  MGTUNE_TRY(driver.status(driver.cuDeviceGet(&device, index), "opening a device"));
  CUcontext context = nullptr;
  const CUresult result = driver.cuDevicePrimaryCtxRetain(&context, device);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    return environment_error(info.name + " has no memory left for a context");
  }
  MGTUNE_TRY(driver.status(result, "opening the GPU"));
  return std::unique_ptr<Device>(
      std::make_unique<CudaDevice>(driver, std::move(info), device, context));
}

}  // namespace mgtune
