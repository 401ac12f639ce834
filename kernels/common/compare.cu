// The kernels of the check. They compute what the host needs to know about tensors that stay on the
// device.
//
//   compare_with_reference   sums of (output - reference)^2 and reference^2, the largest difference
//   fingerprint              one number for all bits of a memory; equal bits give equal numbers
//   changed_bands            how many bytes of guard bands do not have their pattern
//
// Algorithm  Threads stride over the grid. The first thread of a block adds up what its threads
//            found, and the host adds up what the blocks found. There are no atomics, so a
//            repetition gives the same bits.
// Traffic    compare_with_reference reads count * (sizeof(T) + 8) bytes and writes 40 bytes per
//            block. fingerprint reads count * 8 bytes and writes 8 bytes per block. Each thread
//            has four loads under way: with one, they would wait for memory most of the time.
// Numerics   fp64. The fingerprint is a sum of 64-bit hashes of (place, word), modulo 2^64.
//            Different bits have the same fingerprint with a probability of 2^-64.

#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

constexpr int kThreads = 256;  // the threads per block of every launch

template <typename T>
__device__ double as_double(T value) {
  return static_cast<double>(value);
}
__device__ inline double as_double(__half value) { return mg::to_float(value); }
__device__ inline double as_double(__nv_bfloat16 value) { return mg::to_float(value); }

__device__ inline bool is_finite(double value) { return value - value == 0.0; }

// Sums over the elements that are finite on both sides. `finiteness` counts the elements of which
// only one side is finite, or whose sides are two different ones of +Inf, -Inf and NaN.
struct Differences {
  double squared_difference, squared_reference, worst;
  mg::i64 compared, finiteness;
};

__device__ inline void add(Differences& sum, double value, double reference) {
  if (!is_finite(value) || !is_finite(reference)) {
    const bool both_nan = value != value && reference != reference;
    if (value != reference && !both_nan) ++sum.finiteness;
    return;
  }
  const double difference = value - reference;
  sum.squared_difference += difference * difference;
  sum.squared_reference += reference * reference;
  sum.worst = fmax(sum.worst, fabs(difference));
  ++sum.compared;
}

__device__ inline void add(Differences& sum, const Differences& other) {
  sum.squared_difference += other.squared_difference;
  sum.squared_reference += other.squared_reference;
  sum.worst = fmax(sum.worst, other.worst);
  sum.compared += other.compared;
  sum.finiteness += other.finiteness;
}

// Compares `samples` of `rows` rows, spread evenly from the first row to the last. A row has
// `columns` elements. Both tensors are contiguous; `blocks` has one entry per block.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    compare_with_reference(Differences* blocks, const T* output, const double* reference,
                           long long rows, long long columns, long long samples) {
  MG_SHARED(Differences, found, [kThreads]);
  const mg::i64 intervals = samples > 1 ? samples - 1 : 1;
  const mg::i64 threads = mg::i64{gridDim.x} * kThreads;
  const mg::i64 first = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  Differences sum = {};
  if (samples == rows) {  // avoids divisions, which take longer than the memory
#pragma unroll 4
    for (mg::i64 i = first; i < rows * columns; i += threads) {
      add(sum, as_double(output[i]), reference[i]);
    }
  } else {
    for (mg::i64 i = first; i < samples * columns; i += threads) {
      const mg::i64 row = i / columns * (rows - 1) / intervals;
      const mg::i64 at = row * columns + i % columns;
      add(sum, as_double(output[at]), reference[at]);
    }
  }
  found[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < kThreads; ++i) add(sum, found[i]);
  blocks[blockIdx.x] = sum;
}

// The finalizer of SplitMix64.
__device__ inline mg::u64 hash64(mg::u64 value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

// The first thread of a block writes the sum over the block. All threads call this function.
__device__ inline void write_sum(unsigned long long* blocks, mg::u64 sum) {
  MG_SHARED(mg::u64, found, [kThreads]);
  found[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < kThreads; ++i) sum += found[i];
  blocks[blockIdx.x] = sum;
}

// The fingerprint of `count` words and of the `tail` bytes after them, fewer than a word.
__global__ void __launch_bounds__(kThreads)
    fingerprint(unsigned long long* blocks, const unsigned long long* words, long long count,
                long long tail) {
  const mg::i64 threads = mg::i64{gridDim.x} * kThreads;
  const mg::i64 first = mg::i64{blockIdx.x} * kThreads + threadIdx.x;
  mg::u64 sum = 0;
#pragma unroll 4
  for (mg::i64 i = first; i < count; i += threads) {
    sum += hash64(words[i] + hash64(static_cast<mg::u64>(i) + 0x9e3779b97f4a7c15ull));
  }
  if (first == 0 && tail > 0) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(words + count);
    mg::u64 last = 0;
    for (mg::i64 i = 0; i < tail; ++i) last = last << 8 | bytes[i];
    sum += hash64(last + hash64(static_cast<mg::u64>(count) + 0x9e3779b97f4a7c15ull));
  }
  write_sum(blocks, sum);
}

// The bytes of a guard band, which alternate. Even and odd places count from the start of the
// memory that the band belongs to (tensors/guarded_buffer.h).
struct Band {
  const unsigned char* memory;
  mg::i64 bytes, place;
};

__global__ void __launch_bounds__(kThreads)
    changed_bands(unsigned long long* blocks, const Band* bands, long long count) {
  mg::u64 changed = 0;
  for (mg::i64 band = blockIdx.x; band < count; band += gridDim.x) {
    const Band at = bands[band];
    for (mg::i64 i = threadIdx.x; i < at.bytes; i += kThreads) {
      if (at.memory[i] != ((at.place + i) % 2 == 0 ? 0xf5 : 0xff)) ++changed;
    }
  }
  write_sum(blocks, changed);
}
