// What the designs of linear.qkv share: the rows of w of a pair, and after the sums the rotation
// and the append to the caches.
//
// Sets 0 and 1 are the rows of w of the two elements of a pair. begin() loads the bias and the
// rotation of a pair early. finish() gets its sums, rotates them and writes them.

#pragma once

#include <mg/types.cuh>
#include <mg/vec.cuh>

// Pair `i` of a head is its elements i * kNext and i * kNext + kApart.
template <int kHeadDim, bool kPairs>
struct HeadPairs {
  static constexpr int kCount = kHeadDim / 2;
  static constexpr int kNext = kPairs ? 2 : 1, kApart = kPairs ? 1 : kHeadDim / 2;
};

template <class T, class P>
struct QkvWeights {
  const T* first;
  mg::i64 stride;
  int outputs, columns;
  mg::i64 row_step;

  __device__ __forceinline__ const T* first_row(int set, int pair) const {
    const int head = pair / P::kCount, i = pair % P::kCount;
    return first + (mg::i64{head} * 2 * P::kCount + i * P::kNext + set * P::kApart) * stride;
  }
};

template <class C>
struct Caches {
  C *k, *v;
  mg::i64 sequence, position, head;  // strides
};

template <class T, class C, class P, bool kRotary, bool kHasBias>
class QkvEpilogue {
 public:
  struct Kept {
    float bias[2], cosine, sine;
  };

  // `row` is the row of x for which the calling thread finishes outputs.
  __device__ __forceinline__ QkvEpilogue(int row, int rows, const T* bias, const float* table,
                                         const int* positions, C* q, const Caches<C>& caches,
                                         int heads, int kv_heads, int capacity, mg::i64 q_stride)
      : bias_(bias),
        table_(table),
        q_(q),
        caches_(caches),
        heads_(heads),
        kv_heads_(kv_heads),
        q_stride_(q_stride) {
    position_ = row < rows ? positions[row] : 0;
    fits_ = position_ >= 0 && position_ < capacity;
    if (!fits_) position_ = 0;
  }

  __device__ __forceinline__ Kept begin(int, int pair) const {
    const int head = pair / P::kCount, i = pair % P::kCount;
    Kept kept{};
    if constexpr (kHasBias) {
      const T* const first = bias_ + head * 2 * P::kCount + i * P::kNext;
      kept.bias[0] = mg::to_float(first[0]);
      kept.bias[1] = mg::to_float(first[P::kApart]);
    }
    if constexpr (kRotary) {
      const float* const turn = table_ + (mg::i64{position_} * P::kCount + i) * 2;
      const bool turns = head < heads_ + kv_heads_;
      kept.cosine = turns ? turn[0] : 1.0f;
      kept.sine = turns ? turn[1] : 0.0f;
    }
    return kept;
  }

  __device__ __forceinline__ void finish(const Kept& kept, int row, int pair,
                                         const float (&sums)[2]) const {
    float a = sums[0] + kept.bias[0], b = sums[1] + kept.bias[1];
    if constexpr (kRotary) {
      const float turned = a * kept.cosine - b * kept.sine;
      b = a * kept.sine + b * kept.cosine;
      a = turned;
    }
    const int head = pair / P::kCount, i = pair % P::kCount;
    C* to = q_ + row * q_stride_ + mg::i64{head} * 2 * P::kCount;
    if (head >= heads_) {
      if (!fits_) return;
      const int of_kv = head - heads_, is_v = of_kv >= kv_heads_ ? 1 : 0;
      to = (is_v ? caches_.v : caches_.k) + row * caches_.sequence + position_ * caches_.position +
           (of_kv - is_v * kv_heads_) * caches_.head;
    }
    to += i * P::kNext;
    to[0] = mg::from_float<C>(a);
    to[P::kApart] = mg::from_float<C>(b);
  }

 private:
  const T* bias_;
  const float* table_;
  C* q_;
  const Caches<C> caches_;
  int heads_, kv_heads_, position_;
  bool fits_;
  mg::i64 q_stride_;
};
