#include "ceilings/copy_ceiling.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/build_module.h"
#include "family/source_tree.h"
#include "timing/buffer_rotation.h"
#include "timing/statistics.h"

namespace mgtune {
namespace {

constexpr std::int64_t kVectorBytes = 16;

struct CopyShape {
  std::uint32_t threads;
  std::int64_t tile;
  bool streaming;
  std::int64_t blocks_per_sm;  // that stride over the tiles; 0: a block for each tile

  std::string kernel() const {
    return "copy<" + std::to_string(tile) + ", " + (streaming ? "true" : "false") + ">";
  }
};

// Small copies want all SMs busy at once, large ones many bytes in flight.
constexpr std::array kShapes = {
    CopyShape{256, 1, false, 0}, CopyShape{512, 1, false, 0},  CopyShape{1024, 1, false, 0},
    CopyShape{256, 2, false, 0}, CopyShape{256, 4, false, 0},  CopyShape{512, 4, false, 0},
    CopyShape{256, 4, true, 0},  CopyShape{512, 4, true, 0},   CopyShape{256, 8, false, 0},
    CopyShape{512, 4, false, 4}, CopyShape{1024, 4, false, 2}, CopyShape{256, 8, false, 8}};

constexpr char kFill[] = "fill_uniform<float>";

std::vector<std::string> copy_kernels() {
  std::vector<std::string> names;
  names.reserve(kShapes.size());
  for (const CopyShape& shape : kShapes) names.push_back(shape.kernel());
  return names;
}

struct CopySet {
  Buffer from, to;
};

class CopyBench {
 public:
  CopyBench(Device& device, std::int64_t bytes) : device_(device), bytes_(bytes) {}

  Status prepare(Builder& builder) {
    const SourceTree sources = embedded_source_tree("kernels/common");
    MGTUNE_ASSIGN(fills_, build_module(device_, builder, sources, "fill.cu", {kFill}));
    MGTUNE_ASSIGN(copies_, build_module(device_, builder, sources, "copy.cu", copy_kernels()));
    MGTUNE_ASSIGN(const BufferRotation rotation, plan_buffer_rotation(device_, 2 * bytes_));
    for (std::int64_t i = 0; i < rotation.sets; ++i) {
      CopySet& set = sets_.emplace_back();
      MGTUNE_ASSIGN(set.from, Buffer::allocate(device_, static_cast<std::size_t>(bytes_)));
      MGTUNE_ASSIGN(set.to, Buffer::allocate(device_, static_cast<std::size_t>(bytes_)));
      MGTUNE_TRY(fill(set.from, static_cast<std::uint64_t>(i)));
    }
    return device_.synchronize(nullptr);
  }

  // A time above `best_ns` may be of few samples.
  Result<double> median_ns(Timer& timer, const CopyShape& shape, double best_ns) {
    MGTUNE_ASSIGN(const Kernel* const kernel, copies_->kernel(shape.kernel()));
    TimingBudget budget;
    budget.stop_above_ns = best_ns;
    const auto work = [&](std::int64_t turn, Stream stream) {
      return copy(*kernel, shape, sets_[static_cast<std::size_t>(turn) % sets_.size()], stream);
    };
    MGTUNE_ASSIGN(const Timing timing, timer.time(work, budget));
    return summarise(timing.samples_ns).median;
  }

  // Whether the shape copies every byte and none beyond.
  Status check(const CopyShape& shape) {
    MGTUNE_ASSIGN(const Kernel* const kernel, copies_->kernel(shape.kernel()));
    const CopySet& set = sets_.front();
    const auto bytes = static_cast<std::size_t>(bytes_);
    MGTUNE_TRY(device_.fill_bytes(set.to.data(), 0xff, bytes, nullptr));
    MGTUNE_TRY(copy(*kernel, shape, set, nullptr));
    MGTUNE_TRY(device_.synchronize(nullptr));
    std::vector<unsigned char> from(bytes);
    std::vector<unsigned char> to(bytes);
    MGTUNE_TRY(device_.copy_to_host(from.data(), set.from.data(), bytes));
    MGTUNE_TRY(device_.copy_to_host(to.data(), set.to.data(), bytes));
    if (from == to) return {};
    return internal_error("the copy ceiling's kernel " + shape.kernel() + " does not copy");
  }

 private:
  Status fill(const Buffer& buffer, std::uint64_t seed) {
    MGTUNE_ASSIGN(const Kernel* const kernel, fills_->kernel(kFill));
    void* out = buffer.data();
    std::int64_t count = bytes_ / static_cast<std::int64_t>(sizeof(float));
    float low = -1;
    float high = 1;
    std::array<void*, 5> args = {&out, &count, &seed, &low, &high};
    KernelLaunch launch;
    launch.kernel = kernel;
    launch.grid = {1024, 1, 1};
    launch.block = {256, 1, 1};
    launch.args = args.data();
    return device_.launch(launch);
  }

  Status copy(const Kernel& kernel, const CopyShape& shape, const CopySet& set, Stream stream) {
    void* to = set.to.data();
    void* from = set.from.data();
    std::int64_t vectors = bytes_ / kVectorBytes;
    std::array<void*, 3> args = {&to, &from, &vectors};
    const std::int64_t tile = shape.tile * shape.threads;
    std::int64_t blocks = (vectors + tile - 1) / tile;
    if (shape.blocks_per_sm > 0) {
      blocks = std::min(
          blocks, std::max<std::int64_t>(1, shape.blocks_per_sm * device_.info().limits.sm_count));
    }
    KernelLaunch launch;
    launch.kernel = &kernel;
    launch.grid = {static_cast<std::uint32_t>(blocks), 1, 1};
    launch.block = {shape.threads, 1, 1};
    launch.args = args.data();
    launch.stream = stream;
    return device_.launch(launch);
  }

  Device& device_;
  std::int64_t bytes_;  // of one buffer
  std::unique_ptr<Module> fills_, copies_;
  std::vector<CopySet> sets_;
};

}  // namespace

Result<double> copy_ns(Device& device, Builder& builder, Timer& timer, std::int64_t bytes_moved) {
  const std::int64_t vectors = (bytes_moved + kVectorBytes) / (2 * kVectorBytes);
  CopyBench bench(device, std::max<std::int64_t>(1, vectors) * kVectorBytes);
  MGTUNE_TRY(bench.prepare(builder).with_context("the copy ceiling"));
  double best_ns = 0;
  const CopyShape* best = nullptr;
  for (const CopyShape& shape : kShapes) {
    MGTUNE_ASSIGN(const double median_ns, bench.median_ns(timer, shape, best_ns));
    if (best != nullptr && median_ns >= best_ns) continue;
    best = &shape;
    best_ns = median_ns;
  }
  MGTUNE_TRY(bench.check(*best));
  return best_ns;
}

}  // namespace mgtune
