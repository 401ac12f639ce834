// The references of token_attention in fp64, and the kernels that fill lengths, caches and
// statistics.
//
// Algorithm  A thread computes one element of o, in two walks over the keys or parts.
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

// The first sequence has a full cache. The last one has no keys, unless it is the first.
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

// Values are NaN past the length of a sequence.
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

// Every third part is empty, and so are all parts of the last head, unless it is the first.
template <typename T, class Problem>
__global__ void fill_statistics(T* out, unsigned long long seed, Problem problem) {
  for_each_index(problem.rows * problem.heads * problem.splits, [&](mg::i64 i) {
    const mg::i64 head = i / problem.splits;
    const bool is_empty =
        i % problem.splits % 3 == 2 || (head != 0 && head == problem.rows * problem.heads - 1);
    out[i] = mg::from_float<T>(is_empty ? -mg::infinity()
                                        : 3.0f * mg::normal_of(mg::random_bits(seed, i)));
  });
}

// The attention of the row and head over keys of one row, at one column. `log_sum` may be null.
template <typename T, class Problem>
__device__ double attention_at(const T* q, const T* keys, const T* values, mg::i64 row,
                               mg::i64 head, mg::i64 column, mg::i64 begin, mg::i64 end,
                               double* log_sum, const Problem& problem) {
  const mg::i64 dim = problem.head_dim, stride = problem.kv_heads * dim;
  const mg::i64 kv_head = head / (problem.heads / problem.kv_heads);
  const mg::i64 first = row * problem.capacity * stride + kv_head * dim;
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
    output += weight * mg::to_float(values[first + key * stride + column]);
  }
  if (log_sum != nullptr) *log_sum = end > begin ? largest + log(sum) : -mg::infinity();
  return end > begin ? output / sum : 0.0;
}

template <class Problem>
__device__ mg::i64 first_key(mg::i64 end, const Problem& problem) {
  return problem.window != 0 && end > problem.window ? end - problem.window : 0;
}

template <typename T, class Problem>
__global__ void token_attention_forward_reference(const T* q, const T* keys, const T* values,
                                                  const int* lengths, double* o, Problem problem) {
  const mg::i64 dim = problem.head_dim;
  for_each_index(problem.rows * problem.heads * dim, [&](mg::i64 i) {
    const mg::i64 head = i / dim % problem.heads, row = i / dim / problem.heads;
    o[i] = attention_at(q, keys, values, row, head, i % dim, first_key(lengths[row], problem),
                        lengths[row], nullptr, problem);
  });
}

template <typename T, class Problem>
__global__ void token_attention_partial_reference(const T* q, const T* keys, const T* values,
                                                  const int* lengths, double* o, double* statistics,
                                                  Problem problem) {
  const mg::i64 dim = problem.head_dim, splits = problem.splits;
  for_each_index(problem.rows * problem.heads * splits * dim, [&](mg::i64 i) {
    const mg::i64 split = i / dim % splits, head = i / dim / splits % problem.heads;
    const mg::i64 row = i / dim / splits / problem.heads, end = lengths[row];
    const mg::i64 begin = first_key(end, problem), part = (end - begin + splits - 1) / splits;
    const mg::i64 before = begin + split * part < end ? begin + split * part : end;
    const mg::i64 until = before + part < end ? before + part : end;
    o[i] = attention_at(q, keys, values, row, head, i % dim, before, until,
                        i % dim == 0 ? statistics + i / dim : nullptr, problem);
  });
}

template <typename Y, class Problem>
__global__ void token_attention_reduce_reference(const float* x, const float* statistics, double* o,
                                                 Problem problem) {
  const mg::i64 dim = problem.head_dim, splits = problem.splits;
  for_each_index(problem.rows * problem.heads * dim, [&](mg::i64 i) {
    const float* const logs = statistics + i / dim * splits;
    double largest = -1e300, sum = 0.0, output = 0.0;
    for (mg::i64 s = 0; s < splits; ++s) largest = fmax(largest, static_cast<double>(logs[s]));
    for (mg::i64 s = 0; s < splits; ++s) {
      const double weight = exp(logs[s] - largest);
      sum += weight;
      output += weight * x[(i / dim * splits + s) * dim + i % dim];
    }
    o[i] = sum > 0.0 ? output / sum : 0.0;
  });
}
