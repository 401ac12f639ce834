// What emulation costs: launches, threads, barriers, shuffles and checked accesses on the cpu
// device, and compiling for it. The numbers of runtime/device/cpu/README.md come from here:
//   build/ci/tests/cpu_device_benchmark
// "each" is the cost of one such operation of one thread.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "tests/helpers/kernels/kernel_text.h"

namespace mgtune {
namespace {

constexpr char kSource[] = R"(
#include <mg/shared.cuh>

__global__ void nothing() {}

__global__ void barriers(int count) {
  for (int i = 0; i < count; ++i) __syncthreads();
}

__global__ void shuffles(int count, float* out) {
  float value = threadIdx.x;
  for (int i = 0; i < count; ++i) value = __shfl_xor_sync(0xffffffffu, value, 1);
  out[threadIdx.x] = value;
}

__global__ void shared_reads(int count, int* out) {
  MG_SHARED(int, values, [1024]);
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += *const_cast<volatile int*>(&values[threadIdx.x]);
  out[threadIdx.x] = sum;
}
)";

constexpr int kRepeats = 1000;

KernelText build(const char* arch) {
  return KernelText::build(kSource, {"nothing", "barriers", "shuffles", "shared_reads"}, arch)
      .value();
}

const KernelText& built() {
  static const KernelText kernels = build("cpu");
  return kernels;
}

const KernelText& built_with_race_checker() {
  static const KernelText kernels = build("cpu-race");
  return kernels;
}

LaunchShape one_block(const benchmark::State& state) {
  return {{1, 1, 1}, {static_cast<std::uint32_t>(state.range(0)), 1, 1}};
}

// Launches until the benchmark has enough; `operations` is how many a thread does in a launch.
template <typename... Args>
void time_launches(benchmark::State& state, const KernelText& kernels, const char* kernel,
                   int operations, Args... args) {
  // The first launch maps the threads' stacks on each worker it reaches.
  for (int i = 0; i < 20; ++i) static_cast<void>(kernels.launch(kernel, one_block(state), args...));
  for ([[maybe_unused]] auto _ : state) {
    if (!kernels.launch(kernel, one_block(state), args...).ok()) {
      state.SkipWithError("a launch failed");
    }
  }
  using benchmark::Counter;
  state.counters["each"] = Counter(static_cast<double>(state.range(0)) * operations,
                                   Counter::kIsIterationInvariantRate | Counter::kInvert);
}

void Launch(benchmark::State& state) { time_launches(state, built(), "nothing", 1); }
BENCHMARK(Launch)->Arg(32)->Arg(1024)->UseRealTime();

void Barriers(benchmark::State& state) {
  time_launches(state, built(), "barriers", kRepeats, kRepeats);
}
BENCHMARK(Barriers)->Arg(32)->Arg(256)->Arg(1024)->UseRealTime();

void Shuffles(benchmark::State& state) {
  const KernelText& kernels = built();
  const HostArray<float> out(kernels.device(), 1024);
  time_launches(state, kernels, "shuffles", kRepeats, kRepeats, out.data());
}
BENCHMARK(Shuffles)->Arg(32)->Arg(256)->Arg(1024)->UseRealTime();

void SharedReadsUnderTheRaceChecker(benchmark::State& state) {
  const KernelText& kernels = built_with_race_checker();
  const HostArray<int> out(kernels.device(), 1024);
  time_launches(state, kernels, "shared_reads", kRepeats, kRepeats, out.data());
}
BENCHMARK(SharedReadsUnderTheRaceChecker)->Arg(256)->UseRealTime();

Status compile_rmsnorm(Compiler& compiler, const SourceTree& sources) {
  const std::string kernel =
      "rmsnorm_forward<float, float, 4096, 256, 1, 1, 1, 4, true, LOAD::streaming, "
      "STORE::streaming, true, false, false>";
  return compiler.compile({&sources, "forward.cu", {kernel}, "cpu"}).status();
}

// After so many compiles of the same compiler: from the third on its headers are precompiled.
void CompileRmsnormAfter(benchmark::State& state) {
  const SourceTree sources = embedded_source_tree("kernels/rmsnorm");
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    const std::unique_ptr<Compiler> compiler = make_compiler("cpu").value();
    bool compiled = true;
    for (std::int64_t i = 0; i < state.range(0); ++i) {
      compiled = compiled && compile_rmsnorm(*compiler, sources).ok();
    }
    state.ResumeTiming();
    compiled = compiled && compile_rmsnorm(*compiler, sources).ok();
    if (!compiled) state.SkipWithError("a compile failed");
  }
}
BENCHMARK(CompileRmsnormAfter)
    ->Arg(0)
    ->Arg(2)
    ->Arg(3)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5)
    ->UseRealTime();

}  // namespace
}  // namespace mgtune
