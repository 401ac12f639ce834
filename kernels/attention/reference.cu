// The references of attention's operators — the formulas read off, a query and head per thread,
// everything in fp64 — and what the same mathematics gives in low precision, by which variants are
// judged; and the lengths of packed sequences.
//
// Algorithm  a thread walks over the keys that its query sees, 16 at a time, and keeps the largest
//            logit so far, the sum of exponentials and, where its output belongs, the sum of rows
//            of v; all of them shrink when the largest grows. Low precision is what a framework
//            computes in T, as FlashAttention's tests have it: k * scale, logits, probabilities and
//            output are rounded to T, in two walks.
// Traffic    reads k and v once per query and head (low precision: k twice); o once for 16 keys.
// Numerics   relative error below keys * 2^-52. Logits of T in low precision.

#include <mg/math.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

constexpr int kKeysAtOnce = 16;

struct Formula {
  double scale, softcap;
  bool causal, windowed, capped;
  mg::i64 window;
};

// A query of one head: its row of q, the rows of k and v of its sequence, what it sees of them.
template <class T>
struct Query {
  const T *q, *k, *v;
  mg::i64 k_stride, v_stride, head_dim, first_key, end_key;

  __device__ Query(const T* q, const T* k, const T* v, mg::i64 k_stride, mg::i64 v_stride,
                   mg::i64 head_dim, mg::i64 row, mg::i64 rows, mg::i64 keys, const Formula& is)
      : q(q), k(k), v(v), k_stride(k_stride), v_stride(v_stride), head_dim(head_dim) {
    const mg::i64 own = row + keys - rows;
    first_key = is.windowed && own - is.window > 0 ? own - is.window : 0;
    end_key = keys;
    if (is.causal && own + 1 < end_key) end_key = own + 1;
    if (is.windowed && own + is.window + 1 < end_key) end_key = own + is.window + 1;
  }
};

template <class T>
__device__ double rounded(double value) {
  return mg::to_float(mg::from_float<T>(static_cast<float>(value)));
}

// Unrolled, so that an array with an element a key stays in registers.
template <class Visit>
__device__ void each_key(int count, const Visit& visit) {
#pragma unroll
  for (int j = 0; j < kKeysAtOnce; ++j) {
    if (j < count) visit(j);
  }
}

template <class T, bool kLow>
__device__ void logits(const Query<T>& query, const Formula& is, mg::i64 key, int count,
                       double (&logit)[kKeysAtOnce]) {
  each_key(kKeysAtOnce, [&](int j) { logit[j] = 0.0; });
  for (mg::i64 d = 0; d < query.head_dim; ++d) {
    const double q = mg::to_float(query.q[d]);
    each_key(count, [&](int j) {
      const double k = mg::to_float(query.k[(key + j) * query.k_stride + d]);
      logit[j] += q * (kLow ? rounded<T>(k * is.scale) : k);
    });
  }
  each_key(count, [&](int j) {
    logit[j] = kLow ? rounded<T>(logit[j]) : logit[j] * is.scale;
    if (is.capped) logit[j] = is.softcap * tanh(logit[j] / is.softcap);
    if (kLow) logit[j] = rounded<T>(logit[j]);
  });
}

// The logarithm of no sum at all.
__device__ inline double log_of_nothing() { return -static_cast<double>(mg::infinity()); }

template <class T>
__device__ int keys_at(const Query<T>& query, mg::i64 key) {
  return static_cast<int>(query.end_key - key < kKeysAtOnce ? query.end_key - key : kKeysAtOnce);
}

// o: head_dim values. Returns the logarithm of the sum of exponentials.
template <class T>
__device__ double attend_in_fp64(const Query<T>& query, const Formula& is, double* o) {
  double largest = log_of_nothing(), sum = 0.0, logit[kKeysAtOnce];
  for (mg::i64 d = 0; d < query.head_dim; ++d) o[d] = 0.0;
  for (mg::i64 key = query.first_key; key < query.end_key; key += kKeysAtOnce) {
    const int count = keys_at(query, key);
    logits<T, false>(query, is, key, count, logit);
    const double before = largest;
    each_key(count, [&](int j) { largest = logit[j] > largest ? logit[j] : largest; });
    const double shrink = sum == 0.0 ? 0.0 : exp(before - largest);
    sum *= shrink;
    each_key(count, [&](int j) { sum += logit[j] = exp(logit[j] - largest); });
    for (mg::i64 d = 0; d < query.head_dim; ++d) {
      double total = o[d] * shrink;
      each_key(count, [&](int j) {
        total += logit[j] * mg::to_float(query.v[(key + j) * query.v_stride + d]);
      });
      o[d] = total;
    }
  }
  if (query.first_key >= query.end_key) return log_of_nothing();
  for (mg::i64 d = 0; d < query.head_dim; ++d) o[d] /= sum;
  return largest + log(sum);
}

template <class T>
__device__ double attend_in_low_precision(const Query<T>& query, const Formula& is, double* o) {
  double largest = log_of_nothing(), sum = 0.0, logit[kKeysAtOnce];
  for (mg::i64 d = 0; d < query.head_dim; ++d) o[d] = 0.0;
  if (query.first_key >= query.end_key) return log_of_nothing();
  for (mg::i64 key = query.first_key; key < query.end_key; key += kKeysAtOnce) {
    const int count = keys_at(query, key);
    logits<T, true>(query, is, key, count, logit);
    const double before = largest;
    each_key(count, [&](int j) { largest = logit[j] > largest ? logit[j] : largest; });
    sum *= sum == 0.0 ? 0.0 : exp(before - largest);
    each_key(count, [&](int j) { sum += exp(logit[j] - largest); });
  }
  for (mg::i64 key = query.first_key; key < query.end_key; key += kKeysAtOnce) {
    const int count = keys_at(query, key);
    logits<T, true>(query, is, key, count, logit);
    each_key(count, [&](int j) { logit[j] = rounded<T>(exp(logit[j] - largest) / sum); });
    for (mg::i64 d = 0; d < query.head_dim; ++d) {
      double total = o[d];
      each_key(count, [&](int j) {
        total += logit[j] * mg::to_float(query.v[(key + j) * query.v_stride + d]);
      });
      o[d] = total;
    }
  }
  for (mg::i64 d = 0; d < query.head_dim; ++d) o[d] = rounded<T>(o[d]);
  return largest + log(sum);
}

template <class T, bool kLow>
__device__ void prefill(const T* q, const T* k, const T* v, double* o, double* lse,
                        const Formula& is, mg::i64 batch, mg::i64 seq_q, mg::i64 seq_k,
                        mg::i64 heads, mg::i64 kv_heads, mg::i64 head_dim, mg::i64 q_sb,
                        mg::i64 q_ss, mg::i64 q_sh, mg::i64 k_sb, mg::i64 k_ss, mg::i64 k_sh,
                        mg::i64 v_sb, mg::i64 v_ss, mg::i64 v_sh) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < batch * heads * seq_q;
       i += threads) {  // neighbours share a head's keys
    const mg::i64 row = i % seq_q, head = i / seq_q % heads, b = i / seq_q / heads;
    const mg::i64 kv_head = head / (heads / kv_heads);
    const Query<T> query(q + b * q_sb + row * q_ss + head * q_sh, k + b * k_sb + kv_head * k_sh,
                         v + b * v_sb + kv_head * v_sh, k_ss, v_ss, head_dim, row, seq_q, seq_k,
                         is);
    double* const to = o + ((b * seq_q + row) * heads + head) * head_dim;
    const double sum =
        kLow ? attend_in_low_precision(query, is, to) : attend_in_fp64(query, is, to);
    if (lse != nullptr) lse[i] = sum;
  }
}

template <typename T>
__global__ void attention_prefill_reference(
    const T* q, const T* k, const T* v, double* o, double* lse, float scale, float softcap,
    bool causal, bool windowed, bool capped, long long batch, long long seq_q, long long seq_k,
    long long heads, long long kv_heads, long long head_dim, long long window, long long q_sb,
    long long q_ss, long long q_sh, long long k_sb, long long k_ss, long long k_sh, long long v_sb,
    long long v_ss, long long v_sh, long long, long long, long long) {
  prefill<T, false>(q, k, v, o, lse, {scale, softcap, causal, windowed, capped, window}, batch,
                    seq_q, seq_k, heads, kv_heads, head_dim, q_sb, q_ss, q_sh, k_sb, k_ss, k_sh,
                    v_sb, v_ss, v_sh);
}

template <typename T>
__global__ void attention_prefill_low_precision(
    const T* q, const T* k, const T* v, double* o, double* lse, float scale, float softcap,
    bool causal, bool windowed, bool capped, long long batch, long long seq_q, long long seq_k,
    long long heads, long long kv_heads, long long head_dim, long long window, long long q_sb,
    long long q_ss, long long q_sh, long long k_sb, long long k_ss, long long k_sh, long long v_sb,
    long long v_ss, long long v_sh, long long, long long, long long) {
  prefill<T, true>(q, k, v, o, lse, {scale, softcap, causal, windowed, capped, window}, batch,
                   seq_q, seq_k, heads, kv_heads, head_dim, q_sb, q_ss, q_sh, k_sb, k_ss, k_sh,
                   v_sb, v_ss, v_sh);
}

// The sequence that has a token: the last one that begins at it or before.
__device__ inline mg::i64 sequence_of(const int* starts, mg::i64 sequences, mg::i64 token) {
  mg::i64 low = 0, high = sequences;  // starts[low] <= token < starts[high]
  while (high - low > 1) {
    const mg::i64 middle = (low + high) / 2;
    (starts[middle] <= token ? low : high) = middle;
  }
  return low;
}

template <class T, bool kLow>
__device__ void varlen(const T* q, const T* k, const T* v, const int* q_starts, const int* k_starts,
                       double* o, double* lse, const Formula& is, mg::i64 sequences,
                       mg::i64 tokens_q, mg::i64 heads, mg::i64 kv_heads, mg::i64 head_dim,
                       mg::i64 q_ss, mg::i64 q_sh, mg::i64 k_ss, mg::i64 k_sh, mg::i64 v_ss,
                       mg::i64 v_sh) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < heads * tokens_q;
       i += threads) {
    const mg::i64 token = i % tokens_q, head = i / tokens_q;
    const mg::i64 kv_head = head / (heads / kv_heads);
    const mg::i64 s = sequence_of(q_starts, sequences, token);
    const mg::i64 k_start = k_starts[s];
    const Query<T> query(q + token * q_ss + head * q_sh, k + k_start * k_ss + kv_head * k_sh,
                         v + k_start * v_ss + kv_head * v_sh, k_ss, v_ss, head_dim,
                         token - q_starts[s], q_starts[s + 1] - q_starts[s],
                         k_starts[s + 1] - k_start, is);
    double* const to = o + (token * heads + head) * head_dim;
    const double sum =
        kLow ? attend_in_low_precision(query, is, to) : attend_in_fp64(query, is, to);
    if (lse != nullptr) lse[i] = sum;
  }
}

template <typename T>
__global__ void attention_varlen_reference(
    const T* q, const T* k, const T* v, const int* q_starts, const int* k_starts, double* o,
    double* lse, float scale, float softcap, bool causal, bool windowed, bool capped,
    long long sequences, long long tokens_q, long long, long long, long long, long long heads,
    long long kv_heads, long long head_dim, long long window, long long q_ss, long long q_sh,
    long long k_ss, long long k_sh, long long v_ss, long long v_sh, long long, long long) {
  varlen<T, false>(q, k, v, q_starts, k_starts, o, lse,
                   {scale, softcap, causal, windowed, capped, window}, sequences, tokens_q, heads,
                   kv_heads, head_dim, q_ss, q_sh, k_ss, k_sh, v_ss, v_sh);
}

template <typename T>
__global__ void attention_varlen_low_precision(
    const T* q, const T* k, const T* v, const int* q_starts, const int* k_starts, double* o,
    double* lse, float scale, float softcap, bool causal, bool windowed, bool capped,
    long long sequences, long long tokens_q, long long, long long, long long, long long heads,
    long long kv_heads, long long head_dim, long long window, long long q_ss, long long q_sh,
    long long k_ss, long long k_sh, long long v_ss, long long v_sh, long long, long long) {
  varlen<T, true>(q, k, v, q_starts, k_starts, o, lse,
                  {scale, softcap, causal, windowed, capped, window}, sequences, tokens_q, heads,
                  kv_heads, head_dim, q_ss, q_sh, k_ss, k_sh, v_ss, v_sh);
}

// Starts of sequences of 0 to `most` tokens, `tokens` in all: an eighth of them empty, an eighth
// up to the longest, the others up to twice the mean of what is left. Not of the seed: queries and
// keys in equal number lie alike.
__device__ inline int start_of_sequence(mg::i64 sequence, mg::i64 sequences, mg::i64 tokens,
                                        mg::i64 most) {
  mg::i64 left = tokens;
  for (mg::i64 s = 0; s < sequence; ++s) {
    const mg::i64 later = (sequences - s - 1) * most;  // that those behind it can take
    const mg::i64 least = left > later ? left - later : 0;
    mg::u64 hash = static_cast<mg::u64>(s + 1) * 0x9e3779b97f4a7c15ull;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ull;
    hash ^= hash >> 27;
    mg::i64 longest = hash % 8 == 0 ? 0 : hash % 8 == 1 ? most : 2 * left / (sequences - s);
    longest = longest < most ? longest : most;
    longest = longest < left ? longest : left;
    const mg::i64 length = static_cast<mg::i64>((hash >> 8) % static_cast<mg::u64>(longest + 1));
    left -= length > least ? length : least;
  }
  return static_cast<int>(tokens - left);
}

template <typename T>
__global__ void fill_q_starts(T* out, unsigned long long, long long sequences, long long tokens_q,
                              long long, long long max_q, long long, long long, long long,
                              long long, long long, long long, long long, long long, long long,
                              long long, long long, long long, long long) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i <= sequences; i += threads) {
    out[i] = i == sequences ? static_cast<int>(tokens_q)
                            : start_of_sequence(i, sequences, tokens_q, max_q);
  }
}

template <typename T>
__global__ void fill_k_starts(T* out, unsigned long long, long long sequences, long long,
                              long long tokens_k, long long, long long max_k, long long, long long,
                              long long, long long, long long, long long, long long, long long,
                              long long, long long, long long, long long) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i <= sequences; i += threads) {
    out[i] = i == sequences ? static_cast<int>(tokens_k)
                            : start_of_sequence(i, sequences, tokens_k, max_k);
  }
}
