// The ceilings `copy` and `read`.

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ceilings/ceiling.h"
#include "ceilings/random_memory.h"
#include "ceilings/shape_race.h"
#include "device/build_module.h"
#include "family/source_tree.h"
#include "timing/buffer_rotation.h"
#include "timing/gpu_timer.h"

namespace mgtune {
namespace {

constexpr std::int64_t kAccessBytes = 16;

// The measured time per shape. A dozen shapes take part, so a ceiling takes a tenth of a second.
constexpr double kMaxSeconds = 0.02;

// The launch of `fingerprint` in compare.cu, whose blocks have so many threads.
constexpr std::uint32_t kHashBlocks = 512, kHashThreads = 256;

// copy.cu and read.cu move memory in tiles of accesses, with one block per tile, or with blocks
// that stride over the tiles.
struct MemoryShape {
  std::uint32_t threads;
  std::int64_t tile;               // accesses per thread
  std::int64_t blocks_per_sm = 0;  // blocks that stride over the tiles; 0: one block per tile
  bool streaming = false;          // for copies
};

// Small copies need all SMs to start at the same time; large copies need many bytes in flight.
constexpr std::array kCopyShapes = {
    MemoryShape{256, 1},          MemoryShape{512, 1},          MemoryShape{1024, 1},
    MemoryShape{256, 2},          MemoryShape{256, 4},          MemoryShape{512, 4},
    MemoryShape{256, 4, 0, true}, MemoryShape{512, 4, 0, true}, MemoryShape{256, 8},
    MemoryShape{512, 4, 4},       MemoryShape{1024, 4, 2},      MemoryShape{256, 8, 8}};

constexpr std::array kReadShapes = {
    MemoryShape{256, 1},    MemoryShape{1024, 1},  MemoryShape{256, 2}, MemoryShape{256, 4},
    MemoryShape{512, 4},    MemoryShape{256, 8},   MemoryShape{512, 8}, MemoryShape{512, 4, 4},
    MemoryShape{256, 8, 8}, MemoryShape{512, 8, 4}};

std::size_t word_bytes(std::int64_t words) {
  return static_cast<std::size_t>(words) * sizeof(std::uint32_t);
}

std::uint32_t sum_of(const std::vector<std::uint32_t>& words) {
  return std::accumulate(words.begin(), words.end(), std::uint32_t{0});
}

class MemoryBench {
 public:
  MemoryBench(Device& device, Timer& timer, bool is_copy, std::int64_t bytes)
      : device_(device), timer_(timer), is_copy_(is_copy), bytes_(bytes) {
    const std::int64_t read_bytes = is_copy_ ? bytes / 2 : bytes;
    accesses_ = std::max<std::int64_t>(1, (read_bytes + kAccessBytes / 2) / kAccessBytes);
  }

  std::span<const MemoryShape> shapes() const {
    return is_copy_ ? std::span<const MemoryShape>(kCopyShapes) : kReadShapes;
  }

  Status prepare(Builder& builder) {
    std::vector<std::string> names;
    std::int64_t max_warps = 0;
    for (const MemoryShape& shape : shapes()) {
      names.push_back(kernel_name(shape));
      max_warps = std::max(max_warps, warps(shape));
    }
    MGTUNE_ASSIGN(module_, build_module(device_, builder, embedded_source_tree("kernels/common"),
                                        is_copy_ ? "copy.cu" : "read.cu", std::move(names)));
    if (is_copy_) {
      MGTUNE_ASSIGN(compare_, build_module(device_, builder, embedded_source_tree("kernels/common"),
                                           "compare.cu", {"fingerprint"}));
    }
    MGTUNE_ASSIGN(RandomMemory memory, RandomMemory::make(device_, builder, DType::f32));
    const std::int64_t bytes = accesses_ * kAccessBytes;
    BufferRotation rotation;
    if (turns_through_sets(timer_.method())) {
      MGTUNE_ASSIGN(rotation, plan_buffer_rotation(device_, is_copy_ ? 2 * bytes : bytes));
    }
    if (!is_copy_) {
      MGTUNE_ASSIGN(sums_, Buffer::allocate(device_, word_bytes(max_warps)));
    }
    for (std::int64_t i = 0; i < rotation.sets; ++i) {
      BufferSet& set = sets_.emplace_back();
      MGTUNE_ASSIGN(set.from, memory.allocate(bytes, static_cast<std::uint64_t>(i)));
      if (!is_copy_) continue;
      MGTUNE_ASSIGN(set.to, Buffer::allocate(device_, static_cast<std::size_t>(bytes)));
    }
    return device_.synchronize(nullptr);
  }

  // Nanoseconds per byte.
  Result<ShapeCost> cost(const MemoryShape& shape, double best) {
    MGTUNE_ASSIGN(const Kernel* const kernel, module_->kernel(kernel_name(shape)));
    const auto work = [&](std::int64_t turn, Stream stream) {
      const BufferSet& set = sets_[static_cast<std::size_t>(turn) % sets_.size()];
      return launch(*kernel, shape, set, stream);
    };
    TimingBudget budget;
    budget.buffer_sets = static_cast<std::int64_t>(sets_.size());
    budget.max_seconds = kMaxSeconds;
    return measure_cost(timer_, work, budget, static_cast<double>(bytes_), best);
  }

  // Whether a copy copies every byte, and whether a read adds every word to its sums once.
  Status check(const MemoryShape& shape) {
    MGTUNE_ASSIGN(const Kernel* const kernel, module_->kernel(kernel_name(shape)));
    const BufferSet& set = sets_.front();
    const std::size_t bytes = is_copy_ ? set.to.bytes() : word_bytes(warps(shape));
    MGTUNE_TRY(device_.fill_bytes(output(set), 0xff, bytes, nullptr));
    MGTUNE_TRY(launch(*kernel, shape, set, nullptr));
    MGTUNE_TRY(device_.synchronize(nullptr));
    if (is_copy_) {
      MGTUNE_ASSIGN(const std::uint64_t from, fingerprint(set.from));
      MGTUNE_ASSIGN(const std::uint64_t to, fingerprint(set.to));
      return from == to ? Status() : not_done(shape, "does not copy");
    }
    std::vector<std::uint32_t> in(set.from.bytes() / sizeof(std::uint32_t));
    std::vector<std::uint32_t> out(bytes / sizeof(std::uint32_t));
    MGTUNE_TRY(device_.copy_to_host(in.data(), set.from.data(), set.from.bytes()));
    MGTUNE_TRY(device_.copy_to_host(out.data(), output(set), bytes));
    return sum_of(in) == sum_of(out) ? Status() : not_done(shape, "does not read all");
  }

 private:
  struct BufferSet {
    Buffer from;
    Buffer to;  // of copies
  };

  std::string kernel_name(const MemoryShape& shape) const {
    const std::string tile = std::to_string(shape.tile);
    if (!is_copy_) return "read<" + tile + ">";
    return "copy<" + tile + ", " + (shape.streaming ? "true" : "false") + ">";
  }

  Status not_done(const MemoryShape& shape, const std::string& what) const {
    return internal_error("the ceiling's kernel " + kernel_name(shape) + " " + what);
  }

  // A number that tells contents apart, from the device: bringing a copy of 1 GiB to the host takes
  // longer than to time it.
  Result<std::uint64_t> fingerprint(const Buffer& buffer) {
    std::vector<std::uint64_t> parts(kHashBlocks);
    const std::size_t bytes = parts.size() * sizeof(std::uint64_t);
    MGTUNE_ASSIGN(const Buffer sums, Buffer::allocate(device_, bytes));
    MGTUNE_ASSIGN(const Kernel* const kernel, compare_->kernel("fingerprint"));
    void* out = sums.data();
    void* memory = buffer.data();
    auto words = static_cast<std::int64_t>(buffer.bytes() / sizeof(std::uint64_t));
    std::int64_t tail = 0;
    std::array<void*, 4> args = {&out, &memory, &words, &tail};
    MGTUNE_TRY(device_.launch({.kernel = kernel,
                               .grid = {kHashBlocks, 1, 1},
                               .block = {kHashThreads, 1, 1},
                               .args = args.data()}));
    MGTUNE_TRY(device_.synchronize(nullptr));
    MGTUNE_TRY(device_.copy_to_host(parts.data(), out, bytes));
    return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0});
  }

  std::uint32_t blocks(const MemoryShape& shape) const {
    const std::int64_t in_tile = shape.tile * shape.threads;
    std::int64_t blocks = (accesses_ + in_tile - 1) / in_tile;
    if (shape.blocks_per_sm > 0) {
      const std::int64_t strided = shape.blocks_per_sm * device_.info().limits.sm_count;
      blocks = std::min(blocks, std::max<std::int64_t>(1, strided));
    }
    return static_cast<std::uint32_t>(blocks);
  }

  std::int64_t warps(const MemoryShape& shape) const {
    return std::int64_t{blocks(shape)} * (shape.threads / 32);
  }

  void* output(const BufferSet& set) const { return is_copy_ ? set.to.data() : sums_.data(); }

  Status launch(const Kernel& kernel, const MemoryShape& shape, const BufferSet& set,
                Stream stream) {
    void* to = output(set);
    void* from = set.from.data();
    std::array<void*, 3> args = {&to, &from, &accesses_};
    return device_.launch({.kernel = &kernel,
                           .grid = {blocks(shape), 1, 1},
                           .block = {shape.threads, 1, 1},
                           .args = args.data(),
                           .stream = stream});
  }

  Device& device_;
  Timer& timer_;
  bool is_copy_;
  std::int64_t bytes_;     // the bytes that the rate counts
  std::int64_t accesses_;  // to the memory that is read
  std::unique_ptr<Module> module_;
  std::unique_ptr<Module> compare_;  // for copies
  Buffer sums_;                      // of reads: a word per warp
  std::vector<BufferSet> sets_;
};

}  // namespace

Result<CeilingRecord> measure_memory(Device& device, Builder& builder, Timer& timer, bool is_copy,
                                     std::int64_t bytes) {
  MemoryBench bench(device, timer, is_copy, bytes);
  MGTUNE_TRY(
      bench.prepare(builder).with_context(is_copy ? "the copy ceiling" : "the read ceiling"));
  return fastest_shape(bench, bench.shapes());
}

}  // namespace mgtune
