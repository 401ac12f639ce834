// The reference of token_attention.forward in fp64, and the kernels that fill lengths and caches.
//
// Algorithm  A thread computes one element of o, in two walks over the keys.
// Traffic    reads the keys twice and a column of the values once per element.
// Numerics   The inputs are the exact values in memory. The relative error is below
//            capacity * 2^-52.

#include <mg/math.cuh>
#include <mg/random.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

template <class Visit>
__device__ void for_each_index(mg::i64 count, const Visit& visit) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
    visit(i);
  }
}

// The first sequence has a full cache, the last of several none.
template <class Problem>
__device__ mg::i64 length_of(mg::i64 row, const Problem& problem) {
  if (row == 0) return problem.capacity;
  if (row == problem.rows - 1) return 0;
  return 1 + mg::random_bits(1, row) % problem.capacity;
}

template <typename T, class Problem>
__global__ void fill_lengths(T* out, unsigned long long, Problem problem) {
  for_each_index(problem.rows, [&](mg::i64 i) { out[i] = static_cast<T>(length_of(i, problem)); });
}

// NaN behind the length of a sequence.
template <typename T, class Problem>
__global__ void fill_cache(T* out, unsigned long long seed, Problem problem) {
  const mg::i64 row_size = problem.kv_heads * problem.head_dim;
  for_each_index(problem.rows * problem.capacity * row_size, [&](mg::i64 i) {
    const mg::i64 key = i / row_size % problem.capacity, row = i / row_size / problem.capacity;
    const float value = mg::normal_of(mg::random_bits(seed, i));
    out[i] =
        mg::from_float<T>(key < length_of(row, problem) ? value : __uint_as_float(0x7fc00000u));
  });
}

template <typename T, class Problem>
__global__ void token_attention_forward_reference(const T* q, const T* keys, const T* values,
                                                  const int* lengths, double* o, Problem problem) {
  const mg::i64 dim = problem.head_dim, stride = problem.kv_heads * dim;
  for_each_index(problem.rows * problem.heads * dim, [&](mg::i64 i) {
    const mg::i64 head = i / dim % problem.heads, row = i / dim / problem.heads;
    const mg::i64 kv_head = head / (problem.heads / problem.kv_heads);
    const mg::i64 first = row * problem.capacity * stride + kv_head * dim, end = lengths[row];
    const mg::i64 begin = problem.window != 0 && end > problem.window ? end - problem.window : 0;
    const auto logit = [&](mg::i64 key) {
      double value = 0.0;
      for (mg::i64 d = 0; d < dim; ++d) {
        value += static_cast<double>(mg::to_float(q[(row * problem.heads + head) * dim + d])) *
                 mg::to_float(keys[first + key * stride + d]);
      }
      return value * problem.scale;
    };
    double largest = -1e300, sum = 0.0, output = 0.0;
    for (mg::i64 key = begin; key < end; ++key) largest = fmax(largest, logit(key));
    for (mg::i64 key = begin; key < end; ++key) {
      const double weight = exp(logit(key) - largest);
      sum += weight;
      output += weight * mg::to_float(values[first + key * stride + i % dim]);
    }
    o[i] = end > begin ? output / sum : 0.0;
  });
}
