// The references of the family: the formulas in fp64, with one thread per element of the result.
//
// Algorithm  A thread computes the norm of its row of x by itself, then the product. The products
//            are few, so nothing is shared between threads.
// Traffic    reads w once per row of x, and x and the weights of the norm three times per element
//            of the result, mostly from caches.
// Numerics   The inputs are the exact values in memory, and nothing is rounded to a dtype between
//            the input and the result. The relative error is below in * 2^-52.

#include <mg/random.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

template <class Visit>
__device__ void for_each_of(mg::i64 count, const Visit& visit) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
    visit(i);
  }
}

// A row of x after its norm.
template <class T, class X>
struct NormedRow {
  const X* x;
  const T *weight, *bias;
  double mean = 0.0, scale = 1.0;

  template <class Problem>
  __device__ NormedRow(const X* x, const T* weight, const T* bias, const Problem& problem)
      : x(x), weight(weight), bias(bias) {
    if (!problem.rmsnorm && !problem.layernorm) return;
    double squares = 0.0;
    if (problem.layernorm) {
      for (mg::i64 i = 0; i < problem.in; ++i) mean += value(i);
      mean /= problem.in;
    }
    for (mg::i64 i = 0; i < problem.in; ++i) squares += (value(i) - mean) * (value(i) - mean);
    scale = 1.0 / sqrt(squares / problem.in + problem.eps);
  }

  __device__ double value(mg::i64 i) const { return mg::to_float(x[i]); }

  __device__ double operator[](mg::i64 i) const {
    if (weight == nullptr) return value(i);
    const double normed = (value(i) - mean) * scale * mg::to_float(weight[i]);
    return bias == nullptr ? normed : normed + mg::to_float(bias[i]);
  }

  __device__ double dot(const T* w, mg::i64 length) const {
    double sum = 0.0;
    for (mg::i64 i = 0; i < length; ++i) sum += (*this)[i] * mg::to_float(w[i]);
    return sum;
  }
};

template <typename T, typename X, typename Y, class Problem>
__global__ void linear_decode_reference(const X* x, const T* norm_weight, const T* norm_bias,
                                        const T* w, const T* w_up, const T* bias, const Y* residual,
                                        double* y, Problem problem) {
  for_each_of(problem.rows * problem.out, [&](mg::i64 i) {
    const mg::i64 row = i / problem.out, column = i % problem.out;
    const NormedRow<T, X> h(x + row * problem.x_stride, norm_weight, norm_bias, problem);
    double value = h.dot(w + column * problem.w_stride, problem.in);
    if (bias != nullptr) value += mg::to_float(bias[column]);
    if (problem.gelu_tanh) {
      const double inner = 0.79788456080286535588 * (value + 0.044715 * value * value * value);
      value = 0.5 * value * (1.0 + tanh(inner));
    }
    if (problem.silu_gate) {
      const T* const up = w_up != nullptr ? w_up + column * problem.w_stride
                                          : w + (problem.out + column) * problem.w_stride;
      double factor = h.dot(up, problem.in);
      if (bias != nullptr) factor += mg::to_float(bias[problem.out + column]);
      value = value / (1.0 + exp(-value)) * factor;
    }
    if (residual != nullptr) {
      value += mg::to_float(residual[row * problem.residual_stride + column]);
    }
    y[i] = value;
  });
}

// Positions that the caches have room for. Only that of the eighth row is past the end.
template <typename T, class Problem>
__global__ void fill_positions(T* out, unsigned long long seed, Problem problem) {
  for_each_of(problem.rows, [&](mg::i64 i) {
    out[i] =
        static_cast<T>(i == 7 ? problem.capacity : mg::random_bits(seed, i) % problem.capacity);
  });
}

template <typename T, typename X, typename C, class Problem>
__global__ void linear_qkv_reference(const X* x, const T* norm_weight, const T* norm_bias,
                                     const T* w, const T* bias, const float* table,
                                     const int* positions, double* q, double* k_cache,
                                     double* v_cache, Problem problem) {
  const mg::i64 dim = problem.head_dim, half = dim / 2;
  const mg::i64 heads = problem.heads, kv_heads = problem.kv_heads;
  for_each_of(problem.rows * (heads + 2 * kv_heads) * half, [&](mg::i64 i) {
    const mg::i64 pair = i % half, head = i / half % (heads + 2 * kv_heads);
    const mg::i64 row = i / half / (heads + 2 * kv_heads);
    const bool fits = positions[row] >= 0 && positions[row] < problem.capacity;
    const mg::i64 position = fits ? positions[row] : 0;
    const mg::i64 first = problem.rotary_pairs ? 2 * pair : pair;
    const mg::i64 second = problem.rotary_pairs ? first + 1 : first + half;
    const NormedRow<T, X> h(x + row * problem.x_stride, norm_weight, norm_bias, problem);
    double a = h.dot(w + (head * dim + first) * problem.w_stride, problem.in);
    double b = h.dot(w + (head * dim + second) * problem.w_stride, problem.in);
    if (bias != nullptr) {
      a += mg::to_float(bias[head * dim + first]);
      b += mg::to_float(bias[head * dim + second]);
    }
    if (table != nullptr && head < heads + kv_heads) {
      const double cosine = table[position * dim + 2 * pair];
      const double sine = table[position * dim + 2 * pair + 1];
      const double turned = a * cosine - b * sine;
      b = a * sine + b * cosine;
      a = turned;
    }
    double* to = q + (row * heads + head) * dim;
    if (head >= heads) {
      if (!fits) return;
      const bool is_v = head >= heads + kv_heads;
      const mg::i64 of_kv = head - heads - (is_v ? kv_heads : 0);
      to = (is_v ? v_cache : k_cache) +
           ((row * problem.capacity + position) * kv_heads + of_kv) * dim;
    }
    to[first] = a;
    to[second] = b;
  });
}
