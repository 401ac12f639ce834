// RMSNorm in bf16 inside a CUDA graph. The plan is made first. It is launched while a stream is
// being captured, and the graph is replayed on new inputs. Prints the times of the replays and of
// plain launches.
//
//   rmsnorm_graph [DEVICE]      "auto" (default), "H200", a CUDA index or a UUID: a GPU
//
// A graph always uses the dims and the pointers of the capture.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mgruntime/mgruntime.hpp>
#include <random>

#include "rmsnorm_bf16.h"

namespace {

constexpr std::int64_t kRows = 512, kHidden = 1024;
constexpr int kLaunches = 20;  // in one graph, like the layers of a model

#define CHECK_CUDA(call)                                                 \
  if (const cudaError_t status = (call); status != cudaSuccess) {        \
    std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status)); \
    return 1;                                                            \
  }
#define CHECK_MGR(call) \
  if (const mgr::Status status = (call); !status) return fail(#call, status.error())

int run(const mgr::Plan& plan) {
  std::mt19937 random(1);
  const Values weight = random_values(kHidden, random);
  Values x, y(kRows * kHidden);
  const std::size_t bytes = y.size() * 2;
  void *x_device = nullptr, *y_device = nullptr, *weight_device = nullptr;
  CHECK_CUDA(cudaMalloc(&x_device, bytes));
  CHECK_CUDA(cudaMalloc(&y_device, bytes));
  CHECK_CUDA(cudaMalloc(&weight_device, kHidden * 2));
  CHECK_CUDA(cudaMemcpy(weight_device, weight.data(), kHidden * 2, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemset(y_device, 0xff, bytes));

  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const auto launch = [&] {  // rows and x_stride; x, weight, y, rstd; eps, weight_offset
    return plan.launch({kRows, -1}, {x_device, weight_device, y_device, nullptr}, {kEps, 0},
                       nullptr, stream);
  };
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kLaunches; ++i) CHECK_MGR(launch());
  CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
  CHECK_CUDA(cudaGraphInstantiate(&replay, graph, 0));

  // New inputs at the pointers of the capture.
  x = random_values(kRows * kHidden, random);
  CHECK_CUDA(cudaMemcpy(x_device, x.data(), bytes, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaGraphLaunch(replay, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK_CUDA(cudaMemcpy(y.data(), y_device, bytes, cudaMemcpyDeviceToHost));

  cudaEvent_t start = nullptr, middle = nullptr, end = nullptr;
  CHECK_CUDA(cudaEventCreate(&start));
  CHECK_CUDA(cudaEventCreate(&middle));
  CHECK_CUDA(cudaEventCreate(&end));
  constexpr int kReplays = 50;
  CHECK_CUDA(cudaEventRecord(start, stream));
  for (int i = 0; i < kReplays; ++i) CHECK_CUDA(cudaGraphLaunch(replay, stream));
  CHECK_CUDA(cudaEventRecord(middle, stream));
  for (int i = 0; i < kReplays * kLaunches; ++i) CHECK_MGR(launch());
  CHECK_CUDA(cudaEventRecord(end, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  float in_graph_ms = 0, plain_ms = 0;
  CHECK_CUDA(cudaEventElapsedTime(&in_graph_ms, start, middle));
  CHECK_CUDA(cudaEventElapsedTime(&plain_ms, middle, end));

  auto why = plan.explain({kRows, -1});
  if (!why) return fail("explain", why.error());
  const double error = max_error(x, weight, y);
  std::printf("%sin a graph %.2f us a call, launched one by one %.2f us\n", why->c_str(),
              in_graph_ms * 1e3 / (kReplays * kLaunches), plain_ms * 1e3 / (kReplays * kLaunches));
  std::printf("max error %.2g (allowed %.2g)\n", error, kTolerance);
  cudaGraphExecDestroy(replay);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  return error <= kTolerance ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  mgr::OpenOptions options;
  if (argc > 1) options.device = argv[1];
  auto context = mgr::Context::open(options);
  if (!context) return fail("open", context.error());
  if (std::strcmp(context->device_name(), "cpu") == 0) {
    std::fprintf(stderr, "this example needs a GPU; the cpu device has no graphs\n");
    return 1;
  }
  auto plan =
      context->plan("rmsnorm.forward", {{"hidden", "1024"}, {"T", "bf16"}}, {{"rows", 1, 8192}});
  if (!plan) return fail("plan", plan.error());
  return run(*plan);
}
