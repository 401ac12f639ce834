#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "ceilings/arithmetic_ceiling.h"

namespace mgtune {
namespace {

constexpr std::int64_t kTurns = 8;         // of a step
constexpr std::size_t kThreadStride = 37;  // between the threads that are checked

struct FmaShape {
  std::int64_t pairs;
  std::uint32_t threads;
  std::int64_t blocks_per_sm;
};

// A scheduler issues one instruction per clock, and needs a few independent ones for that. More
// threads provide them as well as more pairs do.
constexpr std::array kFmaShapes = {FmaShape{4, 256, 4}, FmaShape{4, 1024, 1}, FmaShape{8, 256, 2},
                                   FmaShape{8, 256, 4}, FmaShape{8, 512, 2},  FmaShape{12, 256, 2},
                                   FmaShape{16, 128, 4}};

// What a thread of the kernel computes.
float turned(std::int64_t thread, std::int64_t pairs, const ArithmeticKernel::Block& block) {
  const auto word = [&](std::int64_t index) {
    return std::bit_cast<float>(block.in[static_cast<std::size_t>(index) % block.in.size()]);
  };
  const float c = word(thread);
  float sum = 0;
  for (std::int64_t i = 0; i < pairs; ++i) {
    float x = word(2 * (thread * pairs + i));
    float y = word(2 * (thread * pairs + i) + 1);
    for (std::int64_t turn = 0; turn < kTurns * block.steps; ++turn) {
      x = std::fma(-c, y, x);
      y = std::fma(c, x, y);
    }
    sum += x + y;
  }
  return sum;
}

// Compared to the bit, because each operation is rounded once on every device.
Status check_fma(const FmaShape& fma, const ArithmeticKernel::Block& block) {
  for (std::size_t t = 0; t < block.out.size(); t += kThreadStride) {
    const auto thread = block.index * fma.threads + static_cast<std::int64_t>(t);
    const float expected = turned(thread, fma.pairs, block);
    if (expected == block.out[t]) continue;
    return internal_error("thread " + std::to_string(thread) + " has " +
                          std::to_string(block.out[t]) + ", not " + std::to_string(expected));
  }
  return {};
}

}  // namespace

ArithmeticKernel fma_kernel(const DeviceInfo& device) {
  ArithmeticKernel kernel{"fma.cu", device.arch, DType::f32, {}, {}};
  for (const FmaShape& fma : kFmaShapes) {
    ArithmeticShape& shape = kernel.shapes.emplace_back();
    shape.kernel = "fma_peak<" + std::to_string(fma.pairs) + ">";
    shape.threads = fma.threads;
    shape.blocks_per_sm = fma.blocks_per_sm;
    shape.block_floats = fma.threads;
    shape.block_flops = fma.threads * kTurns * fma.pairs * 4;
  }
  kernel.check = [](std::size_t i, const ArithmeticKernel::Block& block) {
    return check_fma(kFmaShapes[i], block);
  };
  return kernel;
}

}  // namespace mgtune
