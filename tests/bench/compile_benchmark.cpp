// How much faster more compile processes are: 64 variants of rmsnorm.forward for an H200 through
// CompilePool, with NVRTC, from an empty cache, the start of the workers included. Needs no GPU.

#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "build/compiler.h"
#include "compile/compile_pool.h"
#include "core/file_system.h"
#include "family/catalog.h"
#include "space/space.h"
#include "tests/helpers/golden_operators.h"
#include "tests/helpers/temporary_folder.h"
#include "worker/compile_target.h"

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

// Spread evenly over the space, so that cheap and costly ones are among them.
std::vector<WorkRequest> requests() {
  Catalog catalog(FileSystem::real());
  const Problem problem = bind_problem(*catalog.find_operator("rmsnorm.forward").value(),
                                       {{"rows", "4096"}, {"hidden", "4096"}, {"T", "bf16"}})
                              .value();
  const Space space(problem, kH200);
  std::vector<WorkRequest> all;
  space.for_each([&](const Variant& variant) {
    WorkRequest request;
    request.kind = WorkRequest::Kind::compile;
    request.id = static_cast<std::int64_t>(all.size());
    request.kernel = "rmsnorm";
    request.op = "rmsnorm.forward";
    request.problem = problem.text();
    request.variant = variant_text(*problem.op, variant);
    request.device = kDeviceId;
    all.push_back(std::move(request));
    return true;
  });
  std::vector<WorkRequest> some;
  for (std::size_t i = 0; i < kVariants; ++i) some.push_back(all[i * all.size() / kVariants]);
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

void CompileRmsnorm(benchmark::State& state) {
  const auto processes = static_cast<std::size_t>(state.range(0));
  const std::vector<std::string> command = {MGTUNE_PROGRAM, "worker", "compile",
                                            compile_target_word(h200())};
  const std::vector<WorkRequest> work = requests();
  const double before = children_seconds();
  double variants = 0;
  for ([[maybe_unused]] auto _ : state) {
    const TemporaryFolder cache;
    ::setenv("MGTUNE_CACHE_DIR", cache.path().c_str(), 1);
    CompilePool pool(command, processes, std::chrono::seconds(150));
    for (const WorkRequest& request : work) pool.submit(request);
    while (true) {
      const Result<std::optional<WorkReply>> reply = pool.next();
      if (!reply.ok()) return state.SkipWithError(reply.status().message().c_str());
      if (!reply->has_value()) break;
      if ((*reply)->outcome != Outcome::ok) state.SkipWithError((*reply)->message.c_str());
      ++variants;
    }
  }
  state.counters["variants/s"] = benchmark::Counter(variants, benchmark::Counter::kIsRate);
  state.counters["cpu_ms"] = (children_seconds() - before) * 1e3 / variants;  // a variant
}

// 1, 2, 4, ... and as many as the machine has CPUs.
void declare_benchmarks() {
  const unsigned cpus = std::max(1U, std::thread::hardware_concurrency());
  benchmark::internal::Benchmark* const compile =
      benchmark::RegisterBenchmark("CompileRmsnorm", CompileRmsnorm);
  compile->UseRealTime()->Iterations(1)->Unit(benchmark::kMillisecond);
  for (unsigned processes = 1; processes < cpus; processes *= 2) compile->Arg(processes);
  compile->Arg(cpus);
}

}  // namespace
}  // namespace mgtune

int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  if (const mgtune::Status status = mgtune::make_compiler("sm_90").status(); status.ok()) {
    mgtune::declare_benchmarks();
  } else {
    std::fprintf(stderr, "nothing to compile with: %s\n", status.message().c_str());
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
