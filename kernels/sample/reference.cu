// The reference of sample.forward in fp64, and the kernels that fill logits, samplings and
// positions.
//
// Algorithm  One thread per row. It finds the smallest kept logit bit by bit: the largest value for
//            which the logits from it on have top_p of all weight. Then it walks over the kept
//            columns in order.
// Traffic    reads each element 36 times.
// Numerics   The inputs are the exact values in memory. The relative error of a sum is below
//            columns * 2^-52. A result differs from a kernel's only if a sum is so near to a limit
//            that the rounded sums of the two fall on different sides.

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

// Maps floats to integers with the same order.
__device__ inline mg::u32 ordered(float value) {
  const mg::u32 bits = __float_as_uint(value + 0.0f);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

template <typename T, class Problem>
__global__ void sample_forward_reference(const T* x, const float* sampling, double* index,
                                         double* positions, double* lengths, Problem problem) {
  for_each_index(problem.rows, [&](mg::i64 row) {
    if (positions != nullptr) positions[row] += 1.0;
    if (lengths != nullptr) lengths[row] += 1.0;
    const mg::i64 columns = problem.columns;
    const auto value = [&](mg::i64 c) { return mg::to_float(x[row * problem.x_stride + c]); };
    mg::i64 best = -1;
    for (mg::i64 c = 0; c < columns; ++c) {
      if (value(c) == value(c) && (best < 0 || value(c) > value(best))) best = c;
    }
    index[row] = best < 0 ? 0.0 : static_cast<double>(best);
    const double temperature = sampling[row * 3], top_p = sampling[row * 3 + 1];
    if (best < 0 || !(temperature > 0.0)) return;
    const double largest = value(best);
    const auto weight = [&](mg::i64 c) {
      const double exponent = (value(c) - largest) / temperature;
      return exponent == exponent ? exp(exponent) : 0.0;
    };
    const auto weight_from = [&](mg::u32 smallest) {
      double sum = 0.0;
      for (mg::i64 c = 0; c < columns; ++c) {
        if (ordered(value(c)) >= smallest) sum += weight(c);
      }
      return sum;
    };
    double sum = weight_from(0);
    if (sum == 0.0) return;
    mg::u32 smallest = 0;
    mg::i64 equals = columns;  // how many columns with the smallest kept logit are kept
    if (top_p > 0.0 && top_p < 1.0) {
      const double wanted = sum * top_p;
      for (mg::u32 bit = 0x80000000u; bit != 0; bit >>= 1) {
        if (weight_from(smallest | bit) >= wanted) smallest |= bit;
      }
      sum = smallest == 0xffffffffu ? 0.0 : weight_from(smallest + 1);
      equals = 0;
      for (mg::i64 c = 0; c < columns && sum < wanted; ++c) {
        if (ordered(value(c)) != smallest) continue;
        sum += weight(c);
        ++equals;
      }
    }
    double rest = sum * sampling[row * 3 + 2];
    for (mg::i64 c = 0; c < columns; ++c) {
      const mg::u32 order = ordered(value(c));
      if (weight(c) == 0.0 || order < smallest || (order == smallest && equals-- <= 0)) continue;
      index[row] = static_cast<double>(c);
      rest -= weight(c);
      if (rest < 0.0) return;
    }
  });
}

template <typename T, class Problem>
__global__ void fill_positions(T* out, unsigned long long seed, Problem problem) {
  for_each_index(problem.rows,
                 [&](mg::i64 i) { out[i] = static_cast<T>(mg::random_bits(seed, i) % 4096); });
}

// Rows have every kind of temperature and top-p. The first row has usual values.
template <typename T, class Problem>
__global__ void fill_sampling(T* out, unsigned long long seed, Problem problem) {
  for_each_index(problem.rows, [&](mg::i64 i) {
    const float temperatures[5] = {0.8f, 1.0f, 0.0f, 0.25f, 2.0f};
    const float top_ps[4] = {0.9f, 1.0f, 1e-6f, 0.5f};
    out[i * 3] = temperatures[i % 5];
    out[i * 3 + 1] = top_ps[i % 4];
    out[i * 3 + 2] = static_cast<float>(mg::random_bits(seed, i) >> 40) * 0x1p-24f;
  });
}

// Half of the columns have one of few values, so that every row has equal elements. The others are
// multiples of 2^-10, so that no kernel may confuse their order by rounding.
template <typename T, class Problem>
__global__ void fill_logits(T* out, unsigned long long seed, Problem problem) {
  for_each_index(problem.rows * problem.columns, [&](mg::i64 i) {
    const mg::u64 bits = mg::random_bits(seed, i);
    const float step = static_cast<float>(bits % 31) * 0.25f - 6.0f;
    const float normal = static_cast<float>(static_cast<int>(2048.0f * mg::normal_of(bits)));
    out[i] = mg::from_float<T>(bits >> 63 != 0 ? step : normal * 0x1p-10f);
  });
}
