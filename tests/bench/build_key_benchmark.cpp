// The key of a build: a sweep computes it for each variant, in the process that drives it and in
// the measure worker. BuildKey asks for the same tree again, as a sweep does. FirstBuildKey has a
// copy of the tree each time, so that the includes are followed anew.

#include <benchmark/benchmark.h>

#include "compiler/compiler.h"
#include "family/source_tree.h"

namespace mgtune {
namespace {

constexpr char kIdentity[] = "nvrtc 13.0";

BuildRequest request_of(const SourceTree& tree) {
  return {&tree, "backward.cu", {"rmsnorm_backward<float, 4096, 256>"}, "sm_90a"};
}

void BuildKey(benchmark::State& state) {
  const SourceTree tree = embedded_source_tree("kernels/rmsnorm");
  const BuildRequest request = request_of(tree);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(build_key(request, kIdentity));
}
BENCHMARK(BuildKey)->Unit(benchmark::kMicrosecond);

void FirstBuildKey(benchmark::State& state) {
  const SourceTree tree = embedded_source_tree("kernels/rmsnorm");
  for ([[maybe_unused]] auto _ : state) {
    const SourceTree copy = tree;
    benchmark::DoNotOptimize(build_key(request_of(copy), kIdentity));
  }
}
BENCHMARK(FirstBuildKey)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace mgtune
