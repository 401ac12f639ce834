// An operator with as many points as a test asks for: parameters P0, P1, ... of ten values each,
// of which the kernel does nothing. Texts only, free of GoogleTest: benchmarks use them as well.

#pragma once

#include <string>
#include <vector>

namespace mgtune {

// One in a hundred points, known as soon as the first four parameters are.
inline const std::vector<std::string> kPrunedEarly = {"P0 == P1", "P2 == P3"};

// One in a hundred points, known only once all parameters are.
inline std::vector<std::string> pruned_late(int parameters) {
  std::string sum;
  for (int i = 0; i < parameters; ++i) {
    const int weight = i < parameters - 2 ? 3 : i < parameters - 1 ? 10 : 1;
    sum += (i == 0 ? "" : " + ") + std::to_string(weight) + " * P" + std::to_string(i);
  }
  return {"(" + sum + ") % 100 == 0"};
}

// No point at all, known only once all parameters are. There is no admissible default either.
inline std::vector<std::string> pruned_wholly(int parameters) {
  std::string sum;
  for (int i = 0; i < parameters; ++i) sum += (i == 0 ? "P" : " + P") + std::to_string(i);
  return {"(" + sum + ") == 1000"};
}

inline std::string large_family_json(int parameters, const std::vector<std::string>& constraints) {
  std::string params, defaults, arguments, conditions;
  for (int i = 0; i < parameters; ++i) {
    const std::string name = "P" + std::to_string(i), comma = i == 0 ? "" : ", ";
    params += comma + "\"" + name + "\": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
    defaults += comma + "\"" + name + "\": 0";
    arguments += ", " + name;
  }
  for (const std::string& constraint : constraints) {
    conditions += (conditions.empty() ? "\"" : ", \"") + constraint + "\"";
  }
  return R"json({
  "format": 1,
  "dims": {"n": "dynamic"},
  "dtypes": {"T": ["f32"]},
  "tensors": {"x": {"role": "in", "dtype": "T", "shape": ["n"], "fill": "normal"},
              "y": {"role": "out", "dtype": "T", "shape": ["n"]}},
  "cost": {"bytes": "2 * n * sizeof(T)", "flops": "n"},
  "check": {"reference": "large_reference", "measure": "relative_l2", "tolerance": {"f32": 1e-7}},
  "problems": {"default": [{"n": 1048576}], "emulation": [{"n": 100}]},
  "designs": {"flat": {
    "source": "copy.cu",
    "params": {)json" +
         params + R"json(},
    "constraints": [)json" +
         conditions + R"json(],
    "launches": [{"kernel": "large<T)json" +
         arguments + R"json(>", "grid": ["ceil_div(n, 32)"], "block": ["32"],
                  "args": ["x", "y", "n:i64"]}],
    "defaults": [{)json" +
         defaults + R"json(}]}}
})json";
}

inline constexpr char kLargeSource[] = R"cuda(
#include <mg/types.cuh>

template <class T, int... kUnused>
__global__ void large(const T* x, T* y, mg::i64 n) {
  const mg::i64 i = mg::i64{blockIdx.x} * 32 + threadIdx.x;
  if (i < n) y[i] = x[i];
}
)cuda";

inline constexpr char kLargeReference[] = R"cuda(
template <typename T, class Problem>
__global__ void large_reference(const T* x, double* y, Problem problem) {
  for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < problem.n;
       i += gridDim.x * blockDim.x) {
    y[i] = static_cast<double>(x[i]);
  }
}
)cuda";

}  // namespace mgtune
