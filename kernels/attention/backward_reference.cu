// The reference of attention.backward: the formulas of backward.cu in fp64, with one thread per
// query and head for dq, and one per key and KV head for dk and dv. The baseline does the same in
// low precision. The errors of a variant are judged by those of the baseline.
//
// Algorithm  A thread owns one row of two matrices: of q and dout, or of k and v. It walks over the
//            rows of the other two matrices, 16 at a time, and computes both dot products of each
//            pair. It keeps its sums in the memory of its output. delta is computed again for each
//            pair.
//            The baseline rounds to T what a framework would round: k * scale, logits,
//            probabilities, gradients of logits and results. It takes lse and o as they are.
// Traffic    Reads q, dout and o once per key, k and v once per query and head; reads and writes a
//            row of results once per 16 partners.
// Work       8 flops in fp64 per pair of a query and a key and column of the head for dq, and 10
//            for dk and dv: three dot products and one or two rows that are added.
// Tunables   None.
// Numerics   The relative error is below (queries + keys) * 2^-52.

#include <mg/types.cuh>
#include <mg/vec.cuh>

constexpr int kAtOnce = 16;

template <class T>
__device__ double rounded(double value) {
  return mg::to_float(mg::from_float<T>(static_cast<float>(value)));
}

// The loop is unrolled, so that an array with one element per partner stays in registers.
template <class Visit>
__device__ void each(int count, const Visit& visit) {
#pragma unroll
  for (int n = 0; n < kAtOnce; ++n) {
    if (n < count) visit(n);
  }
}

// One head: rows of its matrices. Query i is at q + i * problem.q_ss, and so on.
template <class T>
struct Head {
  const T *q, *k, *v, *o, *dout;
  const float* lse;

  template <class Problem>
  __device__ Head(const T* q, const T* k, const T* v, const T* o, const T* dout, const float* lse,
                  mg::i64 b, mg::i64 head, const Problem& at)
      : lse(lse + (b * at.heads + head) * at.seq_q) {
    const mg::i64 kv_head = head / (at.heads / at.kv_heads);
    this->q = q + b * at.q_sb + head * at.q_sh;
    this->k = k + b * at.k_sb + kv_head * at.k_sh;
    this->v = v + b * at.v_sb + kv_head * at.v_sh;
    this->o = o + b * at.o_sb + head * at.o_sh;
    this->dout = dout + b * at.dout_sb + head * at.dout_sh;
  }
};

// Computes p and ds of up to 16 pairs of a query and a key: (first + n, key) if kByKey, otherwise
// (query, first + n).
template <bool kLow, bool kByKey, class T, class Problem>
__device__ void differentiate(const Head<T>& head, const Problem& at, mg::i64 own, mg::i64 first,
                              int count, double (&p)[kAtOnce], double (&ds)[kAtOnce]) {
  const double scale = at.scale;
  const auto query = [&](int n) { return kByKey ? first + n : own; };
  const auto key = [&](int n) { return kByKey ? own : first + n; };
  double delta[kAtOnce];
  each(kAtOnce, [&](int n) { p[n] = ds[n] = delta[n] = 0.0; });
  for (mg::i64 d = 0; d < at.head_dim; ++d) {
    each(count, [&](int n) {
      const double k = mg::to_float(head.k[key(n) * at.k_ss + d]);
      const double dout = mg::to_float(head.dout[query(n) * at.dout_ss + d]);
      p[n] +=
          mg::to_float(head.q[query(n) * at.q_ss + d]) * (kLow ? rounded<T>(k * scale) : k * scale);
      ds[n] += dout * mg::to_float(head.v[key(n) * at.v_ss + d]);
      delta[n] += dout * mg::to_float(head.o[query(n) * at.o_ss + d]);
    });
  }
  each(count, [&](int n) {
    const double sum = head.lse[query(n)];
    p[n] = exp((kLow ? rounded<T>(p[n]) : p[n]) - sum);
    ds[n] = p[n] * (ds[n] - delta[n]);
    if (kLow) {
      p[n] = rounded<T>(p[n]);
      ds[n] = rounded<T>(ds[n]);
    }
  });
}

// sums += factor * (factors of `count` rows) * rows
template <class T>
__device__ void add_rows(double* sums, const double (&factors)[kAtOnce], double factor,
                         const T* rows, mg::i64 stride, int count, mg::i64 head_dim) {
  for (mg::i64 d = 0; d < head_dim; ++d) {
    double total = 0.0;
    each(count, [&](int n) { total += factors[n] * mg::to_float(rows[n * stride + d]); });
    sums[d] += factor * total;
  }
}

__device__ inline int at_once(mg::i64 first, mg::i64 end) {
  return static_cast<int>(end - first < kAtOnce ? end - first : kAtOnce);
}

// Sets a row of results to zero before the sums, or (with kRound) rounds it after them.
template <bool kRound, class T>
__device__ void clear_or_round(double* row, mg::i64 head_dim, bool clear) {
  for (mg::i64 d = 0; d < head_dim; ++d) {
    if (clear) row[d] = 0.0;
    if (kRound && !clear) row[d] = rounded<T>(row[d]);
  }
}

template <bool kLow, class T, class Problem>
__device__ void query_gradient(const Head<T>& head, const Problem& at, mg::i64 query, double* dq) {
  const mg::i64 own = query + at.seq_k - at.seq_q;
  const mg::i64 end = at.causal && own + 1 < at.seq_k ? own + 1 : at.seq_k;
  double p[kAtOnce], ds[kAtOnce];
  clear_or_round<kLow, T>(dq, at.head_dim, true);
  for (mg::i64 key = 0; key < end; key += kAtOnce) {
    const int count = at_once(key, end);
    differentiate<kLow, false>(head, at, query, key, count, p, ds);
    add_rows(dq, ds, at.scale, head.k + key * at.k_ss, at.k_ss, count, at.head_dim);
  }
  clear_or_round<kLow, T>(dq, at.head_dim, false);
}

template <class T, bool kLow, class Problem>
__device__ void add_key_gradients(const Head<T>& head, const Problem& at, mg::i64 key, double* dk,
                                  double* dv) {
  const mg::i64 own = key + at.seq_q - at.seq_k;  // the first query that sees it, if causal
  double p[kAtOnce], ds[kAtOnce];
  for (mg::i64 query = at.causal && own > 0 ? own : 0; query < at.seq_q; query += kAtOnce) {
    const int count = at_once(query, at.seq_q);
    differentiate<kLow, true>(head, at, key, query, count, p, ds);
    add_rows(dk, ds, at.scale, head.q + query * at.q_ss, at.q_ss, count, at.head_dim);
    add_rows(dv, p, 1.0, head.dout + query * at.dout_ss, at.dout_ss, count, at.head_dim);
  }
}

template <bool kLow, class T, class Problem>
__device__ void backward(const T* q, const T* k, const T* v, const T* o, const T* dout,
                         const float* lse, double* dq, double* dk, double* dv, const Problem& at) {
  const mg::i64 queries = at.batch * at.heads * at.seq_q;
  const mg::i64 keys = at.batch * at.kv_heads * at.seq_k;
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < queries + keys;
       i += threads) {
    if (i < queries) {
      const mg::i64 query = i % at.seq_q, b = i / at.seq_q / at.heads;
      const mg::i64 number = i / at.seq_q % at.heads;
      query_gradient<kLow>(Head<T>(q, k, v, o, dout, lse, b, number, at), at, query,
                           dq + ((b * at.seq_q + query) * at.heads + number) * at.head_dim);
      continue;
    }
    const mg::i64 j = i - queries, group = at.heads / at.kv_heads;
    const mg::i64 key = j % at.seq_k, b = j / at.seq_k / at.kv_heads;
    const mg::i64 kv_head = j / at.seq_k % at.kv_heads;
    const mg::i64 row = ((b * at.seq_k + key) * at.kv_heads + kv_head) * at.head_dim;
    clear_or_round<kLow, T>(dk + row, at.head_dim, true);
    clear_or_round<kLow, T>(dv + row, at.head_dim, true);
    for (mg::i64 number = kv_head * group; number < (kv_head + 1) * group; ++number) {
      add_key_gradients<T, kLow>(Head<T>(q, k, v, o, dout, lse, b, number, at), at, key, dk + row,
                                 dv + row);
    }
    clear_or_round<kLow, T>(dk + row, at.head_dim, false);
    clear_or_round<kLow, T>(dv + row, at.head_dim, false);
  }
}

template <typename T, class Problem>
__global__ void attention_backward_reference(const T* q, const T* k, const T* v, const T* o,
                                             const T* dout, const float* lse, double* dq,
                                             double* dk, double* dv, Problem problem) {
  backward<false>(q, k, v, o, dout, lse, dq, dk, dv, problem);
}

template <typename T, class Problem>
__global__ void attention_backward_low_precision(const T* q, const T* k, const T* v, const T* o,
                                                 const T* dout, const float* lse, double* dq,
                                                 double* dk, double* dv, Problem problem) {
  backward<true>(q, k, v, o, dout, lse, dq, dk, dv, problem);
}
