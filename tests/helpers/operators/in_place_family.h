// An operator that adds in place, with flags, integers and a fill kernel of its own. Texts only.

#pragma once

namespace mgtune {

// state += x, in place; indices from a fill kernel of reference.cu.
inline constexpr char kAddJson[] = R"json({
  "format": 1,
  "dims": {"count": "dynamic"},
  "flags": {"twice": "bool"},
  "tensors": {
    "x": {"role": "in", "dtype": "f64", "shape": ["count"], "fill": "uniform(1, 2)"},
    "index": {"role": "in", "dtype": "i32", "shape": ["count"], "fill": {"kernel": "fill_index"}},
    "state": {"role": "inout", "dtype": "f32", "shape": ["count"], "fill": "normal"},
    "hits": {"role": "out", "dtype": "i32", "shape": ["count"]}
  },
  "cost": {"bytes": "count", "flops": "count"},
  "check": {"reference": "add_reference", "measure": "relative_l2",
            "tolerance": {"f32": 1e-6, "i32": 0}},
  "designs": {"plain": {
    "source": "add.cu", "params": {"HITS": [1, 2]},
    "launches": [{"kernel": "add<twice, HITS>", "grid": ["ceil_div(count, 64)"], "block": ["64"],
                  "args": ["x", "index", "state", "hits", "count:i64"]}],
    "defaults": [{"HITS": 1}]}}
})json";

inline constexpr char kAddSource[] = R"cuda(
template <bool kTwice, int kHits>
__global__ void add(const double* x, const int* index, float* state, int* hits, long long count) {
  const long long i = blockIdx.x * 64 + threadIdx.x;
  if (i >= count) return;
  state[i] += static_cast<float>(x[index[i]] * (kTwice ? 2 : 1));
  hits[i] = kHits;
}
)cuda";

inline constexpr char kAddReference[] = R"cuda(
template <class Problem>
__global__ void add_reference(const double* x, const int* index, double* state, double* hits,
                              Problem problem) {
  for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < problem.count;
       i += gridDim.x * blockDim.x) {
    state[i] += x[index[i]] * (problem.twice ? 2 : 1);
    hits[i] = 1;
  }
}

template <typename T, class Problem>
__global__ void fill_index(T* out, unsigned long long seed, Problem problem) {
  const long long count = problem.count;
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  for (long long i = 0; i < count; ++i) out[i] = static_cast<T>((i * 7 + seed) % count);
}
)cuda";

}  // namespace mgtune
