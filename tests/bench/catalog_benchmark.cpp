// Loading families: the JSON of every operator, its expressions parsed and checked. A program that
// plans one operator decodes that one.

#include <benchmark/benchmark.h>

#include <string>

#include "family/catalog.h"
#include "system/file_system.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

void LoadShippedFamilies(benchmark::State& state) {
  const std::vector<std::string> families = Catalog::shipped_families();
  for ([[maybe_unused]] auto _ : state) {
    Catalog catalog(FileSystem::real());
    for (const std::string& family : families) {
      if (!catalog.find(family).ok()) state.SkipWithError("a family does not load");
    }
  }
  state.counters["families"] = static_cast<double>(families.size());
}
BENCHMARK(LoadShippedFamilies)->Unit(benchmark::kMicrosecond);

void LoadAFamilyFromItsFolder(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    Catalog catalog(FileSystem::real());
    if (!catalog.find(source_path("kernels/rmsnorm")).ok()) {
      state.SkipWithError("the family does not load");
    }
  }
}
BENCHMARK(LoadAFamilyFromItsFolder)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace mgtune
