// The references of attention's operators: the formulas in fp64, with one thread per query and
// head. Beside them are the baselines, which do the same mathematics in low precision, and the
// kernels that fill lengths, page tables and caches. The errors of a variant are judged by those of
// a baseline.
//
// Algorithm  A thread walks over the keys that its query sees, 16 at a time. It keeps the largest
//            logit so far, the sum of exponentials and, in place of its output, the sum of rows of
//            v. The sums shrink when the largest logit grows. A baseline computes in T what a
//            framework would, as in FlashAttention's tests: k * scale, logits, probabilities and
//            output are rounded to T, in two walks over the keys.
// Traffic    reads k and v once per query and head (baselines: k twice), and o once per 16 keys.
// Numerics   The relative error is below keys * 2^-52. The logits of a baseline are rounded to T.

#include <mg/math.cuh>
#include <mg/random.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

constexpr int kKeysAtOnce = 16;

// Calls visit(i) for this thread's part of 0 ... count - 1.
template <class Visit>
__device__ void for_each(mg::i64 count, const Visit& visit) {
  const mg::i64 threads = mg::i64{gridDim.x} * blockDim.x;
  for (mg::i64 i = mg::i64{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
    visit(i);
  }
}

// The rows of k or v of one sequence and head. They lie one after the other or in pages.
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

// A query of one head: its row of q, the rows of k and v of its sequence, and which keys it sees.
template <class T>
struct Query {
  const T* q;
  Rows<T> k, v;
  mg::i64 head_dim, value_dim, first_key, end_key;

  // Row `row` of `rows` queries, which stand at the end of `keys` keys.
  template <class Problem>
  __device__ Query(const T* q, const Rows<T>& k, const Rows<T>& v, mg::i64 value_dim, mg::i64 row,
                   mg::i64 rows, mg::i64 keys, const Problem& problem)
      : q(q), k(k), v(v), head_dim(problem.head_dim), value_dim(value_dim) {
    const mg::i64 own = row + keys - rows, window = problem.window;
    first_key = problem.windowed && own - window > 0 ? own - window : 0;
    end_key = keys;
    if (problem.causal && own + 1 < end_key) end_key = own + 1;
    if (problem.windowed && own + window + 1 < end_key) end_key = own + window + 1;
  }
};

template <class T>
__device__ double rounded(double value) {
  return mg::to_float(mg::from_float<T>(static_cast<float>(value)));
}

// The loop is unrolled, so that an array with one element per key stays in registers.
template <class Visit>
__device__ void each_key(int count, const Visit& visit) {
#pragma unroll
  for (int j = 0; j < kKeysAtOnce; ++j) {
    if (j < count) visit(j);
  }
}

template <class T, bool kLow, class Problem>
__device__ void logits(const Query<T>& query, const Problem& problem, mg::i64 key, int count,
                       double (&logit)[kKeysAtOnce]) {
  const double scale = problem.scale, softcap = problem.softcap;
  const T* rows[kKeysAtOnce];
  each_key(count, [&](int j) { rows[j] = query.k.at(key + j); });
  each_key(kKeysAtOnce, [&](int j) { logit[j] = 0.0; });
  for (mg::i64 d = 0; d < query.head_dim; ++d) {
    const double q = mg::to_float(query.q[d]);
    each_key(count, [&](int j) {
      const double k = mg::to_float(rows[j][d]);
      logit[j] += q * (kLow ? rounded<T>(k * scale) : k);
    });
  }
  each_key(count, [&](int j) {
    logit[j] = kLow ? rounded<T>(logit[j]) : logit[j] * scale;
    if (problem.capped) logit[j] = softcap * tanh(logit[j] / softcap);
    if (kLow) logit[j] = rounded<T>(logit[j]);
  });
}

// The logarithm of an empty sum.
__device__ inline double log_of_nothing() { return -static_cast<double>(mg::infinity()); }

template <class T>
__device__ int keys_at(const Query<T>& query, mg::i64 key) {
  return static_cast<int>(query.end_key - key < kKeysAtOnce ? query.end_key - key : kKeysAtOnce);
}

// Writes value_dim values to o. Returns the logarithm of the sum of exponentials.
template <class T, class Problem>
__device__ double attend_in_fp64(const Query<T>& query, const Problem& problem, double* o) {
  double largest = log_of_nothing(), sum = 0.0, logit[kKeysAtOnce];
  for (mg::i64 d = 0; d < query.value_dim; ++d) o[d] = 0.0;
  for (mg::i64 key = query.first_key; key < query.end_key; key += kKeysAtOnce) {
    const int count = keys_at(query, key);
    logits<T, false>(query, problem, key, count, logit);
    const double before = largest;
    each_key(count, [&](int j) { largest = logit[j] > largest ? logit[j] : largest; });
    const double shrink = sum == 0.0 ? 0.0 : exp(before - largest);
    sum *= shrink;
    each_key(count, [&](int j) { sum += logit[j] = exp(logit[j] - largest); });
    const T* rows[kKeysAtOnce];
    each_key(count, [&](int j) { rows[j] = query.v.at(key + j); });
    for (mg::i64 d = 0; d < query.value_dim; ++d) {
      double total = o[d] * shrink;
      each_key(count, [&](int j) { total += logit[j] * mg::to_float(rows[j][d]); });
      o[d] = total;
    }
  }
  if (query.first_key >= query.end_key) return log_of_nothing();
  for (mg::i64 d = 0; d < query.value_dim; ++d) o[d] /= sum;
  return largest + log(sum);
}

template <class T, class Problem>
__device__ double attend_in_low_precision(const Query<T>& query, const Problem& problem,
                                          double* o) {
  double largest = log_of_nothing(), sum = 0.0, logit[kKeysAtOnce];
  for (mg::i64 d = 0; d < query.value_dim; ++d) o[d] = 0.0;
  if (query.first_key >= query.end_key) return log_of_nothing();
  for (mg::i64 key = query.first_key; key < query.end_key; key += kKeysAtOnce) {
    const int count = keys_at(query, key);
    logits<T, true>(query, problem, key, count, logit);
    const double before = largest;
    each_key(count, [&](int j) { largest = logit[j] > largest ? logit[j] : largest; });
    sum *= sum == 0.0 ? 0.0 : exp(before - largest);
    each_key(count, [&](int j) { sum += exp(logit[j] - largest); });
  }
  for (mg::i64 key = query.first_key; key < query.end_key; key += kKeysAtOnce) {
    const int count = keys_at(query, key);
    logits<T, true>(query, problem, key, count, logit);
    each_key(count, [&](int j) { logit[j] = rounded<T>(exp(logit[j] - largest) / sum); });
    const T* rows[kKeysAtOnce];
    each_key(count, [&](int j) { rows[j] = query.v.at(key + j); });
    for (mg::i64 d = 0; d < query.value_dim; ++d) {
      double total = o[d];
      each_key(count, [&](int j) { total += logit[j] * mg::to_float(rows[j][d]); });
      o[d] = total;
    }
  }
  for (mg::i64 d = 0; d < query.value_dim; ++d) o[d] = rounded<T>(o[d]);
  return largest + log(sum);
}

template <bool kLow, class T, class Problem>
__device__ double attend(const Query<T>& query, const Problem& problem, double* o) {
  return kLow ? attend_in_low_precision(query, problem, o) : attend_in_fp64(query, problem, o);
}

template <bool kLow, class T, class Problem>
__device__ void prefill(const T* q, const T* k, const T* v, double* o, double* lse,
                        const Problem& at) {
  for_each(at.batch * at.heads * at.seq_q, [&](mg::i64 i) {  // neighbours share a head's keys
    const mg::i64 row = i % at.seq_q, head = i / at.seq_q % at.heads, b = i / at.seq_q / at.heads;
    const mg::i64 kv_head = head / (at.heads / at.kv_heads);
    const Query<T> query(q + b * at.q_sb + row * at.q_ss + head * at.q_sh,
                         {k + b * at.k_sb + kv_head * at.k_sh, at.k_ss},
                         {v + b * at.v_sb + kv_head * at.v_sh, at.v_ss}, at.value_dim, row,
                         at.seq_q, at.seq_k, at);
    const double sum =
        attend<kLow>(query, at, o + ((b * at.seq_q + row) * at.heads + head) * at.value_dim);
    if (lse != nullptr) lse[i] = sum;
  });
}

template <typename T, class Problem>
__global__ void attention_prefill_reference(const T* q, const T* k, const T* v, double* o,
                                            double* lse, Problem problem) {
  prefill<false>(q, k, v, o, lse, problem);
}

template <typename T, class Problem>
__global__ void attention_prefill_low_precision(const T* q, const T* k, const T* v, double* o,
                                                double* lse, Problem problem) {
  prefill<true>(q, k, v, o, lse, problem);
}

// The sequence of a token: the last one that begins at the token or before it.
__device__ inline mg::i64 sequence_of(const int* starts, mg::i64 sequences, mg::i64 token) {
  mg::i64 low = 0, high = sequences;  // starts[low] <= token < starts[high]
  while (high - low > 1) {
    const mg::i64 middle = (low + high) / 2;
    (starts[middle] <= token ? low : high) = middle;
  }
  return low;
}

template <bool kLow, class T, class Problem>
__device__ void varlen(const T* q, const T* k, const T* v, const int* q_starts, const int* k_starts,
                       double* o, double* lse, const Problem& at) {
  for_each(at.heads * at.tokens_q, [&](mg::i64 i) {
    const mg::i64 token = i % at.tokens_q, head = i / at.tokens_q;
    const mg::i64 kv_head = head / (at.heads / at.kv_heads);
    const mg::i64 s = sequence_of(q_starts, at.sequences, token);
    const mg::i64 k_start = k_starts[s];
    const Query<T> query(
        q + token * at.q_ss + head * at.q_sh, {k + k_start * at.k_ss + kv_head * at.k_sh, at.k_ss},
        {v + k_start * at.v_ss + kv_head * at.v_sh, at.v_ss}, at.value_dim, token - q_starts[s],
        q_starts[s + 1] - q_starts[s], k_starts[s + 1] - k_start, at);
    const double sum = attend<kLow>(query, at, o + (token * at.heads + head) * at.value_dim);
    if (lse != nullptr) lse[i] = sum;
  });
}

template <typename T, class Problem>
__global__ void attention_varlen_reference(const T* q, const T* k, const T* v, const int* q_starts,
                                           const int* k_starts, double* o, double* lse,
                                           Problem problem) {
  varlen<false>(q, k, v, q_starts, k_starts, o, lse, problem);
}

template <typename T, class Problem>
__global__ void attention_varlen_low_precision(const T* q, const T* k, const T* v,
                                               const int* q_starts, const int* k_starts, double* o,
                                               double* lse, Problem problem) {
  varlen<true>(q, k, v, q_starts, k_starts, o, lse, problem);
}

// The start of a sequence, if sequences of 0 to `longest` tokens have `tokens` tokens in all. One
// in eight is empty, one in eight has any length up to the longest, and the others have up to twice
// the mean of the tokens that are left. The result does not depend on the seed: if there are as
// many queries as keys, both are cut into the same sequences.
__device__ inline int start_of_sequence(mg::i64 sequence, mg::i64 sequences, mg::i64 tokens,
                                        mg::i64 longest) {
  mg::i64 left = tokens;
  for (mg::i64 s = 0; s < sequence; ++s) {
    const mg::i64 later = (sequences - s - 1) * longest;  // room in the sequences after this one
    const mg::i64 min_length = left > later ? left - later : 0;
    mg::u64 hash = static_cast<mg::u64>(s + 1) * 0x9e3779b97f4a7c15ull;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ull;
    hash ^= hash >> 27;
    mg::i64 limit = hash % 8 == 0 ? 0 : hash % 8 == 1 ? longest : 2 * left / (sequences - s);
    limit = limit < longest ? limit : longest;
    limit = limit < left ? limit : left;
    const mg::i64 length = static_cast<mg::i64>((hash >> 8) % static_cast<mg::u64>(limit + 1));
    left -= length > min_length ? length : min_length;
  }
  return static_cast<int>(tokens - left);
}

template <typename T>
__device__ void fill_starts(T* out, mg::i64 sequences, mg::i64 tokens, mg::i64 longest) {
  for_each(sequences + 1, [&](mg::i64 i) {
    out[i] = i == sequences ? static_cast<int>(tokens)
                            : start_of_sequence(i, sequences, tokens, longest);
  });
}

template <typename T, class Problem>
__global__ void fill_q_starts(T* out, unsigned long long, Problem problem) {
  fill_starts(out, problem.sequences, problem.tokens_q, problem.max_q);
}

template <typename T, class Problem>
__global__ void fill_k_starts(T* out, unsigned long long, Problem problem) {
  fill_starts(out, problem.sequences, problem.tokens_k, problem.max_k);
}

template <bool kLow, class T, class Problem>
__device__ void decode(const T* q, const T* k, const T* v, const int* kv_lens,
                       const int* block_table, double* o, double* lse, const Problem& at) {
  for_each(at.batch * at.heads * at.q_len, [&](mg::i64 i) {
    const mg::i64 row = i % at.q_len, head = i / at.q_len % at.heads, b = i / at.q_len / at.heads;
    const mg::i64 kv_head = head / (at.heads / at.kv_heads);
    Rows<T> keys{k + kv_head * at.k_sh, at.k_ss}, values{v + kv_head * at.v_sh, at.v_ss};
    if (block_table == nullptr) {
      keys.first += b * at.k_sb;
      values.first += b * at.v_sb;
    } else {
      keys.pages = values.pages = block_table + b * at.max_pages;
      keys.page_size = values.page_size = at.page_size;
      keys.page_stride = at.k_sb;
      values.page_stride = at.v_sb;
    }
    const Query<T> query(q + b * at.q_sb + row * at.q_ss + head * at.q_sh, keys, values,
                         at.head_dim, row, at.q_len, kv_lens[b], at);
    const double sum =
        attend<kLow>(query, at, o + ((b * at.q_len + row) * at.heads + head) * at.head_dim);
    if (lse != nullptr) lse[i] = sum;
  });
}

template <typename T, class Problem>
__global__ void attention_decode_reference(const T* q, const T* k, const T* v, const int* kv_lens,
                                           const int* block_table, double* o, double* lse,
                                           Problem problem) {
  decode<false>(q, k, v, kv_lens, block_table, o, lse, problem);
}

template <typename T, class Problem>
__global__ void attention_decode_low_precision(const T* q, const T* k, const T* v,
                                               const int* kv_lens, const int* block_table,
                                               double* o, double* lse, Problem problem) {
  decode<true>(q, k, v, kv_lens, block_table, o, lse, problem);
}

// The length of a cache. If total_kv is batch * kv_len, all caches have kv_len keys. Otherwise they
// have uneven lengths, some of them 0, and total_kv keys in all.
template <class Problem>
__device__ mg::i64 length_of_cache(mg::i64 b, const Problem& problem) {
  const mg::i64 batch = problem.batch, kv_len = problem.kv_len, total_kv = problem.total_kv;
  if (total_kv == batch * kv_len) return kv_len;
  const mg::i64 end = b + 1 == batch ? total_kv : start_of_sequence(b + 1, batch, total_kv, kv_len);
  return end - start_of_sequence(b, batch, total_kv, kv_len);
}

// Which page belongs to which sequence. Sequences get their pages one after the other, beginning
// with the last page. The pages that are left over, at the front, are not used.
template <class Problem>
struct PageTable {
  const Problem& problem;

  __device__ bool is_even() const { return problem.total_kv == problem.batch * problem.kv_len; }
  __device__ mg::i64 length(mg::i64 b) const { return length_of_cache(b, problem); }
  __device__ mg::i64 pages_of(mg::i64 b) const {
    return (length(b) + problem.page_size - 1) / problem.page_size;
  }
  __device__ mg::i64 pages_before(mg::i64 b) const {
    if (is_even()) return b * pages_of(0);
    mg::i64 count = 0;
    for (mg::i64 other = 0; other < b; ++other) count += pages_of(other);
    return count;
  }
  // Whether a row of a page belongs to a sequence.
  __device__ bool has(mg::i64 page, mg::i64 row) const {
    const mg::i64 place = problem.pages - 1 - page;
    mg::i64 b = is_even() ? place / (pages_of(0) > 0 ? pages_of(0) : 1) : 0;
    while (b < problem.batch && pages_before(b + 1) <= place) ++b;
    return b < problem.batch && (place - pages_before(b)) * problem.page_size + row < length(b);
  }
};

template <typename T, class Problem>
__global__ void fill_kv_lens(T* out, unsigned long long, Problem problem) {
  for_each(problem.batch, [&](mg::i64 b) { out[b] = static_cast<T>(length_of_cache(b, problem)); });
}

// The entries after a sequence's last page name no page.
template <typename T, class Problem>
__global__ void fill_block_table(T* out, unsigned long long, Problem problem) {
  const PageTable<Problem> table{problem};
  for_each(problem.batch * problem.max_pages, [&](mg::i64 i) {
    const mg::i64 b = i / problem.max_pages, page = i % problem.max_pages;
    const mg::i64 place = problem.pages - 1 - table.pages_before(b) - page;
    out[i] = static_cast<T>(page >= table.pages_of(b) ? 0x7fffffff : place < 0 ? 0 : place);
  });
}

// Normal values in the rows of sequences, and NaN past a sequence's length and in unused pages.
template <typename T, class Problem>
__global__ void fill_cache(T* out, unsigned long long seed, Problem problem) {
  const PageTable<Problem> table{problem};
  const bool paged = problem.pages > 0;
  const mg::i64 row_size = problem.kv_heads * problem.head_dim;
  const mg::i64 rows = paged ? problem.page_size : problem.capacity;
  for_each((paged ? problem.pages : problem.batch) * rows * row_size, [&](mg::i64 i) {
    const mg::i64 row = i / row_size % rows, first = i / row_size / rows;
    const bool is_there = paged ? table.has(first, row) : row < table.length(first);
    const float value = mg::normal_of(mg::random_bits(seed, i));
    out[i] = mg::from_float<T>(is_there ? value : __uint_as_float(0x7fc00000u));
  });
}
