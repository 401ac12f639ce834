#include "ceilings/copy_ceiling.h"

#include <array>
#include <memory>
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

struct CopyShape : MemoryShape {
  bool streaming = false;

  std::string kernel() const {
    return "copy<" + std::to_string(tile) + ", " + (streaming ? "true" : "false") + ">";
  }
};

// Small copies need all SMs to start at the same time; large copies need many bytes in flight.
constexpr std::array kCopyShapes = {
    CopyShape{{256, 1, 0}, false}, CopyShape{{512, 1, 0}, false},  CopyShape{{1024, 1, 0}, false},
    CopyShape{{256, 2, 0}, false}, CopyShape{{256, 4, 0}, false},  CopyShape{{512, 4, 0}, false},
    CopyShape{{256, 4, 0}, true},  CopyShape{{512, 4, 0}, true},   CopyShape{{256, 8, 0}, false},
    CopyShape{{512, 4, 4}, false}, CopyShape{{1024, 4, 2}, false}, CopyShape{{256, 8, 8}, false}};

std::vector<std::string> copy_kernels() {
  std::vector<std::string> names;
  names.reserve(kCopyShapes.size());
  for (const CopyShape& shape : kCopyShapes) names.push_back(shape.kernel());
  return names;
}

struct CopySet {
  Buffer from, to;
};

class CopyBench {
 public:
  CopyBench(Device& device, std::int64_t bytes) : device_(device), bytes_(bytes) {}

  Status prepare(Builder& builder, const Timer& timer) {
    const SourceTree sources = embedded_source_tree("kernels/common");
    MGTUNE_ASSIGN(RandomMemory memory, RandomMemory::make(device_, builder, DType::f32));
    MGTUNE_ASSIGN(copies_, build_module(device_, builder, sources, "copy.cu", copy_kernels()));
    BufferRotation rotation;
    if (turns_through_sets(timer.method())) {
      MGTUNE_ASSIGN(rotation, plan_buffer_rotation(device_, 2 * bytes_));
    }
    for (std::int64_t i = 0; i < rotation.sets; ++i) {
      CopySet& set = sets_.emplace_back();
      MGTUNE_ASSIGN(set.from, memory.allocate(bytes_, static_cast<std::uint64_t>(i)));
      MGTUNE_ASSIGN(set.to, Buffer::allocate(device_, static_cast<std::size_t>(bytes_)));
    }
    return device_.synchronize(nullptr);
  }

  Result<ShapeCost> median_ns(Timer& timer, const CopyShape& shape, double best_ns) {
    MGTUNE_ASSIGN(const Kernel* const kernel, copies_->kernel(shape.kernel()));
    const auto work = [&](std::int64_t turn, Stream stream) {
      return copy(*kernel, shape, sets_[static_cast<std::size_t>(turn) % sets_.size()], stream);
    };
    return time_shape(timer, work, best_ns, sets_.size());
  }

  // Whether the shape copies every byte, and none beyond the end.
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
  Status copy(const Kernel& kernel, const CopyShape& shape, const CopySet& set, Stream stream) {
    void* to = set.to.data();
    void* from = set.from.data();
    std::int64_t vectors = bytes_ / kVectorBytes;
    std::array<void*, 3> args = {&to, &from, &vectors};
    KernelLaunch launch;
    launch.kernel = &kernel;
    launch.grid = {shape.blocks(vectors, device_.info().limits.sm_count), 1, 1};
    launch.block = {shape.threads, 1, 1};
    launch.args = args.data();
    launch.stream = stream;
    return device_.launch(launch);
  }

  Device& device_;
  std::int64_t bytes_;  // of one buffer
  std::unique_ptr<Module> copies_;
  std::vector<CopySet> sets_;
};

}  // namespace

Result<MeasuredCeiling> measure_copy(Device& device, Builder& builder, Timer& timer,
                                     std::int64_t bytes_moved) {
  CopyBench bench(device, vectors_in(bytes_moved / 2) * kVectorBytes);
  MGTUNE_TRY(bench.prepare(builder, timer).with_context("the copy ceiling"));
  MGTUNE_ASSIGN(const auto race, race_shapes(std::span<const CopyShape>(kCopyShapes),
                                             [&](const CopyShape& shape, double best_ns) {
                                               return bench.median_ns(timer, shape, best_ns);
                                             }));
  MGTUNE_TRY(bench.check(*race.winner));
  return MeasuredCeiling{static_cast<double>(bytes_moved) / race.cost.cost * 1e9, race.cost.clocks};
}

}  // namespace mgtune
