// Expressions of operator files: parsed once when a family is loaded, evaluated as bytecode while a
// space is enumerated and at every launch.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "expression/expression.h"
#include "tests/helpers/operators/toy_operators.h"

namespace mgtune {
namespace {

constexpr const char* kTexts[] = {
    "hidden % VEC == 0",
    "ceil_div(rows, ROWS_PER_BLOCK)",
    "THREADS_PER_ROW * ROWS_PER_BLOCK <= 1024 && (VEC == 1 || hidden / VEC >= THREADS_PER_ROW)",
    "max(1, min(ceil_div(rows, 32), sm_count * BLOCKS_PER_SM / max(ROWS_PER_BLOCK, 1)))",
};

struct Names {
  Names() {
    const auto declare = [&](const char* name, Stage stage, std::int64_t value) {
      must(scope.declare(name, ValueType::integer, stage));
      values.push_back(value);
    };
    declare("hidden", Stage::compile, 4096);
    declare("VEC", Stage::compile, 8);
    declare("THREADS_PER_ROW", Stage::compile, 128);
    declare("ROWS_PER_BLOCK", Stage::compile, 2);
    declare("BLOCKS_PER_SM", Stage::compile, 4);
    declare("sm_count", Stage::compile, 132);
    declare("rows", Stage::launch, 1000);
  }
  Scope scope;
  std::vector<std::int64_t> values;
};

void ParseExpression(benchmark::State& state) {
  const Names names;
  const char* text = kTexts[state.range(0)];
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(Expression::parse(text, names.scope));
  }
  state.SetLabel(text);
}
BENCHMARK(ParseExpression)->DenseRange(0, 3);

void EvaluateExpression(benchmark::State& state) {
  Names names;
  const Expression expression = must(Expression::parse(kTexts[state.range(0)], names.scope));
  std::int64_t& rows = names.values.back();
  for ([[maybe_unused]] auto _ : state) {
    rows = rows % 65536 + 1;
    benchmark::DoNotOptimize(expression.evaluate(names.values));
  }
  state.SetLabel(expression.text());
}
BENCHMARK(EvaluateExpression)->DenseRange(0, 3);

}  // namespace
}  // namespace mgtune
