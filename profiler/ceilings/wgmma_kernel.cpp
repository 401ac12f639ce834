#include <array>
#include <utility>

#include "ceilings/arithmetic_ceiling.h"
#include "ceilings/product_check.h"

namespace mgtune {
namespace {

constexpr std::int64_t kTileRows = 64;  // of a warpgroup's tile
constexpr std::int64_t kDepth = 64;     // elements of k in shared memory
constexpr std::int64_t kRowWords = 32;  // of kDepth 16-bit numbers
constexpr std::int64_t kWarpgroupThreads = 128;

struct WgmmaShape {
  std::int64_t columns, warpgroups;
  std::int64_t blocks_per_sm;

  std::int64_t words() const { return (warpgroups * kTileRows + columns) * kRowWords; }
};

constexpr std::array kWgmmaShapes = {WgmmaShape{256, 1, 1}, WgmmaShape{256, 2, 1},
                                     WgmmaShape{128, 2, 1}, WgmmaShape{128, 2, 2},
                                     WgmmaShape{128, 4, 1}, WgmmaShape{256, 1, 2}};

using WgmmaBlock = ArithmeticKernel::Block;

// Element k of a row of shared memory: the rows of the a's, then the columns of b. 16-byte piece
// p of row r lies at p ^ (r % 8).
double wgmma_number(const WgmmaShape& wgmma, DType dtype, const WgmmaBlock& block, std::int64_t row,
                    std::int64_t k) {
  const std::int64_t piece = k / 8 ^ row % 8;
  const std::int64_t word = row * kRowWords + piece * 4 + k % 8 / 2;
  const auto index = static_cast<std::size_t>(block.index * wgmma.words() + word);
  return number_in(block.in[index % block.in.size()], static_cast<std::uint32_t>(k % 2), dtype);
}

// The place of the accumulator in the output of the block. <mg/wgmma.cuh> says which thread has it.
std::size_t accumulator_place(const WgmmaShape& wgmma, std::int64_t row, std::int64_t column) {
  const std::int64_t warpgroup = row / kTileRows;
  const std::int64_t warp = row % kTileRows / 16;
  const std::int64_t lane = row % 8 * 4 + column % 8 / 2;
  const std::int64_t register_index = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
  const std::int64_t first = warpgroup * (wgmma.columns / 2);
  return static_cast<std::size_t>((first + register_index) * kWarpgroupThreads + warp * 32 + lane);
}

Status check_wgmma(const WgmmaShape& wgmma, DType dtype, const WgmmaBlock& block) {
  for (std::int64_t row = 0; row < wgmma.warpgroups * kTileRows; ++row) {
    for (std::int64_t column = 0; column < wgmma.columns; ++column) {
      ProductSum product;
      for (std::int64_t k = 0; k < kDepth; ++k) {
        product.add(wgmma_number(wgmma, dtype, block, row, k),
                    wgmma_number(wgmma, dtype, block, wgmma.warpgroups * kTileRows + column, k));
      }
      const float got = block.out[accumulator_place(wgmma, row, column)];
      MGTUNE_TRY(product.check(got, block.steps,
                               "block " + std::to_string(block.index) + ", row " +
                                   std::to_string(row) + ", column " + std::to_string(column)));
    }
  }
  return {};
}

}  // namespace

Result<ArithmeticKernel> wgmma_kernel(const DeviceInfo& device, DType dtype) {
  if (device.kind == DeviceKind::cpu || device.limits.compute_capability != 90) {
    return unsupported(device.name + " has no wgmma: only GPUs of compute capability 9.0 do");
  }
  ArithmeticKernel kernel{"wgmma.cu", "sm_90a", dtype, {}, {}};
  for (const WgmmaShape& wgmma : kWgmmaShapes) {
    ArithmeticShape& shape = kernel.shapes.emplace_back();
    shape.kernel = "wgmma_peak<" + std::string(cuda_name(dtype)) + ", " +
                   std::to_string(wgmma.columns) + ", " + std::to_string(wgmma.warpgroups) + ">";
    shape.threads = static_cast<std::uint32_t>(wgmma.warpgroups * kWarpgroupThreads);
    shape.blocks_per_sm = wgmma.blocks_per_sm;
    shape.shared_bytes = static_cast<std::uint32_t>(wgmma.words() * 4);
    shape.block_floats = wgmma.warpgroups * kTileRows * wgmma.columns;
    shape.block_flops = wgmma.warpgroups * 2 * kTileRows * wgmma.columns * kDepth;
  }
  kernel.check = [dtype](std::size_t i, const WgmmaBlock& block) {
    return check_wgmma(kWgmmaShapes[i], dtype, block);
  };
  return kernel;
}

}  // namespace mgtune
