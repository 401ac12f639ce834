// Enumerating a space: every admissible variant of a problem, with constraints tested as soon as
// what they read is bound. rmsnorm.forward as it ships; attention.prefill of the golden operators
// is the largest space at hand: 1,114,992 points. And what a sweep waits for in spaces that nobody
// lists: 10^7 points and 10^10, of which one in a hundred is admissible.

#include <benchmark/benchmark.h>

#include <map>
#include <string>

#include "family/catalog.h"
#include "search/search.h"
#include "space/space.h"
#include "system/file_system.h"
#include "tests/helpers/operators/large_family.h"
#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

constexpr char kPrefill[] = "batch=2,seq_q=4096,seq_k=4096,heads=32,kv_heads=8,head_dim=128,T=bf16";
constexpr DeviceLimits kLimits{90, 132, 232448, 62914560};  // an H200's

void count_variants(benchmark::State& state, const Space& space) {
  std::uint64_t admissible = 0;
  for ([[maybe_unused]] auto _ : state) {
    admissible = 0;
    space.for_each([&](const Variant&) { return ++admissible > 0; });
  }
  state.counters["points"] = static_cast<double>(space.size());
  state.counters["admissible"] = static_cast<double>(admissible);
}

void EnumerateRmsnormForward(benchmark::State& state) {
  Catalog catalog(FileSystem::real());
  const Operator& op = *must(catalog.find_operator("rmsnorm.forward"));
  const Problem problem =
      must(bind_problem(op, {{"rows", "4096"}, {"hidden", "4096"}, {"T", "bf16"}}));
  count_variants(state, Space(problem, kLimits));
}
BENCHMARK(EnumerateRmsnormForward)->Unit(benchmark::kMicrosecond);

void EnumerateAttentionPrefill(benchmark::State& state) {
  const Operator op = decode_toy(
      "attention.prefill", must(FileSystem::real().read_file(
                               source_path("tests/golden/operators/attention.prefill.json"))));
  const Problem problem = must(bind_problem(op, must(parse_assignments(kPrefill))));
  count_variants(state, Space(problem, kLimits));
}
BENCHMARK(EnumerateAttentionPrefill)->Unit(benchmark::kMillisecond);

// 10^range(0) points; constraints that are known early, or only of whole points.
Operator large_operator(const benchmark::State& state) {
  const int parameters = static_cast<int>(state.range(0));
  return decode_toy(
      "large.copy",
      large_family_json(parameters, state.range(1) == 0 ? kPrunedEarly : pruned_late(parameters)));
}

Space large_space(const Operator& op) {
  return Space(must(bind_problem(op, {{"n", "100"}, {"T", "f32"}})), kLimits);
}

void CountLargeSpace(benchmark::State& state) {
  const Operator op = large_operator(state);
  const Space space = large_space(op);
  std::uint64_t admissible = 0;
  for ([[maybe_unused]] auto _ : state) {
    admissible = admissible_variants(space.statistics(kCountedNodes));
  }
  state.counters["admissible"] = static_cast<double>(admissible);
}
BENCHMARK(CountLargeSpace)
    ->ArgsProduct({{7, 10}, {0, 1}})
    ->ArgNames({"digits", "late"})
    ->Unit(benchmark::kMillisecond);

// The variant after the ladder.
void FirstVariantOfLargeSpace(benchmark::State& state, const std::string& strategy) {
  const Operator op = large_operator(state);
  for ([[maybe_unused]] auto _ : state) {
    const Space space = large_space(op);
    const auto search = must(make_search(strategy, space, 1));
    search->next();
    benchmark::DoNotOptimize(search->next());
  }
}
BENCHMARK_CAPTURE(FirstVariantOfLargeSpace, adaptive, "adaptive")
    ->ArgsProduct({{7, 10}, {0, 1}})
    ->ArgNames({"digits", "late"})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(FirstVariantOfLargeSpace, exhaustive, "exhaustive")
    ->ArgsProduct({{7, 10}, {0, 1}})
    ->ArgNames({"digits", "late"})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mgtune
