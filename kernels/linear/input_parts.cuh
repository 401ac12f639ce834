// The rows of x as tensor cores read them: normalized if the problem asks for it, and in the dtype
// T of the weights.
//
//   InputParts<S, kParts> input(source);           S as in input_source.cuh, with vectors of 8
//   input.prepare();                               every thread of the block; ends with a barrier
//   uint4 b = input.words(tile, column);           8 elements from `column` + lane % 4 * 8 on, of
//                                                  column 8 * tile + lane / 4 of the products
//   y = sum_of_products * input.scale(row);
//
// A single T would round an x that is fp32 or comes from a norm to 8 or 11 bits. So x is the sum of
// kParts elements of T: the first is x rounded to T, the next is what is left rounded to T, and so
// on. Each part is a column of the products, and the sums of the parts are added up. Two parts of
// bf16 have 16 bits, three have all 24 of fp32, two of f16 have 22. An x that has the dtype T and
// no norm needs one part. A part has kSlots columns: 2, 4 or 8, so that sums lie at fixed lanes.
// The columns of rows that do not exist repeat the last row; their sums are not used.
//
// shared    prepare() writes all parts to shared memory once per block, and zeros from the last
//           column to the next multiple of 64. A row is 64 bytes longer, so that the lanes of a
//           quarter of a warp read different banks.
// direct    words() loads x from the caches each time. This is for one part, and for rows that are
//           too wide for shared memory.
//
// With bf16, an RMSNorm is a factor for the whole sum, as in input_rows.cuh. With f16, large values
// of x might overflow then, and small ones would lose digits. So with f16 x is multiplied by the
// factor before it is cut into parts, which reads x twice.
// Numerics  The sums of a norm are those of input_rows.cuh. An infinite x gives NaN if it has
//           several parts. If T is f16, an x that exceeds 65,504 after its norm gives NaN, too.

#pragma once

#include <mg/convert.cuh>
#include <mg/math.cuh>
#include <mg/mma.cuh>
#include <mg/shared.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

#include "input_source.cuh"

// The elements between two rows of parts in shared memory.
__host__ __device__ constexpr int parts_pitch(int columns) { return (columns + 63) / 64 * 64 + 32; }

// The dynamic shared memory after the parts.
template <class S, int kParts>
__device__ __forceinline__ unsigned char* behind_parts(int columns) {
  return mg::dynamic_shared<unsigned char>() +
         (S::kInput == INPUT::shared ? 2 * kParts * S::kRows * parts_pitch(columns) : 0);
}

template <class S, int kParts_>
class InputParts {
  using T = typename S::T;
  static constexpr int kVec = S::kVec;
  static constexpr bool kIsShared = S::kInput == INPUT::shared;
  static_assert(kVec == 8 && sizeof(T) == 2, "words of four lanes");

 public:
  static constexpr int kRows = S::kRows, kParts = kParts_;
  static constexpr int kSlots = kRows <= 2 ? 2 : kRows <= 4 ? 4 : 8;
  static constexpr int kTiles = (kSlots * kParts + 7) / 8;  // of 8 columns of the products

  // Uses 2 * kParts * kRows * parts_pitch(columns) bytes of the dynamic shared memory, if the parts
  // are kept there.
  __device__ __forceinline__ explicit InputParts(const InputSource<S>& source)
      : source_(source), pitch_(parts_pitch(source.columns)), held_(mg::dynamic_shared<T>()) {
    static_assert(kIsShared || (kParts == 1 && S::kNorm == Norm::none), "x as it is");
    const int lane = static_cast<int>(threadIdx.x) % 32, from = lane % 4 * kVec;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const int column = 8 * tile + lane / 4, slot = column % kSlots;
      const int row = slot < kRows ? slot : kRows - 1;
      const int part = column / kSlots < kParts ? column / kSlots : kParts - 1;
      if constexpr (kIsShared) {
        own_[tile] = held_ + (part * kRows + row) * pitch_ + from;
      } else {
        own_[tile] = reinterpret_cast<const T*>(source.x) + row * source.stride + from;
      }
    }
  }

  __device__ __forceinline__ void prepare() {
    if constexpr (!kIsShared) return;
    if constexpr (S::kNorm == Norm::none || kScalesSums) {
      float squares[kRows] = {};
      for_each_loaded<S, kBytes, S::kNorm == Norm::rms>(
          source_, [&](int row, int column, float(&values)[kVec], const NormWeights<S>& weights) {
            if constexpr (S::kNorm == Norm::rms) {
              add_squares(values, 0.0f, squares[row]);
              multiply<S>(values, weights);
            }
            put(row, column, values);
          });
      if constexpr (S::kNorm == Norm::rms) set_scales(squares);
    } else {
      normalize();
    }
    put_zeros();
    __syncthreads();
  }

  __device__ __forceinline__ uint4 words(int tile, int column) const {
    const T* const from = own_[tile] + column;
    if constexpr (kIsShared) return *reinterpret_cast<const uint4*>(from);
    uint4 words{};
    if (column + static_cast<int>(threadIdx.x) % 4 * kVec < source_.columns) {
      words = *reinterpret_cast<const uint4*>(from);
    }
    return words;
  }

  __device__ __forceinline__ float scale(int row) const {
    if constexpr (!kScalesSums) return 1.0f;
    float scale = scale_[0];
#pragma unroll
    for (int i = 1; i < kRows; ++i) {
      if (i == row) scale = scale_[i];
    }
    return scale;
  }

 private:
  static constexpr bool kScalesSums = S::kNorm == Norm::rms && mg::kIsBfloat16<T>;
  static constexpr int kBytes = 256;  // the bytes of x that a thread has in flight

  // Normalizes several rows at once, so that their loads are in flight together.
  __device__ __forceinline__ void normalize() {
    float mean[kRows] = {}, squares[kRows] = {};
    const auto columns = static_cast<float>(source_.columns);
    if constexpr (S::kNorm == Norm::layer) {
      for_each_loaded<S, kBytes, false>(
          source_, [&](int row, int, float(&values)[kVec], const NormWeights<S>&) {
#pragma unroll
            for (int i = 0; i < kVec; ++i) mean[row] += values[i];
          });
      MG_SHARED(float, all_sums, [S::kThreads / 32 * kRows]);
      add_up<S>(mean, all_sums);
#pragma unroll
      for (int row = 0; row < kRows; ++row) mean[row] /= columns;
    }
    for_each_loaded<S, kBytes, false>(
        source_, [&](int row, int, float(&values)[kVec], const NormWeights<S>&) {
          add_squares(values, mean[row], squares[row]);
        });
    set_scales(squares);
    for_each_loaded<S, kBytes, true>(
        source_, [&](int row, int column, float(&values)[kVec], const NormWeights<S>& weights) {
#pragma unroll
          for (int i = 0; i < kVec; ++i) values[i] = (values[i] - mean[row]) * scale_[row];
          multiply<S>(values, weights);
          if constexpr (S::kHasNormBias) {
            float biases[kVec];
            mg::to_floats(mg::load_pieces<kVec>(source_.bias + column), biases);
#pragma unroll
            for (int i = 0; i < kVec; ++i) values[i] += biases[i];
          }
          put(row, column, values);
        });
  }

  static __device__ __forceinline__ void add_squares(const float (&values)[kVec], float mean,
                                                     float& squares) {
#pragma unroll
    for (int i = 0; i < kVec; ++i) squares += (values[i] - mean) * (values[i] - mean);
  }

  __device__ __forceinline__ void set_scales(float (&squares)[kRows]) {
    MG_SHARED(float, all_squares, [S::kThreads / 32 * kRows]);
    add_up<S>(squares, all_squares);
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      scale_[row] = mg::rsqrt(squares[row] / static_cast<float>(source_.columns) + source_.eps);
    }
  }

  // Cuts the values into parts.
  __device__ __forceinline__ void put(int row, int column, float (&values)[kVec]) const {
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const mg::Vec<T, kVec> rounded = mg::from_floats<T>(values);
      mg::store<kVec>(held_ + (part * kRows + row) * pitch_ + column, rounded);
      float taken[kVec];
      mg::to_floats(rounded, taken);
#pragma unroll
      for (int i = 0; i < kVec; ++i) values[i] -= taken[i];
    }
  }

  __device__ __forceinline__ void put_zeros() const {
    const int padding = pitch_ - 32 - source_.columns;
    for (int i = static_cast<int>(threadIdx.x); i < kParts * kRows * padding; i += S::kThreads) {
      held_[i / padding * pitch_ + source_.columns + i % padding] = mg::from_float<T>(0.0f);
    }
  }

  const InputSource<S> source_;
  const int pitch_;
  T* const held_;
  const T* own_[kTiles];
  float scale_[kRows];
};
