// PanelTile: how a matrix of 16-bit elements lies in shared memory so that the copy engine can
// write it, wgmma can read it, and no banks conflict. Its columns are cut into panels of kPanel =
// 64 or 32 columns, 128 or 64 bytes. A panel is dense, row after row, and panels follow each other:
//
//   panel c / kPanel:  [kRows][kPanel], with 16-byte piece p of row r at piece p ^ (r % 8),
//                      or p ^ (r / 2 % 4) if a row has 64 bytes
//
//   using K = mg::PanelTile<T, 128, 96>;                 128 rows, 96 columns: 3 panels of 32
//   K::kBytes, K::offset(row, column)                    bytes from the beginning of the tile
//   mg::tensor_load(tile, map, arrived, 0, row, 0, ...)  one copy brings all panels, if the map has
//                                                        the dimensions {kPanel, rows, panels,
//                                                        ...}, the box {kPanel, kRows, panels, 1,
//                                                        ...} and the swizzle "128B" or "64B"
//
// A tile begins at a multiple of 1024 bytes.

#pragma once

#include <mg/swizzle.cuh>
#include <mg/types.cuh>

namespace mg {

template <class T, int kRows_, int kColumns_, int kPanel_ = kColumns_ % 64 == 0 ? 64 : 32>
struct PanelTile {
  static constexpr int kRows = kRows_, kColumns = kColumns_, kPanel = kPanel_;
  static constexpr int kPanels = kColumns / kPanel, kRowBytes = 2 * kPanel;
  static constexpr int kPanelBytes = kRows * kRowBytes, kBytes = kPanels * kPanelBytes;
  static_assert(sizeof(T) == 2 && (kPanel == 64 || kPanel == 32), "swizzles of 128 or 64 bytes");
  static_assert(kColumns % kPanel == 0 && kRows % 8 == 0, "whole panels, whole groups of rows");

  __host__ __device__ static constexpr u32 panel(int column) {
    return static_cast<u32>(column / kPanel * kPanelBytes);
  }

  __device__ __forceinline__ static u32 offset(int row, int column) {
    const u32 within = static_cast<u32>(column % kPanel);
    return panel(column) + swizzled<kRowBytes>(static_cast<u32>(row), within / 8u) +
           within % 8u * 2u;
  }
};

}  // namespace mg
