// Sums of attention over parts of a sequence's keys, and how such sums are added. Each part has its
// own maximum, and its exponentials are relative to this maximum.
//
//   mg::AttentionPiece sum = mg::no_keys();     four columns of a row of O, and the row's weight
//   mg::add(sum, pieces);                       adds several pieces in order
//   sum = mg::sum_of_pieces(count, at);         adds the pieces at(0), ..., at(count - 1)
//   const mg::AttentionParts<kHeadDim, kRows> parts{sums, weights};   parts in global memory
//   parts.put(part, row, column, piece);
//   sum = parts.sum(first, count, row, column);
//
// Numerics: fp32, in the order of the parts. A part without keys adds nothing.

#pragma once

#include <mg/math.cuh>
#include <mg/types.cuh>

namespace mg {

// Attention over some keys, or over all: four columns of a row of O, which are not yet divided by
// the row's sum, and the row's weight. weight.x is the base: exponentials are relative to 2^x.
// weight.y is their sum after rounding, and weight.z their sum before rounding.
struct AttentionPiece {
  float4 o, weight;
};

// Attention over no keys.
__device__ __forceinline__ AttentionPiece no_keys() {
  return {make_float4(0.0f, 0.0f, 0.0f, 0.0f), make_float4(-infinity(), 0.0f, 0.0f, 0.0f)};
}

// Adds factor * from to `to`.
__device__ __forceinline__ void add_scaled(AttentionPiece& to, const AttentionPiece& from,
                                           float factor) {
  to.o.x += from.o.x * factor;
  to.o.y += from.o.y * factor;
  to.o.z += from.o.z * factor;
  to.o.w += from.o.w * factor;
  to.weight.y += from.weight.y * factor;
  to.weight.z += from.weight.z * factor;
}

// Adds the pieces to `sum`, in order.
template <int kCount>
__device__ __forceinline__ void add(AttentionPiece& sum, const AttentionPiece (&pieces)[kCount]) {
  // A sum over no keys has the base -inf, and `to` may be -inf too. Then the factor is 0.
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

// Returns the sum of the pieces at(0), ..., at(count - 1), added in order.
template <class At>
__device__ __forceinline__ AttentionPiece sum_of_pieces(int count, const At& at) {
  constexpr int kAtOnce = 16;  // pieces whose loads are in flight together
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

// The parts of sequences in the workspace. Each part has kRows rows.
template <int kHeadDim, int kRows>
struct AttentionParts {
  float* sums;     // kHeadDim floats per row
  float* weights;  // 4 floats per row

  __device__ __forceinline__ void put(i64 part, int row, int column,
                                      const AttentionPiece& piece) const {
    const i64 place = part * kRows + row;
    *reinterpret_cast<float4*>(sums + place * kHeadDim + column) = piece.o;
    if (column == 0) *reinterpret_cast<float4*>(weights + place * 4) = piece.weight;
  }

  // Returns the sum of parts [first, first + count). It reads through L2, because other blocks
  // wrote the parts.
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
