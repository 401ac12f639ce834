// The rows of a gradient of attention that a warp owns, computed with mma.sync. If the rows are
// queries, the tiles that pass by hold keys and values. If the rows are keys, the tiles hold
// queries and the gradients of their outputs. Either way a warp multiplies its rows of two matrices
// by two tiles, and adds products with these tiles to its sums:
//
//   rows      own            tiles          scores            dp                sums
//   queries   q, dout        k, v           S = q k^T         dP = dout v^T     dq += dS k
//   keys      k, v           q, dout        S^T = k q^T       dP^T = v dout^T   dk += dS^T q,
//                                                                               dv += P^T dout
//
//   OwnRows<V> own(rows);                       rows: the warp's rows of a matrix in shared memory
//   own.load();                                 when they have arrived; needed with kInRegisters
//   multiply<V>(own, tile, products);           products = own * tile^T
//   exponentiate<V>(products, factor, figures); p = 2^(factor * s - figure)
//   differentiate<V>(p, dp, figures);           dp = p * (dp - figure)
//   add_products<V>(rounded<V>(p), tile, sums); sums += p * tile
//
// A figure is a number of a query: the log2 of its sum of exponentials, or its delta. FiguresOfRows
// holds the figures of a warp's rows in registers. FiguresOfColumns reads those of a tile from
// shared memory.
//
// V has these constants: T (half or bfloat16), kHeadDim, kRowBytes, kRowTiles tiles of 16 own rows,
// kColumnTiles of 8 rows of a tile, kDimTiles of 8 columns, kInRegisters. All matrices lie in
// shared memory as <mg/swizzle.cuh> describes. All lanes of a warp call every function together.
// Numerics: products are exact, sums are fp32. rounded() rounds to T.

#pragma once

#include <mg/ldmatrix.cuh>
#include <mg/math.cuh>
#include <mg/mma.cuh>
#include <mg/swizzle.cuh>
#include <mg/types.cuh>

// One float per own row and row of a tile. This lane has the rows row_of_lane(i, c / 2) and the
// columns column_of_lane(j, c % 2).
template <class V>
struct Products {
  float x[V::kRowTiles][V::kColumnTiles][4];
};

// The same, rounded to T: the left operand of a product.
template <class V>
struct Rounded {
  mg::u32 x[V::kRowTiles][V::kColumnTiles / 2][4];
};

// One float per own row and column of the head.
template <class V>
struct Sums {
  float x[V::kRowTiles][V::kDimTiles][4];

  __device__ __forceinline__ Sums() {
#pragma unroll
    for (int i = 0; i < V::kRowTiles * V::kDimTiles * 4; ++i) {
      x[i / 4 / V::kDimTiles][i / 4 % V::kDimTiles][i % 4] = 0.0f;
    }
  }
};

__device__ __forceinline__ int row_of_lane(int i, int r) {
  return 16 * i + 8 * r + static_cast<int>(threadIdx.x % 32u / 4u);
}

__device__ __forceinline__ int column_of_lane(int j, int c) {
  return 8 * j + 2 * static_cast<int>(threadIdx.x % 4u) + c;
}

inline constexpr int kAhead = 2;  // loads of a tile that are in flight during a product

template <class V>
class OwnRows {
 public:
  using T = typename V::T;

  __device__ __forceinline__ explicit OwnRows(const T* rows)
      : lane_(threadIdx.x % 16u, threadIdx.x % 32u / 16u),
        rows_(reinterpret_cast<const unsigned char*>(rows)) {}

  __device__ __forceinline__ void load() {
    if constexpr (V::kInRegisters) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step) load(step, registers_[step]);
    }
  }

  // Gets 16 columns of all rows.
  __device__ __forceinline__ void get(int step, mg::u32 (&out)[V::kRowTiles][4]) const {
    if constexpr (V::kInRegisters) {
#pragma unroll
      for (int i = 0; i < V::kRowTiles * 4; ++i) out[i / 4][i % 4] = registers_[step][i / 4][i % 4];
    } else {
      load(step, out);
    }
  }

 private:
  static constexpr int kSteps = V::kHeadDim / 16;

  __device__ __forceinline__ void load(int step, mg::u32 (&out)[V::kRowTiles][4]) const {
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
      mg::ldmatrix_x4(out[i], rows_ + lane_.offset(16 * i, step));
    }
  }

  mg::SwizzledLane<V::kRowBytes> lane_;
  const unsigned char* rows_;
  mg::u32 registers_[V::kInRegisters ? kSteps : 1][V::kRowTiles][4];
};

// Computes out = own * tile^T.
template <class V>
__device__ __forceinline__ void multiply(const OwnRows<V>& own, const typename V::T* tile,
                                         Products<V>& out) {
  using T = typename V::T;
  constexpr int kSteps = V::kHeadDim / 16, kPairs = V::kColumnTiles / 2, kLoads = kSteps * kPairs;
  const mg::SwizzledLane<V::kRowBytes> lane(threadIdx.x % 32u / 16u * 8u + threadIdx.x % 8u,
                                            threadIdx.x / 8u % 2u);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(tile);
  const auto load = [&](int n, mg::u32(&to)[4]) {
    mg::ldmatrix_x4(to, bytes + lane.offset(n % kPairs * 16, n / kPairs));
  };
#pragma unroll
  for (int i = 0; i < V::kRowTiles * V::kColumnTiles * 4; ++i) {
    out.x[i / 4 / V::kColumnTiles][i / 4 % V::kColumnTiles][i % 4] = 0.0f;
  }
  mg::u32 of_own[2][V::kRowTiles][4], of_tile[kAhead + 1][4];
  own.get(0, of_own[0]);
#pragma unroll
  for (int n = 0; n < kAhead; ++n) load(n, of_tile[n]);
#pragma unroll
  for (int n = 0; n < kLoads; ++n) {
    const int step = n / kPairs, pair = n % kPairs;
    if (n + kAhead < kLoads) load(n + kAhead, of_tile[(n + kAhead) % (kAhead + 1)]);
    if (pair == 0 && step + 1 < kSteps) own.get(step + 1, of_own[(step + 1) % 2]);
    const mg::u32(&b)[4] = of_tile[n % (kAhead + 1)];
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
      mg::mma_m16n8<T, 16>(out.x[i][2 * pair], of_own[step % 2][i], b);
      mg::mma_m16n8<T, 16>(out.x[i][2 * pair + 1], of_own[step % 2][i], b + 2);
    }
  }
}

// Computes sums += factors * tile.
template <class V>
__device__ __forceinline__ void add_products(const Rounded<V>& factors, const typename V::T* tile,
                                             Sums<V>& sums) {
  using T = typename V::T;
  constexpr int kPairs = V::kDimTiles / 2, kLoads = V::kColumnTiles / 2 * kPairs;
  const mg::SwizzledLane<V::kRowBytes> lane(threadIdx.x % 16u, threadIdx.x % 32u / 16u);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(tile);
  const auto load = [&](int n, mg::u32(&to)[4]) {
    mg::ldmatrix_x4_transposed(to, bytes + lane.offset(n / kPairs * 16, n % kPairs));
  };
  mg::u32 of_tile[kAhead + 1][4];
#pragma unroll
  for (int n = 0; n < kAhead; ++n) load(n, of_tile[n]);
#pragma unroll
  for (int n = 0; n < kLoads; ++n) {
    const int step = n / kPairs, pair = n % kPairs;
    if (n + kAhead < kLoads) load(n + kAhead, of_tile[(n + kAhead) % (kAhead + 1)]);
    const mg::u32(&b)[4] = of_tile[n % (kAhead + 1)];
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
      mg::mma_m16n8<T, 16>(sums.x[i][2 * pair], factors.x[i][step], b);
      mg::mma_m16n8<T, 16>(sums.x[i][2 * pair + 1], factors.x[i][step], b + 2);
    }
  }
}

// The accumulators of a product already have the layout that the next product's left operand needs.
template <class V>
__device__ __forceinline__ Rounded<V> rounded(const Products<V>& products) {
  Rounded<V> out;
#pragma unroll
  for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
    for (int step = 0; step < V::kColumnTiles / 2; ++step) {
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        const float* const two = products.x[i][2 * step + word / 2] + word % 2 * 2;
        out.x[i][step][word] = mg::pack<typename V::T>(two[0], two[1]);
      }
    }
  }
  return out;
}

// The figures of own rows that are queries. `figures` are those of the warp's rows.
template <class V>
class FiguresOfRows {
 public:
  __device__ __forceinline__ explicit FiguresOfRows(const float* figures) {
#pragma unroll
    for (int i = 0; i < V::kRowTiles * 2; ++i) {
      figures_[i / 2][i % 2] = figures[row_of_lane(i / 2, i % 2)];
    }
  }
  __device__ __forceinline__ const FiguresOfRows& of_columns(int) const { return *this; }
  __device__ __forceinline__ float at(int i, int c) const { return figures_[i][c / 2]; }

 private:
  float figures_[V::kRowTiles][2];
};

// The figures of the rows of a tile that are queries; they are in shared memory.
class FiguresOfColumns {
 public:
  struct Two {
    float2 two;
    __device__ __forceinline__ float at(int, int c) const { return c % 2 == 0 ? two.x : two.y; }
  };

  __device__ __forceinline__ explicit FiguresOfColumns(const float* figures) : figures_(figures) {}
  __device__ __forceinline__ Two of_columns(int j) const {
    return {*reinterpret_cast<const float2*>(figures_ + column_of_lane(j, 0))};
  }

 private:
  const float* figures_;
};

// Replaces each score s by p = 2^(factor * s - figure).
template <class V, class Figures>
__device__ __forceinline__ void exponentiate(Products<V>& scores, float factor,
                                             const Figures& figures) {
#pragma unroll
  for (int j = 0; j < V::kColumnTiles; ++j) {
    const auto& of_columns = figures.of_columns(j);
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        float& s = scores.x[i][j][c];
        s = mg::exp2_approx(s * factor - of_columns.at(i, c));
      }
    }
  }
}

// Replaces dp, the gradients of the probabilities p, by the gradients of the logits: p * (dp -
// figure).
template <class V, class Figures>
__device__ __forceinline__ void differentiate(const Products<V>& p, Products<V>& dp,
                                              const Figures& figures) {
#pragma unroll
  for (int j = 0; j < V::kColumnTiles; ++j) {
    const auto& of_columns = figures.of_columns(j);
#pragma unroll
    for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        dp.x[i][j][c] = p.x[i][j][c] * (dp.x[i][j][c] - of_columns.at(i, c));
      }
    }
  }
}

// Sets the scores that hides(row, column) names to -inf, so that their p is 0.
template <class V, class Hides>
__device__ __forceinline__ void mask(Products<V>& scores, const Hides& hides) {
#pragma unroll
  for (int i = 0; i < V::kRowTiles; ++i) {
#pragma unroll
    for (int j = 0; j < V::kColumnTiles; ++j) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        if (hides(row_of_lane(i, c / 2), column_of_lane(j, c % 2))) {
          scores.x[i][j][c] = -mg::infinity();
        }
      }
    }
  }
}
