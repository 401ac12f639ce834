// FakeCuda: a libcuda whose one GPU runs on a simulated clock. Launches cost the host time; the GPU
// runs what is queued when somebody waits for it, operation by operation, with a gap between two;
// an operation starts no earlier than it was queued. Held streams, events, capture and graphs work;
// kernels do nothing.
//
// One at a time (the driver's functions know no object); one thread queues.

#pragma once

#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "device/cuda/cuda_driver.h"
#include "device/device.h"
#include "tests/helpers/fakes/fake_loader.h"
#include "tests/helpers/fakes/h200_attributes.h"

namespace mgtune {

class FakeCuda {
 public:
  // What tests set.
  int version = 13000;
  int device_count = 1;
  int failing_device = -1;  // whose UUID the driver cannot read
  CUresult init_result = CUDA_SUCCESS;
  CUresult context_result = CUDA_SUCCESS;
  CUresult capture_end_result = CUDA_SUCCESS;
  std::string device_name = "NVIDIA H200";
  std::size_t free_memory = std::size_t{100} << 30;
  std::size_t total_memory = std::size_t{140} << 30;
  bool can_hold = true;
  bool launches_wait_for_gpu = false;  // as a first launch may that loads its kernel
  double launch_cost_ns = 2500, gap_ns = 800, event_ns = 1000;
  double early_ns = 0;  // a kernel starts as much before its work, as a dependent launch does

  // What tests read.
  struct Ran {
    bool is_memset;
    double start_ns, end_ns;
  };
  std::vector<Ran> ran;
  int graphs_alive = 0, streams_alive = 0, events_alive = 0, host_blocks_alive = 0;
  double host_ns = 1e6;

  FakeCuda() { self() = this; }
  ~FakeCuda() { self() = nullptr; }
  FakeCuda(const FakeCuda&) = delete;
  FakeCuda& operator=(const FakeCuda&) = delete;

  // A launch of the test's own kernel or memset.
  Status launch(Stream, double ns, bool is_memset = false) {
    while (launches_wait_for_gpu && is_held()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (capturing_) {
      captured_.push_back({is_memset ? Kind::memset : Kind::kernel, 0, ns});
      return {};
    }
    host_ns += launch_cost_ns;
    queue({is_memset ? Kind::memset : Kind::kernel, host_ns, ns});
    return {};
  }

  // As libcuda.so.1, whole.
  FakeLoader::Symbols symbols() const;

 private:
  enum class Kind { kernel, memset, event, wait, graph };
  struct Operation {
    Kind kind;
    double queued_ns;
    double ns = 0;
    double* event = nullptr;
    const std::uint32_t* word = nullptr;
    std::uint32_t value = 0;
    std::vector<Operation> nodes = {};
  };
  using Graph = std::vector<Operation>;

  static FakeCuda*& self() {
    static FakeCuda* instance = nullptr;
    return instance;
  }

  void queue(Operation operation) { queue_.push_back(std::move(operation)); }

  static bool is_open(const Operation& wait) {
    auto& word = *const_cast<std::uint32_t*>(wait.word);
    return std::atomic_ref<std::uint32_t>(word).load(std::memory_order_acquire) >= wait.value;
  }

  bool is_held() const {
    return std::ranges::any_of(
        queue_, [](const Operation& op) { return op.kind == Kind::wait && !is_open(op); });
  }

  void run(const Operation& operation) {
    gpu_ns_ = std::max(gpu_ns_, operation.queued_ns);
    switch (operation.kind) {
      case Kind::event:
        gpu_ns_ += event_ns;
        *operation.event = gpu_ns_;
        return;
      case Kind::wait:
        while (!is_open(operation)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        gpu_ns_ = std::max(gpu_ns_, host_ns);
        return;
      case Kind::graph:
        for (const Operation& node : operation.nodes) run(node);
        return;
      default:
        gpu_ns_ += gap_ns;
        ran.push_back({operation.kind == Kind::memset, gpu_ns_ - early_ns, gpu_ns_ + operation.ns});
        gpu_ns_ += operation.ns;
    }
  }

  CUresult synchronize() {
    for (const Operation& operation : queue_) run(operation);
    queue_.clear();
    host_ns = std::max(host_ns, gpu_ns_);
    return CUDA_SUCCESS;
  }

  static CUresult unused() { return CUDA_ERROR_NOT_SUPPORTED; }

  std::vector<Operation> queue_;
  bool capturing_ = false;
  Graph captured_;
  double gpu_ns_ = 0;
};

inline FakeLoader::Symbols FakeCuda::symbols() const {
  FakeLoader::Symbols table;
#define MGTUNE_UNUSED(function, symbol) table[symbol] = as_symbol(&FakeCuda::unused);
  MGTUNE_CUDA_FUNCTIONS(MGTUNE_UNUSED)
#undef MGTUNE_UNUSED
  const auto put = [&table](const char* symbol, auto* function) {
    table[symbol] = as_symbol(function);
  };
  put(
      "cuInit", +[](unsigned) { return self()->init_result; });
  put(
      "cuDriverGetVersion", +[](int* out) { return *out = self()->version, CUDA_SUCCESS; });
  put(
      "cuGetErrorName", +[](CUresult result, const char** name) {
        *name = result == CUDA_ERROR_NO_DEVICE       ? "CUDA_ERROR_NO_DEVICE"
                : result == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                                     : "CUDA_ERROR_OTHER";
        return CUDA_SUCCESS;
      });
  put(
      "cuGetErrorString", +[](CUresult result, const char** text) {
        *text = result == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected" : "the text";
        return CUDA_SUCCESS;
      });
  put(
      "cuDeviceGetCount", +[](int* count) { return *count = self()->device_count, CUDA_SUCCESS; });
  put(
      "cuDeviceGet", +[](CUdevice* device, int index) { return *device = index, CUDA_SUCCESS; });
  put(
      "cuDeviceGetName", +[](char* name, int size, CUdevice) {
        std::strncpy(name, self()->device_name.c_str(), static_cast<std::size_t>(size));
        return CUDA_SUCCESS;
      });
  put(
      "cuDeviceGetUuid_v2", +[](CUuuid* uuid, CUdevice device) {
        if (device == self()->failing_device) return CUDA_ERROR_UNKNOWN;
        for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(16 * device + i);
        return CUDA_SUCCESS;
      });
  put(
      "cuDeviceTotalMem_v2",
      +[](std::size_t* bytes, CUdevice) { return *bytes = self()->total_memory, CUDA_SUCCESS; });
  put(
      "cuDeviceGetAttribute", +[](int* value, CUdevice_attribute attribute, CUdevice) {
        return h200_attribute(value, attribute);
      });
  put(
      "cuDevicePrimaryCtxRetain", +[](CUcontext* context, CUdevice) {
        *context = reinterpret_cast<CUcontext>(self());
        return self()->context_result;
      });
  put(
      "cuDevicePrimaryCtxRelease_v2", +[](CUdevice) { return CUDA_SUCCESS; });
  put(
      "cuCtxGetCurrent", +[](CUcontext* context) {
        return *context = reinterpret_cast<CUcontext>(self()), CUDA_SUCCESS;
      });
  put(
      "cuCtxSetCurrent", +[](CUcontext) { return CUDA_SUCCESS; });
  put(
      "cuCtxSynchronize", +[] { return self()->synchronize(); });
  put(
      "cuMemGetInfo_v2", +[](std::size_t* free, std::size_t* total) {
        *free = self()->free_memory;
        *total = self()->total_memory;
        return CUDA_SUCCESS;
      });
  put(
      "cuMemAlloc_v2", +[](CUdeviceptr* memory, std::size_t bytes) {
        if (bytes > self()->free_memory) return CUDA_ERROR_OUT_OF_MEMORY;
        self()->free_memory -= bytes;
        return *memory = 0x1000, CUDA_SUCCESS;
      });
  put(
      "cuMemFree_v2", +[](CUdeviceptr) { return CUDA_SUCCESS; });
  put(
      "cuMemHostAlloc", +[](void** memory, std::size_t, unsigned) {
        ++self()->host_blocks_alive;
        return *memory = new std::uint32_t(0), CUDA_SUCCESS;
      });
  put(
      "cuMemHostGetDevicePointer_v2", +[](CUdeviceptr* address, void* host, unsigned) {
        return *address = reinterpret_cast<CUdeviceptr>(host), CUDA_SUCCESS;
      });
  put(
      "cuMemFreeHost", +[](void* memory) {
        --self()->host_blocks_alive;
        delete static_cast<std::uint32_t*>(memory);
        return CUDA_SUCCESS;
      });
  put(
      "cuStreamCreate", +[](CUstream* stream, unsigned) {
        ++self()->streams_alive;
        return *stream = reinterpret_cast<CUstream>(0x2000), CUDA_SUCCESS;
      });
  put(
      "cuStreamDestroy_v2", +[](CUstream) { return --self()->streams_alive, CUDA_SUCCESS; });
  put(
      "cuStreamSynchronize", +[](CUstream) { return self()->synchronize(); });
  put(
      "cuStreamWaitValue32_v2", +[](CUstream, CUdeviceptr address, cuuint32_t value, unsigned) {
        if (!self()->can_hold) return CUDA_ERROR_NOT_SUPPORTED;
        const auto* word = reinterpret_cast<const std::uint32_t*>(address);
        self()->queue({Kind::wait, self()->host_ns, 0, nullptr, word, value});
        return CUDA_SUCCESS;
      });
  put(
      "cuEventCreate", +[](CUevent* event, unsigned) {
        ++self()->events_alive;
        return *event = reinterpret_cast<CUevent>(new double(0)), CUDA_SUCCESS;
      });
  put(
      "cuEventDestroy_v2", +[](CUevent event) {
        --self()->events_alive;
        delete reinterpret_cast<double*>(event);
        return CUDA_SUCCESS;
      });
  put(
      "cuEventRecord", +[](CUevent event, CUstream) {
        self()->queue({Kind::event, self()->host_ns, 0, reinterpret_cast<double*>(event)});
        return CUDA_SUCCESS;
      });
  put(
      "cuEventElapsedTime", +[](float* milliseconds, CUevent from, CUevent to) {
        const double ns = *reinterpret_cast<double*>(to) - *reinterpret_cast<double*>(from);
        return *milliseconds = static_cast<float>(ns / 1e6), CUDA_SUCCESS;
      });
  put(
      "cuStreamBeginCapture_v2", +[](CUstream, CUstreamCaptureMode) {
        self()->captured_.clear();
        return self()->capturing_ = true, CUDA_SUCCESS;
      });
  put(
      "cuStreamEndCapture", +[](CUstream, CUgraph* graph) {
        self()->capturing_ = false;
        if (self()->capture_end_result != CUDA_SUCCESS) return self()->capture_end_result;
        ++self()->graphs_alive;
        *graph = reinterpret_cast<CUgraph>(new Graph(self()->captured_));
        return CUDA_SUCCESS;
      });
  put(
      "cuGraphInstantiateWithFlags", +[](CUgraphExec* out, CUgraph graph, unsigned long long) {
        ++self()->graphs_alive;
        *out = reinterpret_cast<CUgraphExec>(new Graph(*reinterpret_cast<Graph*>(graph)));
        return CUDA_SUCCESS;
      });
  put(
      "cuGraphLaunch", +[](CUgraphExec graph, CUstream) {
        self()->host_ns += self()->launch_cost_ns;
        self()->queue({Kind::graph, self()->host_ns, 0, nullptr, nullptr, 0,
                       *reinterpret_cast<Graph*>(graph)});
        return CUDA_SUCCESS;
      });
  put(
      "cuGraphDestroy", +[](CUgraph graph) {
        --self()->graphs_alive;
        delete reinterpret_cast<Graph*>(graph);
        return CUDA_SUCCESS;
      });
  put(
      "cuGraphExecDestroy", +[](CUgraphExec graph) {
        --self()->graphs_alive;
        delete reinterpret_cast<Graph*>(graph);
        return CUDA_SUCCESS;
      });
  return table;
}

}  // namespace mgtune
