#include <array>
#include <utility>

#include "ceilings/arithmetic_ceiling.h"
#include "ceilings/product_check.h"

namespace mgtune {
namespace {

constexpr std::int64_t kOperandSets = 2, kRows = 16, kColumns = 8, kLanes = 32;

struct MmaShape {
  std::int64_t rows, columns;  // of tiles
  std::uint32_t threads;
  std::int64_t blocks_per_sm;
};

constexpr std::array kMmaShapes = {
    MmaShape{2, 4, 128, 2}, MmaShape{2, 4, 128, 4}, MmaShape{2, 4, 256, 3}, MmaShape{2, 8, 128, 2},
    MmaShape{2, 8, 128, 4}, MmaShape{4, 4, 128, 2}, MmaShape{4, 4, 128, 4}, MmaShape{4, 4, 256, 1}};

using MmaBlock = ArithmeticKernel::Block;

// The products of one kernel.
class MmaProducts {
 public:
  MmaProducts(DType dtype, std::int64_t depth) : dtype_(dtype), depth_(depth) {}

  ArithmeticShape shape(const MmaShape& mma) const {
    const std::int64_t warps = mma.threads / kLanes;
    const std::int64_t tiles = mma.rows * mma.columns;
    ArithmeticShape shape;
    shape.kernel = "mma_peak<" + std::string(cuda_name(dtype_)) + ", " + std::to_string(depth_) +
                   ", " + std::to_string(mma.rows) + ", " + std::to_string(mma.columns) + ">";
    shape.threads = mma.threads;
    shape.blocks_per_sm = mma.blocks_per_sm;
    shape.block_floats = warps * tiles * kRows * kColumns;
    shape.block_flops = warps * tiles * kOperandSets * 2 * kRows * kColumns * depth_;
    return shape;
  }

  Status check(const MmaShape& mma, const MmaBlock& block) const {
    const std::int64_t warps = mma.threads / kLanes;
    for (std::int64_t warp = 0; warp < warps; ++warp) {
      for (std::int64_t tile = 0; tile < mma.rows * mma.columns; ++tile) {
        MGTUNE_TRY(check_tile(mma, block, block.index * warps + warp, warp, tile));
      }
    }
    return {};
  }

 private:
  // Tile (r, c) of a warp: `warp` of the grid, `of_block` of the block.
  Status check_tile(const MmaShape& mma, const MmaBlock& block, std::int64_t warp,
                    std::int64_t of_block, std::int64_t tile) const {
    const std::int64_t r = tile / mma.columns;
    const std::int64_t c = tile % mma.columns;
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      for (std::int64_t i = 0; i < 4; ++i) {
        const std::int64_t row = lane / 4 + 8 * (i / 2);
        const std::int64_t column = 2 * (lane % 4) + i % 2;
        ProductSum product;
        for (std::int64_t s = 0; s < kOperandSets; ++s) {
          for (std::int64_t k = 0; k < depth_; ++k) {
            product.add(number_of_a(mma, block, warp, s, r, row, k),
                        number_of_b(mma, block, warp, s, c, column, k));
          }
        }
        const std::int64_t word = (of_block * mma.rows * mma.columns + tile) * 4 + i;
        const float got = block.out[static_cast<std::size_t>(word * kLanes + lane)];
        MGTUNE_TRY(product.check(got, block.steps,
                                 "warp " + std::to_string(warp) + ", tile " + std::to_string(tile) +
                                     ", row " + std::to_string(row) + ", column " +
                                     std::to_string(column)));
      }
    }
    return {};
  }

  // <mg/mma.cuh> says which word of which lane holds an element, mma.cu where the words come from.
  double number_of_a(const MmaShape& mma, const MmaBlock& block, std::int64_t warp,
                     std::int64_t set, std::int64_t r, std::int64_t row, std::int64_t k) const {
    const std::int64_t lane = row % 8 * 4 + k % 8 / 2;
    const std::int64_t word = r * words_of_a() + k / 8 * 2 + row / 8;
    return number(mma, block, warp, set * words_of_set(mma) + word, lane, k);
  }

  double number_of_b(const MmaShape& mma, const MmaBlock& block, std::int64_t warp,
                     std::int64_t set, std::int64_t c, std::int64_t column, std::int64_t k) const {
    const std::int64_t lane = column * 4 + k % 8 / 2;
    const std::int64_t word = mma.rows * words_of_a() + c * words_of_b() + k / 8;
    return number(mma, block, warp, set * words_of_set(mma) + word, lane, k);
  }

  double number(const MmaShape& mma, const MmaBlock& block, std::int64_t warp, std::int64_t word,
                std::int64_t lane, std::int64_t k) const {
    const std::int64_t index = (warp * kOperandSets * words_of_set(mma) + word) * kLanes + lane;
    return number_in(block.in[static_cast<std::size_t>(index) % block.in.size()],
                     static_cast<std::uint32_t>(k % 2), dtype_);
  }

  std::int64_t words_of_a() const { return depth_ / 4; }
  std::int64_t words_of_b() const { return depth_ / 8; }
  std::int64_t words_of_set(const MmaShape& mma) const {
    return mma.rows * words_of_a() + mma.columns * words_of_b();
  }

  DType dtype_;
  std::int64_t depth_;  // elements of k in one product
};

}  // namespace

Result<ArithmeticKernel> mma_kernel(const DeviceInfo& device, DType dtype) {
  const std::int64_t capability = device.limits.compute_capability;
  if (capability < 75 || (capability < 80 && dtype == DType::bf16)) {
    return unsupported(device.name + " has no tensor-core products of " +
                       std::string(to_string(dtype)) + ": they came with compute capability " +
                       (dtype == DType::bf16 ? "8.0" : "7.5"));
  }
  const MmaProducts products(dtype, capability < 80 ? 8 : 16);
  ArithmeticKernel kernel{"mma.cu", device.arch, dtype, {}, {}};
  for (const MmaShape& mma : kMmaShapes) kernel.shapes.push_back(products.shape(mma));
  kernel.check = [products](std::size_t i, const MmaBlock& block) {
    return products.check(kMmaShapes[i], block);
  };
  return kernel;
}

}  // namespace mgtune
