#include "ceilings/read_ceiling.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ceilings/memory_shape.h"
#include "ceilings/random_memory.h"
#include "ceilings/shape_race.h"
#include "device/build_module.h"
#include "family/source_tree.h"
#include "timing/buffer_rotation.h"
#include "timing/gpu_timer.h"

namespace mgtune {
namespace {

constexpr std::array kReadShapes = {
    MemoryShape{256, 1, 0}, MemoryShape{1024, 1, 0}, MemoryShape{256, 2, 0}, MemoryShape{256, 4, 0},
    MemoryShape{512, 4, 0}, MemoryShape{256, 8, 0},  MemoryShape{512, 8, 0}, MemoryShape{512, 4, 4},
    MemoryShape{256, 8, 8}, MemoryShape{512, 8, 4}};

std::string kernel_of(const MemoryShape& shape) {
  return "read<" + std::to_string(shape.tile) + ">";
}

std::vector<std::string> read_kernels() {
  std::vector<std::string> names;
  names.reserve(kReadShapes.size());
  for (const MemoryShape& shape : kReadShapes) names.push_back(kernel_of(shape));
  return names;
}

std::uint32_t sum_of(const std::vector<std::uint32_t>& words) {
  return std::accumulate(words.begin(), words.end(), std::uint32_t{0});
}

class ReadBench {
 public:
  ReadBench(Device& device, std::int64_t vectors) : device_(device), vectors_(vectors) {}

  Status prepare(Builder& builder, const Timer& timer) {
    const SourceTree sources = embedded_source_tree("kernels/common");
    MGTUNE_ASSIGN(RandomMemory memory, RandomMemory::make(device_, builder, DType::f32));
    MGTUNE_ASSIGN(reads_, build_module(device_, builder, sources, "read.cu", read_kernels()));
    std::int64_t most_warps = 0;
    for (const MemoryShape& shape : kReadShapes) most_warps = std::max(most_warps, warps(shape));
    MGTUNE_ASSIGN(sums_, Buffer::allocate(device_, word_bytes(most_warps)));
    const std::int64_t bytes = vectors_ * kVectorBytes;
    BufferRotation rotation;
    if (turns_through_sets(timer.method())) {
      MGTUNE_ASSIGN(rotation, plan_buffer_rotation(device_, bytes));
    }
    for (std::int64_t i = 0; i < rotation.sets; ++i) {
      MGTUNE_ASSIGN(Buffer set, memory.allocate(bytes, static_cast<std::uint64_t>(i)));
      sets_.push_back(std::move(set));
    }
    return device_.synchronize(nullptr);
  }

  Result<ShapeCost> median_ns(Timer& timer, const MemoryShape& shape, double best_ns) {
    MGTUNE_ASSIGN(const Kernel* const kernel, reads_->kernel(kernel_of(shape)));
    const auto work = [&](std::int64_t turn, Stream stream) {
      return read(*kernel, shape, sets_[static_cast<std::size_t>(turn) % sets_.size()], stream);
    };
    return time_shape(timer, work, best_ns, sets_.size());
  }

  // Whether every word went into the sums once.
  Status check(const MemoryShape& shape) {
    MGTUNE_ASSIGN(const Kernel* const kernel, reads_->kernel(kernel_of(shape)));
    std::vector<std::uint32_t> sums(static_cast<std::size_t>(warps(shape)));
    MGTUNE_TRY(device_.fill_bytes(sums_.data(), 0xff, word_bytes(warps(shape)), nullptr));
    MGTUNE_TRY(read(*kernel, shape, sets_.front(), nullptr));
    MGTUNE_TRY(device_.synchronize(nullptr));
    std::vector<std::uint32_t> words(sets_.front().bytes() / sizeof(std::uint32_t));
    MGTUNE_TRY(device_.copy_to_host(words.data(), sets_.front().data(), sets_.front().bytes()));
    MGTUNE_TRY(device_.copy_to_host(sums.data(), sums_.data(), word_bytes(warps(shape))));
    if (sum_of(words) == sum_of(sums)) return {};
    return internal_error("the read ceiling's kernel " + kernel_of(shape) + " does not read all");
  }

 private:
  static std::size_t word_bytes(std::int64_t words) {
    return static_cast<std::size_t>(words) * sizeof(std::uint32_t);
  }

  std::uint32_t blocks(const MemoryShape& shape) const {
    return shape.blocks(vectors_, device_.info().limits.sm_count);
  }

  std::int64_t warps(const MemoryShape& shape) const {
    return std::int64_t{blocks(shape)} * (shape.threads / 32);
  }

  Status read(const Kernel& kernel, const MemoryShape& shape, const Buffer& set, Stream stream) {
    void* sums = sums_.data();
    void* from = set.data();
    std::array<void*, 3> args = {&sums, &from, &vectors_};
    KernelLaunch launch;
    launch.kernel = &kernel;
    launch.grid = {blocks(shape), 1, 1};
    launch.block = {shape.threads, 1, 1};
    launch.args = args.data();
    launch.stream = stream;
    return device_.launch(launch);
  }

  Device& device_;
  std::int64_t vectors_;
  std::unique_ptr<Module> reads_;
  Buffer sums_;  // a word a warp
  std::vector<Buffer> sets_;
};

}  // namespace

Result<MeasuredCeiling> measure_read(Device& device, Builder& builder, Timer& timer,
                                     std::int64_t bytes) {
  ReadBench bench(device, vectors_in(bytes));
  MGTUNE_TRY(bench.prepare(builder, timer).with_context("the read ceiling"));
  MGTUNE_ASSIGN(const auto race, race_shapes(std::span<const MemoryShape>(kReadShapes),
                                             [&](const MemoryShape& shape, double best_ns) {
                                               return bench.median_ns(timer, shape, best_ns);
                                             }));
  MGTUNE_TRY(bench.check(*race.winner));
  return MeasuredCeiling{static_cast<double>(bytes) / race.cost.cost * 1e9, race.cost.clocks};
}

}  // namespace mgtune
