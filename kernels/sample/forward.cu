// sample.forward: a random token for each row of logits, drawn by their probabilities. With this
// operator a model can choose its next token on the device.
//
//   w[c] = exp((x[r, c] - max of x[r]) / temperature)
//   kept  = the fewest columns, the largest w first, with sum of w >= top_p * sum of all w
//   index[r] = the smallest kept c with sum of kept w up to c > uniform * sum of kept w
//   positions[r] += 1, lengths[r] += 1         if these tensors are given, for the next token
//
// sampling[r] has temperature, top_p and uniform. With a temperature of 0 (or less, or NaN) the
// index is that of the largest element, and of several equal ones that of the first. A top_p
// outside of (0, 1) keeps all columns. Of columns with equal w the first ones are kept. NaN is
// never chosen. If a row has nothing but NaN, index is 0.
//
// The plain version:
//
//   sort the columns by w; add up w until top_p of the sum is reached, drop the rest;
//   sort the kept ones by column; add up w until uniform of their sum is passed.
//
// Algorithm  Nothing is sorted. The rank of a column is how far its logit lies below the largest,
//            divided by the temperature, as a number of 32 bits in steps of 2^-27. Weights are
//            functions of the rank, rounded to multiples of 2^-40. So their sums are integers,
//            which are exact in whatever order they are added. There are five launches. In each of
//            them BLOCKS blocks share a row, and the last one to finish joins their results:
//            - sample_largest finds the largest logit.
//            - sample_level runs three times, for the highest 11 bits of the rank, the next 11 and
//              the last 10. It takes the columns whose higher bits are those found so far. It adds
//              up their weights for each value of the current bits, and finds the value at which
//              top_p is reached. In the end the rank of the last kept column is known, and how many
//              of the columns with this rank are kept.
//            - sample_choose adds up the kept weights of each block's columns. It finds the block
//              where uniform is passed, then the thread, then the column.
// Traffic    reads rows * columns elements of T up to five times, after the first time from L2. For
//            one row of 128,256 floats that is 513 KB each time, so the time is that of the
//            launches.
// Work       a division and an exponential per element, four times
// Tunables   BLOCKS     More blocks read a row in less time. The last block waits for more of them,
//                       and each of its threads takes the result of one: BLOCKS is at most THREADS.
//            THREADS    The threads of a block.
//            VEC        The elements of a load.
//            PDL        A grid starts while the previous grid ends.
// Numerics   The distance of a logit from the largest is rounded to fp32, and an exponential is off
//            by 2^-22 at most. Columns whose ranks are equal count as equals: their weights differ
//            by less than 2^-19 of their size. A weight below 2^-40 of the largest is zero. The
//            result is the same in every run.

#include <mg/column_key.cuh>
#include <mg/convert.cuh>
#include <mg/grid_dependency.cuh>
#include <mg/largest.cuh>
#include <mg/last_block.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

constexpr int kBins = 2048;
constexpr mg::u32 kImpossible = 0xffffffffu;  // a rank whose weight is zero

// What each launch leaves for the next ones, per row.
enum State {
  kLargest,  // the key of the largest logit: its value above, the complement of its column below
  kRank,     // the bits of the last kept rank that are known; kImpossible if all are kept
  kLeft,     // how much weight is kept of the columns with these bits; in the end, how many columns
  kSum,      // the weight that is wanted; in the end, that of all kept columns
  kStates
};

// How one row is sampled.
struct Sampling {
  float temperature, top_p, uniform;
  __device__ __forceinline__ explicit Sampling(const float* from)
      : temperature(from[0]), top_p(from[1]), uniform(from[2]) {}
  __device__ __forceinline__ bool is_random() const { return temperature > 0.0f; }
  __device__ __forceinline__ bool is_cut() const { return top_p > 0.0f && top_p < 1.0f; }
};

__device__ __forceinline__ mg::u32 rank_of(float value, float largest, float temperature) {
  const float distance = (largest - value) / temperature;
  // The comparison is false for NaN. The difference of two equal infinities is NaN, too.
  return distance < 28.0f ? static_cast<mg::u32>(distance * 0x1p27f) : kImpossible;
}

__device__ __forceinline__ mg::u64 weight_of(mg::u32 rank) {
  return static_cast<mg::u64>(expf(static_cast<float>(rank) * -0x1p-27f) * 0x1p40f);
}

// The product of a number and a fraction from [0, 1], and whether it was rounded down.
__device__ __forceinline__ mg::u64 part_of(mg::u64 number, float fraction, bool& is_rounded) {
  const mg::u64 factor = static_cast<mg::u64>(fraction * 0x1p64f);
  is_rounded = number * factor != 0;
  return __umul64hi(number, factor);
}

// Returns the largest key of the block, in all threads.
template <int kThreads>
__device__ __forceinline__ mg::u64 largest_of_block(mg::u64 key) {
  MG_SHARED(mg::u64, keys, [kThreads / 32]);
  __syncthreads();
  return mg::largest_of_block<kThreads>(key, keys);
}

// Returns the sum over the block's threads up to this one. `all` becomes the sum over all of them.
template <int kThreads>
__device__ __forceinline__ mg::u64 sum_until(mg::u64 value, mg::u64& all) {
  MG_SHARED(mg::u64, of_warps, [kThreads / 32]);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const mg::u64 other = __shfl_up_sync(0xffffffffu, value, distance);
    if (lane >= distance) value += other;
  }
  __syncthreads();
  if (lane == 31) of_warps[warp] = value;
  __syncthreads();
  all = 0;
#pragma unroll
  for (int i = 0; i < kThreads / 32; ++i) {
    if (i < warp) value += of_warps[i];
    all += of_warps[i];
  }
  return value;
}

// Calls visit(value, column) for columns first, first + step, ... and the kVec - 1 after each.
template <int kVec, class T, class Visit>
__device__ __forceinline__ void for_each_value(const T* from, int first, int end, int step,
                                               const Visit& visit) {
  for (int column = first; column < end; column += step) {
    float values[kVec];
    mg::to_floats(mg::load<kVec>(from + column), values);
#pragma unroll
    for (int i = 0; i < kVec; ++i) visit(values[i], column + i);
  }
}

template <class T, int kThreads, int kVec, bool kPdl>
__global__ void __launch_bounds__(kThreads)
    sample_largest(const T* x, mg::u64* state, mg::u64* keys, mg::u32* counters, int columns,
                   mg::i64 x_stride) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  const mg::i64 row = blockIdx.y;
  const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  mg::u64 best = 0;
  for_each_value<kVec>(x + row * x_stride, (block * kThreads + thread) * kVec, columns,
                       blocks * kThreads * kVec, [&](float value, int column) {
                         const mg::u32 below = ~static_cast<mg::u32>(column);
                         best = mg::larger(best, mg::u64{mg::ordered(value)} << 32 | below);
                       });
  best = largest_of_block<kThreads>(best);
  if (thread == 0) keys[row * blocks + block] = best;
  if (!mg::is_last_block(counters + row, blocks)) return;
  best = 0;
  for (int i = thread; i < blocks; i += kThreads) {
    best = mg::larger(best, __ldcg(keys + row * blocks + i));
  }
  best = largest_of_block<kThreads>(best);
  if (thread == 0) state[row * kStates + kLargest] = best;
}

// Finds the bits of the last kept rank from kShift on, below those that the previous level found.
template <class T, int kThreads, int kVec, bool kPdl, int kShift>
__global__ void __launch_bounds__(kThreads)
    sample_level(const T* x, const float* sampling, mg::u64* state, mg::u64* bins,
                 mg::u32* counters, int columns, mg::i64 x_stride) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  constexpr bool kIsFirst = kShift == 21;
  constexpr int kBits = kShift == 0 ? 10 : 11, kOwn = kBins / kThreads;
  // A sum of 64 bits is two halves, because the hardware adds only 32 bits to shared memory at
  // once.
  MG_SHARED(mg::u32, low, [kBins]);
  MG_SHARED(mg::u32, high, [kBins]);
  const mg::i64 row = blockIdx.y;
  const int blocks = static_cast<int>(gridDim.x), thread = static_cast<int>(threadIdx.x);
  mg::u64* const of_row = state + row * kStates;
  const Sampling how(sampling + row * 3);
  if (!how.is_random() || (!kIsFirst && (!how.is_cut() || of_row[kSum] == 0))) return;
  const float largest = mg::value_of(of_row[kLargest]);
  const mg::u32 above = kIsFirst ? 0 : static_cast<mg::u32>(of_row[kRank]);
  for (int i = thread; i < kBins; i += kThreads) low[i] = high[i] = 0;
  __syncthreads();
  for_each_value<kVec>(x + row * x_stride,
                       (static_cast<int>(blockIdx.x) * kThreads + thread) * kVec, columns,
                       blocks * kThreads * kVec, [&](float value, int) {
                         const mg::u32 rank = rank_of(value, largest, how.temperature);
                         if (!kIsFirst && rank >> (kShift + kBits) % 32 != above) return;
                         const mg::u64 weight = weight_of(rank);
                         if (weight == 0) return;
                         const mg::u32 bin = rank >> kShift & ((1u << kBits) - 1);
                         const mg::u32 part = static_cast<mg::u32>(weight);
                         const mg::u32 carry = atomicAdd(&low[bin], part) > ~part ? 1 : 0;
                         const mg::u32 rest = static_cast<mg::u32>(weight >> 32) + carry;
                         if (rest != 0) atomicAdd(&high[bin], rest);
                       });
  __syncthreads();
  mg::u64* const sums = bins + row * kBins;
  for (int i = thread; i < kBins; i += kThreads) {
    const mg::u64 sum = mg::u64{high[i]} << 32 | low[i];
    if (sum != 0) atomicAdd(sums + i, sum);
  }
  if (!mg::is_last_block(counters + row, blocks)) return;

  mg::u64 own[kOwn], sum = 0, all;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    own[i] = __ldcg(sums + thread * kOwn + i);
    sums[thread * kOwn + i] = 0;  // for the next launch
    sum += own[i];
  }
  const mg::u64 until = sum_until<kThreads>(sum, all);
  mg::u64 wanted = of_row[kLeft];
  if constexpr (kIsFirst) {
    wanted = all;
    if (how.is_cut()) {
      bool is_rounded;
      wanted = part_of(all, how.top_p, is_rounded);
      if (is_rounded || wanted == 0) ++wanted;
    }
  }
  __syncthreads();  // kLeft has been read
  if (kIsFirst && thread == 0 && (!how.is_cut() || all == 0)) {
    of_row[kRank] = kImpossible;
    of_row[kLeft] = 0;
    of_row[kSum] = all;
  }
  if ((kIsFirst && !how.is_cut()) || until - sum >= wanted || wanted > until) return;
  mg::u64 left = wanted - (until - sum);
  int found = -1;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    if (found < 0 && left <= own[i]) found = i;
    if (found < 0) left -= own[i];
  }
  const mg::u32 rank = above << kBits | static_cast<mg::u32>(thread * kOwn + found);
  if constexpr (kIsFirst) of_row[kSum] = wanted;
  of_row[kRank] = rank;
  if constexpr (kShift > 0) {
    of_row[kLeft] = left;
  } else {
    const mg::u64 weight = weight_of(rank), kept = (left + weight - 1) / weight;
    of_row[kLeft] = kept;
    of_row[kSum] += kept * weight - left;
  }
}

// The kept weight of the first columns of a row. `before` is the weight of their columns before the
// last kept rank, and `equals` the number of those that have this rank.
struct Kept {
  mg::u64 last_weight, last_count;
  __device__ __forceinline__ mg::u64 operator()(mg::u64 before, mg::u64 equals) const {
    return before + last_weight * (equals < last_count ? equals : last_count);
  }
};

template <class T, int kThreads, int kVec, bool kPdl>
__global__ void __launch_bounds__(kThreads)
    sample_choose(const T* x, const float* sampling, int* index, int* positions, int* lengths,
                  const mg::u64* state, mg::u64* parts, mg::u32* counters, int columns,
                  mg::i64 x_stride) {
  if constexpr (kPdl) {
    mg::let_next_grid_start();
    mg::wait_for_previous_grid();
  }
  MG_SHARED(mg::u64, place, [3]);  // the block of the result, and both sums before it
  const mg::i64 row = blockIdx.y;
  const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  const T* const from = x + row * x_stride;
  const mg::u64* const of_row = state + row * kStates;
  const Sampling how(sampling + row * 3);
  const auto finish = [&](int column) {
    index[row] = column;
    if (positions != nullptr) ++positions[row];
    if (lengths != nullptr) ++lengths[row];
  };
  if (!how.is_random() || of_row[kSum] == 0) {
    if (block == 0 && thread == 0) finish(mg::column_of(of_row[kLargest]));
    return;
  }
  const float largest = mg::value_of(of_row[kLargest]);
  const mg::u32 last = static_cast<mg::u32>(of_row[kRank]);
  const Kept kept{weight_of(last), of_row[kLeft]};
  // Adds a column to the sums.
  const auto add = [&](float value, mg::u64& before, mg::u64& equals) {
    const mg::u32 rank = rank_of(value, largest, how.temperature);
    if (rank < last) before += weight_of(rank);
    if (rank == last) ++equals;
  };
  const int share = (columns + blocks * kVec - 1) / (blocks * kVec) * kVec;
  const auto end_of = [&](int begin, int count) {
    return begin + count < columns ? begin + count : columns;
  };

  mg::u64 before = 0, equals = 0, all_before, all_equals;
  for_each_value<kVec>(from, block * share + thread * kVec, end_of(block * share, share),
                       kThreads * kVec, [&](float value, int) { add(value, before, equals); });
  sum_until<kThreads>(before, all_before);
  sum_until<kThreads>(equals, all_equals);
  if (thread == 0) {
    parts[(row * blocks + block) * 2] = all_before;
    parts[(row * blocks + block) * 2 + 1] = all_equals;
  }
  if (!mg::is_last_block(counters + row, blocks)) return;

  bool is_rounded;
  const mg::u64 target =
      how.uniform < 1.0f
          ? part_of(of_row[kSum], how.uniform > 0.0f ? how.uniform : 0.0f, is_rounded)
          : of_row[kSum] - 1;
  before = thread < blocks ? __ldcg(parts + (row * blocks + thread) * 2) : 0;
  equals = thread < blocks ? __ldcg(parts + (row * blocks + thread) * 2 + 1) : 0;
  mg::u64 before_until = sum_until<kThreads>(before, all_before);
  mg::u64 equals_until = sum_until<kThreads>(equals, all_equals);
  const auto is_here = [&] {
    return kept(before_until - before, equals_until - equals) <= target &&
           target < kept(before_until, equals_until);
  };
  if (is_here()) {
    place[0] = static_cast<mg::u64>(thread);
    place[1] = before_until - before;
    place[2] = equals_until - equals;
  }
  __syncthreads();
  const int begin = static_cast<int>(place[0]) * share, end = end_of(begin, share);
  const int count = (share + kThreads - 1) / kThreads;
  const int own_begin = begin + thread * count;
  const int own_end = own_begin + count < end ? own_begin + count : end;
  before = equals = 0;
  for (int c = own_begin; c < own_end; ++c) add(mg::to_float(from[c]), before, equals);
  before_until = place[1] + sum_until<kThreads>(before, all_before);
  equals_until = place[2] + sum_until<kThreads>(equals, all_equals);
  if (!is_here()) return;
  before = before_until - before;
  equals = equals_until - equals;
  for (int c = own_begin; c < own_end; ++c) {
    add(mg::to_float(from[c]), before, equals);
    if (kept(before, equals) > target) return finish(c);
  }
}
