// How fast 64 variants of rmsnorm.forward and of rmsnorm.backward compile for an H200, and how much
// faster more compile processes are: through CompilePool, with NVRTC, from an empty cache, the
// start of the workers included. Needs no GPU. `kernels` counts those that there are to compile.
// Groups of variants compile as one program, as in an exhaustive sweep, but for "Alone".
//
// Beside it, what the machine gives as many processes that share 64 pieces of work of other kinds:
// Arithmetic in registers, and FreshMemory, writing to pages that the kernel has to find and clear.
// A virtual machine's CPUs may be hyperthreads, or not all there: `steal_ms` is what the host took.

#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "build/builder.h"
#include "compile/compile_pool.h"
#include "compile/compile_worker.h"
#include "compile/group_size.h"
#include "compiler/compiler.h"
#include "family/catalog.h"
#include "space/space.h"
#include "system/cores.h"
#include "system/file_system.h"
#include "tests/helpers/operators/golden_operators.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

constexpr std::size_t kVariants = 64;
constexpr char kDeviceId[] = "GPU-made-up";

DeviceInfo h200() {
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.id = kDeviceId;
  device.name = "NVIDIA H200";
  device.arch = "sm_90";
  device.limits = kH200;
  return device;
}

// A request for CompilePool, and the other arguments of submit().
struct Work {
  WorkRequest request;
  std::vector<std::string> kernels;
  std::string group;
};

// Spread evenly over the space, so that cheap and costly ones are among them.
std::vector<Work> variants_of(const std::string& op) {
  Catalog catalog(FileSystem::real());
  const Problem problem = bind_problem(*catalog.find_operator(op).value(),
                                       {{"rows", "4096"}, {"hidden", "4096"}, {"T", "bf16"}})
                              .value();
  const Space space(problem, kH200);
  std::vector<Work> all;
  space.for_each([&](const Variant& variant) {
    const VariantRequest request{{"rmsnorm", op, problem.text()},
                                 variant_text(*problem.op, variant)};
    const Slots slots = compile_slots(problem.binding(), variant, kH200).value();
    const BuildRequest build =
        variant_build_request(*problem.op, variant, slots, h200().arch).value();
    all.push_back(
        {{std::ssize(all), CompileRequest{request, kDeviceId}}, build.kernels, group_text(build)});
    return true;
  });
  // Runs of eight that have a kernel in common if any have, as many do in an exhaustive sweep.
  std::ranges::stable_sort(
      all, {}, [](const Work& work) -> const std::string& { return work.kernels.front(); });
  constexpr std::size_t kRun = 8;
  std::vector<Work> some;
  for (std::size_t i = 0; i < kVariants; ++i) {
    some.push_back(all[i / kRun * kRun * all.size() / kVariants + i % kRun]);
  }
  return some;
}

// CPU time of all child processes that have ended.
double children_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return double(time.tv_sec) + 1e-6 * double(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Time that the host took from this machine's CPUs, of all CPUs since it started.
double stolen_seconds() {
  std::ifstream stat("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  stat >> cpu >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
  return steal / double(::sysconf(_SC_CLK_TCK));
}

void calculate() {
  std::uint64_t x = 88172645463325252U;
  for (int i = 0; i < 20'000'000; ++i) {  // tens of milliseconds
    x ^= x << 13U;
    x ^= x >> 7U;
    x ^= x << 17U;
  }
  benchmark::DoNotOptimize(x);
}

void write_fresh_pages() {
  constexpr std::size_t kBytes = std::size_t{64} << 20U, kPage = 4096;
  void* const memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  auto* const bytes = static_cast<volatile char*>(memory);
  for (std::size_t at = 0; at < kBytes; at += kPage) bytes[at] = 1;
  ::munmap(memory, kBytes);
}

// kVariants calls of `work`, by as many processes as the benchmark's argument says.
void share_among_processes(benchmark::State& state, void (*work)()) {
  const double stolen = stolen_seconds(), used = children_seconds();
  for ([[maybe_unused]] auto _ : state) {
    void* const shared = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return state.SkipWithError("no shared memory");
    auto* const next = new (shared) std::atomic<int>(0);
    for (int i = 0; i < state.range(0); ++i) {
      if (::fork() != 0) continue;
      while (next->fetch_add(1) < int{kVariants}) work();
      ::_exit(0);
    }
    while (::wait(nullptr) > 0) {
    }
    ::munmap(shared, sizeof(std::atomic<int>));
  }
  state.counters["pieces/s"] = benchmark::Counter(kVariants, benchmark::Counter::kIsRate);
  state.counters["cpu_ms"] = (children_seconds() - used) * 1e3 / kVariants;  // a piece
  state.counters["steal_ms"] = (stolen_seconds() - stolen) * 1e3;
}

void Arithmetic(benchmark::State& state) { share_among_processes(state, calculate); }

void FreshMemory(benchmark::State& state) { share_among_processes(state, write_fresh_pages); }

void compile_variants(benchmark::State& state, const std::vector<Work>& work,
                      std::size_t most_together) {
  const auto processes = static_cast<std::size_t>(state.range(0));
  const std::vector<std::string> command = {mgtune_path(), "worker", "compile",
                                            compile_target_word(h200())};
  const double before = children_seconds(), stolen = stolen_seconds();
  double variants = 0;
  for ([[maybe_unused]] auto _ : state) {
    const TestFolder cache;
    ::setenv("MGTUNE_CACHE_DIR", cache.path().c_str(), 1);
    CompilePool pool(command, processes, std::chrono::seconds(150), {}, most_together);
    for (const Work& one : work) pool.submit(one.request, one.kernels, one.group);
    while (pool.pending() > 0) {
      const Result<std::optional<WorkReply>> reply = wait_for_next(pool);
      if (!reply.ok()) return state.SkipWithError(reply.status().message().c_str());
      if ((*reply)->outcome != Outcome::ok) state.SkipWithError((*reply)->message.c_str());
      ++variants;
    }
  }
  std::set<std::string> kernels;
  for (const Work& one : work) kernels.insert(one.kernels.begin(), one.kernels.end());
  state.counters["kernels"] = static_cast<double>(kernels.size());  // of all variants, each once
  state.counters["variants/s"] = benchmark::Counter(variants, benchmark::Counter::kIsRate);
  state.counters["cpu_ms"] = (children_seconds() - before) * 1e3 / variants;  // a variant
  state.counters["steal_ms"] = (stolen_seconds() - stolen) * 1e3;
}

void CompileForward(benchmark::State& state) {
  compile_variants(state, variants_of("rmsnorm.forward"), kMostTogether);
}

void CompileForwardAlone(benchmark::State& state) {
  compile_variants(state, variants_of("rmsnorm.forward"), 1);
}

void CompileBackward(benchmark::State& state) {
  compile_variants(state, variants_of("rmsnorm.backward"), kMostTogether);
}

void CompileBackwardAlone(benchmark::State& state) {
  compile_variants(state, variants_of("rmsnorm.backward"), 1);
}

// 1, 2, 4, ... and as many as there are cores that this process may use.
void declare(const char* name, void (*body)(benchmark::State&)) {
  const std::size_t cores = own_core_count();
  benchmark::internal::Benchmark* const one = benchmark::RegisterBenchmark(name, body);
  one->UseRealTime()->Iterations(1)->Unit(benchmark::kMillisecond);
  for (unsigned processes = 1; processes < cores; processes *= 2) one->Arg(processes);
  one->Arg(static_cast<std::int64_t>(cores));
}

}  // namespace
}  // namespace mgtune

int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  mgtune::declare("Arithmetic", mgtune::Arithmetic);
  mgtune::declare("FreshMemory", mgtune::FreshMemory);
  if (const mgtune::Status status = mgtune::make_compiler("sm_90").status(); status.ok()) {
    mgtune::declare("CompileForward", mgtune::CompileForward);
    mgtune::declare("CompileForwardAlone", mgtune::CompileForwardAlone);
    mgtune::declare("CompileBackward", mgtune::CompileBackward);
    mgtune::declare("CompileBackwardAlone", mgtune::CompileBackwardAlone);
  } else {
    std::fprintf(stderr, "nothing to compile with: %s\n", status.message().c_str());
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
