// attention, attention_with_lse, attention_varlen, attention_decode and attention_decode_paged: o =
// softmax(scale * q k^T) v for each head. kernels/attention/README.md says which keys a query sees.

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "arguments.h"
#include "attention_arguments.h"
#include "launch.h"
#include "operators.h"

namespace mgtune::torch {
namespace {

constexpr const char* kPrefill = "attention.prefill";
constexpr const char* kPrefillWithLse = "attention.prefill";  // its plans are others
constexpr const char* kVarlen = "attention.varlen";
constexpr const char* kDecode = "attention.decode";
constexpr std::int64_t kMostQueries = 16;  // of attention.decode

// What attention_decode and attention_decode_paged have in common. `pages` is null without pages.
struct Cache {
  std::int64_t capacity = 0;  // keys that a sequence has room for
  std::int64_t page_size = -1;
  std::int64_t pages = -1;
  std::int64_t max_pages = -1;
  void* block_table = nullptr;
};

PlanWords decode_words(const Tensor& q, const HeadSizes& sizes, const AttentionOptions& options,
                       const Cache& cache, std::int64_t kv_len) {
  PlanWords words = attention_words(&kDecode, q, sizes, options);
  words[5] = octave_of(q.sizes()[0]) << 32U | static_cast<std::uint64_t>(q.sizes()[2]);
  words[6] = octave_of(kv_len);
  words[7] = static_cast<std::uint64_t>(cache.page_size);
  return words;
}

PlanDescription describe_decode(const Tensor& q, const HeadSizes& sizes,
                                const AttentionOptions& options, const Cache& cache,
                                std::int64_t kv_len) {
  PlanDescription description = attention_description(kDecode, q, sizes, options);
  description.ranges.push_back(octave_range("batch", q.sizes()[0]));
  description.ranges.push_back({"q_len", q.sizes()[2], q.sizes()[2]});
  description.ranges.push_back(octave_range("kv_len", kv_len));
  if (cache.block_table != nullptr) {
    description.assignments.emplace_back("paged", "true");
    description.ranges.push_back({"page_size", cache.page_size, cache.page_size});
  }
  description.shape += " and " + std::to_string(kv_len) + " keys";
  return description;
}

std::int64_t checked_kv_len(std::int64_t kv_len, std::int64_t capacity) {
  if (kv_len == -1) return capacity;
  if (kv_len >= 0 && kv_len <= capacity) return kv_len;
  throw std::invalid_argument("kv_len is " + std::to_string(kv_len) +
                              ", but a sequence has room for " + std::to_string(capacity) +
                              " keys; kv_len must not be more, or -1 for all of them");
}

// (q, k, v, kv_lens, [block_table,] scale, kv_len, causal, window, softcap) -> o
void decode(StackValue* stack, bool is_paged) {
  const Tensor q = take_tensor(stack[0]);
  const Tensor k = take_tensor(stack[1]);
  const Tensor v = take_tensor(stack[2]);
  const Tensor kv_lens = take_tensor(stack[3]);
  const Tensor block_table = is_paged ? take_tensor(stack[4]) : Tensor();
  const StackValue* const rest = stack + (is_paged ? 5 : 4);
  const AttentionOptions options = take_options(rest[0], rest + 2);
  const HeadSizes sizes = check_heads(q, k, v, 4, Values::as_wide_as_keys);
  const std::int64_t batch = q.sizes()[0];
  const std::int64_t queries = q.sizes()[2];
  if (queries < 1 || queries > kMostQueries) {
    throw std::invalid_argument("q has the shape " + shape_text(q) + ", that is " +
                                std::to_string(queries) +
                                " queries for each sequence; attention_decode takes 1 to 16");
  }
  if (!is_paged && k.sizes()[0] != batch) {
    throw std::invalid_argument("q has the shape " + shape_text(q) + ", k has " + shape_text(k) +
                                "; the batches must be equal");
  }
  Tensor lens_copy;
  Tensor table_copy;
  void* const lens = int_data(kv_lens, "kv_lens", std::array{batch}, q, lens_copy);
  Cache cache{k.sizes()[2], -1, -1, -1, nullptr};
  if (is_paged) {
    const std::int64_t width = block_table.sizes().size() == 2 ? block_table.sizes()[1] : 0;
    cache = {width * k.sizes()[2], k.sizes()[2], k.sizes()[0], width,
             int_data(block_table, "block_table", std::array{batch, width}, q, table_copy)};
  }
  const std::int64_t kv_len = checked_kv_len(take_int(rest[1]), cache.capacity);
  Tensor o = empty_heads(q, sizes.head_dim);
  if (cache.capacity == 0) {
    o.fill_with_zero();
  } else if (batch > 0 && sizes.heads > 0) {
    const HeadsTensor queries_in = heads_tensor(q);
    const HeadsTensor keys = heads_tensor(k);
    const HeadsTensor values = heads_tensor(v);
    const HeadsTensor result = heads_tensor(o);
    const std::array dims{batch,
                          queries,
                          kv_len,
                          std::int64_t{-1},
                          sizes.heads,
                          sizes.kv_heads,
                          options.window_dim(),
                          cache.page_size,
                          cache.pages,
                          cache.max_pages,
                          is_paged ? std::int64_t{-1} : cache.capacity,
                          queries_in.batch_stride,
                          queries_in.row_stride,
                          queries_in.head_stride,
                          keys.batch_stride,
                          keys.row_stride,
                          keys.head_stride,
                          values.batch_stride,
                          values.row_stride,
                          values.head_stride,
                          result.batch_stride,
                          result.row_stride,
                          result.head_stride};
    const std::array<void*, 7> tensors{queries_in.data,   keys.data,   values.data, lens,
                                       cache.block_table, result.data, nullptr};
    const std::array scalars{options.scale, options.softcap_scalar()};
    const DeviceScope scope(q.device());
    const mgr_plan_t* const plan = find_plan(
        decode_words(q, sizes, options, cache, kv_len), q.device(),
        [&] { return describe_decode(q, sizes, options, cache, kv_len); }, scope.stream());
    launch(plan, q.device(), scope, dims, tensors, scalars);
  }
  stack[0] = give(std::move(o));
}

// (q, k, v, scale, causal, window, softcap) -> o, or (o, lse)
void prefill(StackValue* stack, bool has_lse) {
  const Tensor q = take_tensor(stack[0]);
  const Tensor k = take_tensor(stack[1]);
  const Tensor v = take_tensor(stack[2]);
  const AttentionOptions options = take_options(stack[3], stack + 4);
  const HeadSizes sizes = check_heads(q, k, v, 4, Values::of_multi_head_latent_attention);
  const std::int64_t batch = q.sizes()[0];
  const std::int64_t rows = q.sizes()[2];
  const std::int64_t keys_count = k.sizes()[2];
  if (k.sizes()[0] != batch) {
    throw std::invalid_argument("q has the shape " + shape_text(q) + ", k has " + shape_text(k) +
                                "; the batches must be equal");
  }
  Tensor o = empty_heads(q, sizes.value_dim);
  Tensor lse;
  if (has_lse) {
    lse = Tensor::empty(q.sizes().first(3), torch_abi().aoti_torch_dtype_float32, q.device());
  }
  if (keys_count == 0) {
    if (has_lse) throw std::invalid_argument("k has no rows; attention_with_lse needs keys");
    o.fill_with_zero();
  } else if (batch > 0 && rows > 0 && sizes.heads > 0) {
    const HeadsTensor queries = heads_tensor(q);
    const HeadsTensor keys = heads_tensor(k);
    const HeadsTensor values = heads_tensor(v);
    const HeadsTensor result = heads_tensor(o);
    const std::array dims{batch,
                          rows,
                          keys_count,
                          sizes.heads,
                          sizes.kv_heads,
                          options.window_dim(),
                          queries.batch_stride,
                          queries.row_stride,
                          queries.head_stride,
                          keys.batch_stride,
                          keys.row_stride,
                          keys.head_stride,
                          values.batch_stride,
                          values.row_stride,
                          values.head_stride,
                          result.batch_stride,
                          result.row_stride,
                          result.head_stride};
    const std::array<void*, 5> tensors{queries.data, keys.data, values.data, result.data,
                                       has_lse ? lse.data() : nullptr};
    const std::array scalars{options.scale, options.softcap_scalar()};
    const DeviceScope scope(q.device());
    PlanWords words = attention_words(has_lse ? &kPrefillWithLse : &kPrefill, q, sizes, options);
    words[5] = octave_of(batch);
    words[6] = octave_of(rows);
    words[7] = octave_of(keys_count);
    const mgr_plan_t* const plan = find_plan(
        words, q.device(),
        [&] {
          PlanDescription description = attention_description(kPrefill, q, sizes, options);
          description.ranges.push_back(octave_range("batch", batch));
          description.ranges.push_back(octave_range("seq_q", rows));
          description.ranges.push_back(octave_range("seq_k", keys_count));
          if (has_lse) description.assignments.emplace_back("lse", "true");
          description.shape += " and k of shape " + shape_text(k);
          return description;
        },
        scope.stream());
    launch(plan, q.device(), scope, dims, tensors, scalars);
  }
  stack[0] = give(std::move(o));
  if (has_lse) stack[1] = give(std::move(lse));
}

}  // namespace

void attention(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  prefill(stack, false);
}

void attention_with_lse(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  prefill(stack, true);
}

// (q, k, v, q_starts, k_starts, max_q, max_k, scale, causal, window, softcap) -> o
void attention_varlen(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  const Tensor q = take_tensor(stack[0]);
  const Tensor k = take_tensor(stack[1]);
  const Tensor v = take_tensor(stack[2]);
  const Tensor q_starts = take_tensor(stack[3]);
  const Tensor k_starts = take_tensor(stack[4]);
  const std::int64_t max_q = take_int(stack[5]);
  const std::int64_t max_k = take_int(stack[6]);
  const AttentionOptions options = take_options(stack[7], stack + 8);
  const HeadSizes sizes = check_heads(q, k, v, 3, Values::of_multi_head_latent_attention);
  const std::int64_t tokens_q = q.sizes()[0];
  const std::int64_t tokens_k = k.sizes()[0];
  const std::int64_t sequences =
      q_starts.sizes().size() == 1 ? std::max<std::int64_t>(q_starts.sizes()[0] - 1, 1) : 1;
  Tensor q_copy;
  Tensor k_copy;
  const std::array starts{sequences + 1};
  void* const q_starts_data = int_data(q_starts, "q_starts", starts, q, q_copy);
  void* const k_starts_data = int_data(k_starts, "k_starts", starts, q, k_copy);
  const auto expect_room = [&](const char* name, std::int64_t longest, std::int64_t tokens) {
    if (longest >= 1 && sequences * longest >= tokens) return;
    throw std::invalid_argument(std::string(name) + " is " + std::to_string(longest) +
                                ", the length of the longest sequence, but " +
                                std::to_string(sequences) + " sequences have " +
                                std::to_string(tokens) + " tokens");
  };
  expect_room("max_q", max_q, tokens_q);
  expect_room("max_k", max_k, tokens_k);
  Tensor o =
      Tensor::empty(std::array{tokens_q, sizes.heads, sizes.value_dim}, q.dtype(), q.device());
  if (tokens_k == 0) {
    o.fill_with_zero();
  } else if (tokens_q > 0 && sizes.heads > 0) {
    const HeadsTensor queries = heads_tensor(q);
    const HeadsTensor keys = heads_tensor(k);
    const HeadsTensor values = heads_tensor(v);
    const std::array dims{sequences,
                          tokens_q,
                          tokens_k,
                          max_q,
                          max_k,
                          sizes.heads,
                          sizes.kv_heads,
                          options.window_dim(),
                          queries.row_stride,
                          queries.head_stride,
                          keys.row_stride,
                          keys.head_stride,
                          values.row_stride,
                          values.head_stride,
                          std::int64_t{-1},
                          std::int64_t{-1}};
    const std::array<void*, 7> tensors{queries.data,  keys.data, values.data, q_starts_data,
                                       k_starts_data, o.data(),  nullptr};
    const std::array scalars{options.scale, options.softcap_scalar()};
    const DeviceScope scope(q.device());
    PlanWords words = attention_words(&kVarlen, q, sizes, options);
    words[5] = octave_of(sequences);
    words[6] = octave_of(max_q) << 32U | octave_of(max_k);
    words[7] = octave_of(tokens_q) << 32U | octave_of(tokens_k);
    const mgr_plan_t* const plan = find_plan(
        words, q.device(),
        [&] {
          PlanDescription description = attention_description(kVarlen, q, sizes, options);
          const mgr_range_t count = octave_range("sequences", sequences);
          description.ranges.push_back(count);
          // So many tokens that the shortest sequences of both octaves have room for them.
          const auto add = [&](const char* longest_name, std::int64_t longest,
                               const char* tokens_name, std::int64_t tokens) {
            const mgr_range_t length = octave_range(longest_name, longest);
            const std::int64_t fitting =
                std::min(octave_range(tokens_name, tokens).low, count.low * length.low);
            description.ranges.push_back(length);
            description.ranges.push_back({tokens_name, fitting, fitting});
          };
          add("max_q", max_q, "tokens_q", tokens_q);
          add("max_k", max_k, "tokens_k", tokens_k);
          description.shape += " in " + std::to_string(sequences) + " sequences";
          return description;
        },
        scope.stream());
    launch(plan, q.device(), scope, dims, tensors, scalars);
  }
  stack[0] = give(std::move(o));
}

// (q, k, v, kv_lens, scale, kv_len, causal, window, softcap) -> o
void attention_decode(StackValue* stack, std::uint64_t /*inputs*/, std::uint64_t /*outputs*/) {
  decode(stack, false);
}

// (q, k, v, kv_lens, block_table, scale, kv_len, causal, window, softcap) -> o
void attention_decode_paged(StackValue* stack, std::uint64_t /*inputs*/,
                            std::uint64_t /*outputs*/) {
  decode(stack, true);
}

}  // namespace mgtune::torch
