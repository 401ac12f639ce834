// How the design `even` of attention.decode cuts the keys of a whole batch into equal runs, and how
// a block walks over its run. decode_even.cu explains the algorithm.

#pragma once

#include <mg/attention_parts.cuh>
#include <mg/swizzle.cuh>
#include <mg/types.cuh>
#include <mg/vec.cuh>

#include "decode_block.cuh"
#include "decode_tiles.cuh"

// The tiles of keys that the rows of a sequence see. A sequence without keys has one tile, which is
// empty, so that some block writes its results.
template <class V>
struct SequenceTiles {
  int keys, first_key, count;

  __device__ __forceinline__ SequenceTiles(const Arguments<typename V::T>& in, int keys)
      : keys(keys),
        first_key(V::kWindowed ? maximum(0, keys - in.q_len - in.scaling.window) : 0),
        count(maximum(1, (keys - first_key + V::kKeys - 1) / V::kKeys)) {}
};

// The blocks of the grid form columns. All columns have lists of tiles of the same lengths, and
// block `run` of each column has the same run of its list. For each sequence a column owns `passes`
// heads (or blocks of rows of a KV head). Neighbouring columns have neighbouring heads, so they
// read neighbouring memory at the same time.
struct Columns {
  int count, column, run, most_runs, passes, row_blocks;

  __device__ __forceinline__ Columns(int columns, int passes, int row_blocks)
      : count(columns),
        column(static_cast<int>(blockIdx.x) % columns),
        run(static_cast<int>(blockIdx.x) / columns),
        most_runs(static_cast<int>(gridDim.x) / columns),
        passes(passes),
        row_blocks(row_blocks) {}

  template <class V>
  __device__ __forceinline__ Place<V> place(const Arguments<typename V::T>& in, int sequence,
                                            int pass) const {
    const int head = column + count * pass;
    return Place<V>(in, sequence, 0, head / row_blocks, head % row_blocks);
  }

  __device__ __forceinline__ int block_of(int any_run) const { return any_run * count + column; }
};

// Returns a / b for numbers that are not negative. They nearly always fit into 31 bits, and then a
// 32-bit division takes much less time.
__device__ __forceinline__ mg::i64 quotient(mg::i64 a, mg::i64 b) {
  if ((a | b) >> 31 == 0) return static_cast<mg::u32>(a) / static_cast<mg::u32>(b);
  return a / b;
}

// Cuts a list of tiles into runs whose lengths differ by one at most. A run has at least `least`
// tiles, unless it is the only one.
struct EvenCut {
  int runs, longer;  // the first `longer` runs have length + 1 tiles
  mg::i64 length;

  __device__ __forceinline__ EvenCut(mg::i64 tiles, int most_runs, int least) {
    runs = tiles < mg::i64{most_runs} * least ? maximum(1, static_cast<int>(tiles) / least)
                                              : most_runs;
    length = quotient(tiles, runs);
    longer = static_cast<int>(tiles - length * runs);
  }

  __device__ __forceinline__ mg::i64 begin(int run) const {
    return run * length + minimum(run, longer);
  }
  __device__ __forceinline__ int run_of(mg::i64 tile) const {
    const mg::i64 in_longer = longer * (length + 1);
    if (tile < in_longer) return static_cast<int>(quotient(tile, length + 1));
    return longer + static_cast<int>(quotient(tile - in_longer, length));
  }
};

// A tile of a column's list. The list has the sequences in order, and each sequence has one item
// per pass: all its tiles for one head.
template <class V>
struct Position {
  int sequence, pass, tile;  // `tile` counts from the first tile of the item
  SequenceTiles<V> of_sequence;

  __device__ __forceinline__ int key() const { return of_sequence.first_key + tile * V::kKeys; }

  // Goes to the first tile of the next item.
  __device__ __forceinline__ void go_to_next_item(const Arguments<typename V::T>& in, int passes) {
    tile = 0;
    if (++pass < passes) return;
    pass = 0;
    ++sequence;
    of_sequence = SequenceTiles<V>(in, in.kv_lens[sequence]);
  }
};

// The number of tiles of all sequences, counted for one head. Each lane of a warp counts a share of
// the sequences. All lanes of a warp call every function together.
template <class V>
class TileCount {
 public:
  using Arguments = ::Arguments<typename V::T>;

  __device__ __forceinline__ TileCount(const Arguments& in, int batch) : share_((batch + 31) / 32) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int first = lane * share_, end = minimum(batch, first + share_);
    mg::i64 own = 0;
#pragma unroll 4
    for (int i = first; i < end; ++i) own += SequenceTiles<V>(in, in.kv_lens[i]).count;
    end_ = own;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const mg::i64 before = __shfl_up_sync(0xffffffffu, end_, static_cast<mg::u32>(distance));
      if (lane >= distance) end_ += before;
    }
    begin_ = end_ - own;
  }

  __device__ __forceinline__ mg::i64 total() const { return __shfl_sync(0xffffffffu, end_, 31); }

  // Finds tile number `tile` in the list of a column. The list has more than `tile` tiles.
  __device__ __forceinline__ Position<V> find(const Arguments& in, mg::i64 tile, int passes) const {
    const int owner = __ffs(static_cast<int>(__ballot_sync(0xffffffffu, end_ * passes > tile))) - 1;
    mg::i64 left = tile - passes * __shfl_sync(0xffffffffu, begin_, owner);
    int sequence = owner * share_;
    SequenceTiles<V> tiles(in, in.kv_lens[sequence]);
    while (left >= mg::i64{passes} * tiles.count) {
      left -= mg::i64{passes} * tiles.count;
      tiles = SequenceTiles<V>(in, in.kv_lens[++sequence]);
    }
    int pass = 0;
    for (; left >= tiles.count; left -= tiles.count) ++pass;
    return {sequence, pass, static_cast<int>(left), tiles};
  }

 private:
  int share_;
  mg::i64 begin_, end_;  // this lane's share of the list of tiles
};

// Loads the tiles of a run that one warp takes, one after the other and across the ends of items.
template <class V>
class RunLoader {
 public:
  using T = typename V::T;

  // `left` is the length of the run. It begins at `first`.
  __device__ __forceinline__ RunLoader(const Arguments<T>& in, const Columns& columns,
                                       const Position<V>& first, mg::i64 left)
      : in_(in), columns_(columns), next_(first), left_(left), tiles_(cache()) {
    skip(static_cast<int>(threadIdx.x) / 32);
  }

  // Copies the next tile of this warp, if there is one, to `tile` (K, followed by V).
  __device__ __forceinline__ void load(typename V::Copies& copies, T* tile) {
    if (left_ > 0) {
      tiles_.copy(copies, tile, next_.key(), next_.of_sequence.keys);
      skip(V::kWarps);
    }
    copies.end_group();
  }

 private:
  __device__ __forceinline__ Cache<T> cache() const {
    return columns_.place<V>(in_, next_.sequence, next_.pass).cache(in_);
  }

  __device__ __forceinline__ void skip(int tiles) {
    left_ -= tiles;
    next_.tile += tiles;
    if (left_ <= 0 || next_.tile < next_.of_sequence.count) return;
    do {
      const int rest = next_.tile - next_.of_sequence.count;
      next_.go_to_next_item(in_, columns_.passes);
      next_.tile = rest;
    } while (next_.tile >= next_.of_sequence.count);
    tiles_ = TileCopier<V>(cache());
  }

  const Arguments<T>& in_;
  const Columns& columns_;
  Position<V> next_;
  mg::i64 left_;  // the tiles of the run from next_ on
  TileCopier<V> tiles_;
};

// The rows of Q of an item, on their way to shared memory. Each thread holds an equal share of
// them.
template <class V>
class RowsOfQ {
 public:
  using T = typename V::T;

  __device__ __forceinline__ void load(const Arguments<T>& in, const Place<V>& place) {
    const T* const q = place.q(in);
#pragma unroll
    for (int n = 0; n < V::kQCopies; ++n) {
      const int row = row_of(n), index = place.first_row + row;
      pieces_[n] = {};
      if (row >= place.rows) continue;
      pieces_[n] = mg::load<8>(q + index / place.group * in.q_ss + index % place.group * in.q_sh +
                               piece_of(n) * 8);
    }
  }

  __device__ __forceinline__ void store(T* q_tile) const {
#pragma unroll
    for (int n = 0; n < V::kQCopies; ++n) {
      if (row_of(n) >= V::kRows) continue;
      mg::store<8>(
          reinterpret_cast<T*>(reinterpret_cast<unsigned char*>(q_tile) +
                               mg::swizzled<V::kRowBytes>(static_cast<mg::u32>(row_of(n)),
                                                          static_cast<mg::u32>(piece_of(n)))),
          pieces_[n]);
    }
  }

 private:
  static __device__ __forceinline__ int row_of(int n) {
    return (static_cast<int>(threadIdx.x) + n * V::kThreads) / V::kDimTiles;
  }
  static __device__ __forceinline__ int piece_of(int n) {
    return (static_cast<int>(threadIdx.x) + n * V::kThreads) % V::kDimTiles;
  }

  mg::Vec<T, 8> pieces_[V::kQCopies];
};

// Reads four columns of a part, through L2, because another block wrote them.
template <int kHeadDim, int kRows>
__device__ __forceinline__ mg::AttentionPiece piece_of_part(
    const mg::AttentionParts<kHeadDim, kRows>& parts, mg::i64 part, int row, int column) {
  const mg::i64 place = part * kRows + row;
  return {__ldcg(reinterpret_cast<const float4*>(parts.sums + place * kHeadDim + column)),
          __ldcg(reinterpret_cast<const float4*>(parts.weights + place * 4))};
}
