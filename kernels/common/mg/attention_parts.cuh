// Sums of attention over parts of a sequence's keys, and how they are added: each part has its own
// maximum, to which its exponentials are relative.
//
//   mg::AttentionPiece sum = mg::no_keys();     four columns of a row of O, and the row's weight
//   mg::add(sum, pieces);                       several, in order
//   sum = mg::sum_of_pieces(count, at);         those that at(0), ..., at(count - 1) give
//   const mg::AttentionParts<kHeadDim, kRows> parts{sums, weights};   in global memory
//   parts.put(part, row, column, piece);
//   sum = parts.sum(first, count, row, column);
//
// Numerics: fp32, in the order of the parts. Parts without keys count nothing.

#pragma once

#include <mg/math.cuh>
#include <mg/types.cuh>

namespace mg {

// Four columns of a row of O, to be divided by the row's sum, and the row's weight: log2 of what
// exponentials are relative to (x), their sum (y), and the sum of what was not rounded (z). Of some
// keys, or of all.
struct AttentionPiece {
  float4 o, weight;
};

// Of no key.
__device__ __forceinline__ AttentionPiece no_keys() {
  return {make_float4(0.0f, 0.0f, 0.0f, 0.0f), make_float4(-infinity(), 0.0f, 0.0f, 0.0f)};
}

// to += factor * from.
__device__ __forceinline__ void add_scaled(AttentionPiece& to, const AttentionPiece& from,
                                           float factor) {
  to.o.x += from.o.x * factor;
  to.o.y += from.o.y * factor;
  to.o.z += from.o.z * factor;
  to.o.w += from.o.w * factor;
  to.weight.y += from.weight.y * factor;
  to.weight.z += from.weight.z * factor;
}

// sum += pieces, in order.
template <int kCount>
__device__ __forceinline__ void add(AttentionPiece& sum, const AttentionPiece (&pieces)[kCount]) {
  // 0 for what has seen no key, where both may be -inf.
  const auto rescaling = [](float from, float to) {
    return from == -infinity() ? 0.0f : exp2_approx(from - to);
  };
  float base = sum.weight.x;
#pragma unroll
  for (int n = 0; n < kCount; ++n) base = fmaxf(base, pieces[n].weight.x);
  AttentionPiece total = no_keys();
  add_scaled(total, sum, rescaling(sum.weight.x, base));
#pragma unroll
  for (int n = 0; n < kCount; ++n) {
    add_scaled(total, pieces[n], rescaling(pieces[n].weight.x, base));
  }
  total.weight.x = base;
  sum = total;
}

// The sum of the pieces that at(part) gives for parts [0, count), in order.
template <class At>
__device__ __forceinline__ AttentionPiece sum_of_pieces(int count, const At& at) {
  constexpr int kAtOnce = 16;  // loads on their way
  AttentionPiece sum = no_keys();
  for (int first = 0; first < count; first += kAtOnce) {
    AttentionPiece pieces[kAtOnce];
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      pieces[n] = no_keys();
      if (first + n < count) pieces[n] = at(first + n);
    }
    add(sum, pieces);
  }
  return sum;
}

// The parts of sequences in the workspace, kRows rows each.
template <int kHeadDim, int kRows>
struct AttentionParts {
  float* sums;     // kHeadDim columns a row
  float* weights;  // 4 a row

  __device__ __forceinline__ void put(i64 part, int row, int column,
                                      const AttentionPiece& piece) const {
    const i64 place = part * kRows + row;
    *reinterpret_cast<float4*>(sums + place * kHeadDim + column) = piece.o;
    if (column == 0) *reinterpret_cast<float4*>(weights + place * 4) = piece.weight;
  }

  // Of parts [first, first + count). Through L2: other blocks wrote them.
  __device__ __forceinline__ AttentionPiece sum(i64 first, int count, int row, int column) const {
    return sum_of_pieces(count, [&](int part) {
      const i64 place = (first + part) * kRows + row;
      return AttentionPiece{
          __ldcg(reinterpret_cast<const float4*>(sums + place * kHeadDim + column)),
          __ldcg(reinterpret_cast<const float4*>(weights + place * 4))};
    });
  }
};

}  // namespace mg
