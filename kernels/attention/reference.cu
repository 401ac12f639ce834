// The references of attention's operators — the formulas read off, a query and head per thread,
// everything in fp64 — and what the same mathematics gives in low precision, by which variants are
// judged; and the lengths of packed sequences, caches and their pages.
//
// Algorithm  a thread walks over the keys that its query sees, 16 at a time, and keeps the largest
//            logit so far, the sum of exponentials and, where its output belongs, the sum of rows
//            of v; all of them shrink when the largest grows. Low precision is what a framework
//            computes in T, as FlashAttention's tests have it: k * scale, logits, probabilities and
//            output are rounded to T, in two walks.
// Traffic    reads k and v once per query and head (low precision: k twice); o once for 16 keys.
// Numerics   relative error below keys * 2^-52. Logits of T in low precision.

#include <mg/math.cuh>
#include <mg/random.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

constexpr int kKeysAtOnce = 16;

struct Formula {
  double scale, softcap;
  bool causal, windowed, capped;
  mg::i64 window;
};

// The rows of k or v of a sequence and head, one after the other or in pages.
template <class T>
struct Rows {
  const T* first;
  mg::i64 stride;
  const int* pages = nullptr;  // of the sequence
  mg::i64 page_size = 1, page_stride = 0;

  __device__ const T* at(mg::i64 row) const {
    if (pages == nullptr) return first + row * stride;
    return first + pages[row / page_size] * page_stride + row % page_size * stride;
  }
};

// A query of one head: its row of q, the rows of k and v of its sequence, what it sees of them.
template <class T>
struct Query {
  const T* q;
  Rows<T> k, v;
  mg::i64 head_dim, first_key, end_key;

  __device__ Query(const T* q, const Rows<T>& k, const Rows<T>& v, mg::i64 head_dim, mg::i64 row,
                   mg::i64 rows, mg::i64 keys, const Formula& is)
      : q(q), k(k), v(v), head_dim(head_dim) {
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
  const T* rows[kKeysAtOnce];
  each_key(count, [&](int j) { rows[j] = query.k.at(key + j); });
  each_key(kKeysAtOnce, [&](int j) { logit[j] = 0.0; });
  for (mg::i64 d = 0; d < query.head_dim; ++d) {
    const double q = mg::to_float(query.q[d]);
    each_key(count, [&](int j) {
      const double k = mg::to_float(rows[j][d]);
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
    const T* rows[kKeysAtOnce];
    each_key(count, [&](int j) { rows[j] = query.v.at(key + j); });
    for (mg::i64 d = 0; d < query.head_dim; ++d) {
      double total = o[d] * shrink;
      each_key(count, [&](int j) { total += logit[j] * mg::to_float(rows[j][d]); });
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
    const T* rows[kKeysAtOnce];
    each_key(count, [&](int j) { rows[j] = query.v.at(key + j); });
    for (mg::i64 d = 0; d < query.head_dim; ++d) {
      double total = o[d];
      each_key(count, [&](int j) { total += logit[j] * mg::to_float(rows[j][d]); });
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
    const Query<T> query(q + b * q_sb + row * q_ss + head * q_sh,
                         {k + b * k_sb + kv_head * k_sh, k_ss},
                         {v + b * v_sb + kv_head * v_sh, v_ss}, head_dim, row, seq_q, seq_k, is);
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
    const Query<T> query(q + token * q_ss + head * q_sh,
                         {k + k_start * k_ss + kv_head * k_sh, k_ss},
                         {v + k_start * v_ss + kv_head * v_sh, v_ss}, head_dim, token - q_starts[s],
                         q_starts[s + 1] - q_starts[s], k_starts[s + 1] - k_start, is);
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

// What attention.decode is given; the operator's dims in their order.
template <class T>
struct Decode {
  const T *q, *k, *v;
  const int *kv_lens, *block_table;
  mg::i64 batch, q_len, heads, kv_heads, head_dim, page_size, max_pages;
  mg::i64 q_sb, q_ss, q_sh, k_sb, k_ss, k_sh, v_sb, v_ss, v_sh;
};

template <class T, bool kLow>
__device__ void decode(const Decode<T>& in, double* o, double* lse, const Formula& is) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x;
       i < in.batch * in.heads * in.q_len; i += threads) {
    const mg::i64 row = i % in.q_len, head = i / in.q_len % in.heads, b = i / in.q_len / in.heads;
    const mg::i64 kv_head = head / (in.heads / in.kv_heads);
    Rows<T> k{in.k + kv_head * in.k_sh, in.k_ss}, v{in.v + kv_head * in.v_sh, in.v_ss};
    if (in.block_table == nullptr) {
      k.first += b * in.k_sb;
      v.first += b * in.v_sb;
    } else {
      k.pages = v.pages = in.block_table + b * in.max_pages;
      k.page_size = v.page_size = in.page_size;
      k.page_stride = in.k_sb;
      v.page_stride = in.v_sb;
    }
    const Query<T> query(in.q + b * in.q_sb + row * in.q_ss + head * in.q_sh, k, v, in.head_dim,
                         row, in.q_len, in.kv_lens[b], is);
    double* const to = o + ((b * in.q_len + row) * in.heads + head) * in.head_dim;
    const double sum =
        kLow ? attend_in_low_precision(query, is, to) : attend_in_fp64(query, is, to);
    if (lse != nullptr) lse[i] = sum;
  }
}

template <typename T>
__global__ void attention_decode_reference(
    const T* q, const T* k, const T* v, const int* kv_lens, const int* block_table, double* o,
    double* lse, float scale, float softcap, bool causal, bool windowed, bool capped, bool,
    long long batch, long long q_len, long long, long long, long long heads, long long kv_heads,
    long long head_dim, long long window, long long page_size, long long, long long max_pages,
    long long, long long q_sb, long long q_ss, long long q_sh, long long k_sb, long long k_ss,
    long long k_sh, long long v_sb, long long v_ss, long long v_sh, long long, long long,
    long long) {
  decode<T, false>({q,     k,        v,        kv_lens,   block_table, batch, q_len,
                    heads, kv_heads, head_dim, page_size, max_pages,   q_sb,  q_ss,
                    q_sh,  k_sb,     k_ss,     k_sh,      v_sb,        v_ss,  v_sh},
                   o, lse, {scale, softcap, causal, windowed, capped, window});
}

template <typename T>
__global__ void attention_decode_low_precision(
    const T* q, const T* k, const T* v, const int* kv_lens, const int* block_table, double* o,
    double* lse, float scale, float softcap, bool causal, bool windowed, bool capped, bool,
    long long batch, long long q_len, long long, long long, long long heads, long long kv_heads,
    long long head_dim, long long window, long long page_size, long long, long long max_pages,
    long long, long long q_sb, long long q_ss, long long q_sh, long long k_sb, long long k_ss,
    long long k_sh, long long v_sb, long long v_ss, long long v_sh, long long, long long,
    long long) {
  decode<T, true>({q,     k,        v,        kv_lens,   block_table, batch, q_len,
                   heads, kv_heads, head_dim, page_size, max_pages,   q_sb,  q_ss,
                   q_sh,  k_sb,     k_ss,     k_sh,      v_sb,        v_ss,  v_sh},
                  o, lse, {scale, softcap, causal, windowed, capped, window});
}

// The lengths of caches: all kv_len, or total_kv in all, uneven, some of them 0.
__device__ inline mg::i64 length_of_cache(mg::i64 b, mg::i64 batch, mg::i64 kv_len,
                                          mg::i64 total_kv) {
  if (total_kv == batch * kv_len) return kv_len;
  const mg::i64 end = b + 1 == batch ? total_kv : start_of_sequence(b + 1, batch, total_kv, kv_len);
  return end - start_of_sequence(b, batch, total_kv, kv_len);
}

// Pages go to sequences one after the other, the last page first; those in front are not used.
struct PageTable {
  mg::i64 batch, kv_len, total_kv, page_size, pages;

  __device__ mg::i64 length(mg::i64 b) const { return length_of_cache(b, batch, kv_len, total_kv); }
  __device__ mg::i64 pages_of(mg::i64 b) const { return (length(b) + page_size - 1) / page_size; }
  __device__ mg::i64 pages_before(mg::i64 b) const {
    if (total_kv == batch * kv_len) return b * pages_of(0);
    mg::i64 count = 0;
    for (mg::i64 other = 0; other < b; ++other) count += pages_of(other);
    return count;
  }
  // Whether a row of a page belongs to a sequence.
  __device__ bool has(mg::i64 page, mg::i64 row) const {
    const mg::i64 place = pages - 1 - page;
    mg::i64 b = total_kv == batch * kv_len ? place / (pages_of(0) > 0 ? pages_of(0) : 1) : 0;
    while (b < batch && pages_before(b + 1) <= place) ++b;
    return b < batch && (place - pages_before(b)) * page_size + row < length(b);
  }
};

template <typename T>
__global__ void fill_kv_lens(T* out, unsigned long long, long long batch, long long,
                             long long kv_len, long long total_kv, long long, long long, long long,
                             long long, long long, long long, long long, long long, long long,
                             long long, long long, long long, long long, long long, long long,
                             long long, long long, long long, long long, long long) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 b = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; b < batch; b += threads) {
    out[b] = static_cast<T>(length_of_cache(b, batch, kv_len, total_kv));
  }
}

// Entries behind a sequence's last page name none.
template <typename T>
__global__ void fill_block_table(T* out, unsigned long long, long long batch, long long,
                                 long long kv_len, long long total_kv, long long, long long,
                                 long long, long long, long long page_size, long long pages,
                                 long long max_pages, long long, long long, long long, long long,
                                 long long, long long, long long, long long, long long, long long,
                                 long long, long long, long long) {
  const PageTable table{batch, kv_len, total_kv, page_size, pages};
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < batch * max_pages;
       i += threads) {
    const mg::i64 b = i / max_pages, page = i % max_pages;
    const mg::i64 place = pages - 1 - table.pages_before(b) - page;
    out[i] = static_cast<T>(page >= table.pages_of(b) ? 0x7fffffff : place < 0 ? 0 : place);
  }
}

// Normal where a sequence has a row; NaN behind its length and in pages that are not used.
template <typename T>
__global__ void fill_cache(T* out, unsigned long long seed, long long batch, long long,
                           long long kv_len, long long total_kv, long long, long long kv_heads,
                           long long head_dim, long long, long long page_size, long long pages,
                           long long, long long capacity, long long, long long, long long,
                           long long, long long, long long, long long, long long, long long,
                           long long, long long, long long) {
  const bool paged = pages > 0;
  const PageTable table{batch, kv_len, total_kv, page_size, pages};
  const mg::i64 row_size = kv_heads * head_dim, rows = paged ? page_size : capacity;
  const mg::i64 count = (paged ? pages : batch) * rows * row_size;
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
    const mg::i64 row = i / row_size % rows, first = i / row_size / rows;
    const bool is_there =
        paged ? table.has(first, row) : row < length_of_cache(first, batch, kv_len, total_kv);
    const float value = mg::normal_of(mg::random_bits(seed, i));
    out[i] = mg::from_float<T>(is_there ? value : __uint_as_float(0x7fc00000u));
  }
}
