#include "device_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace mgtune {
namespace {

constexpr int kUnwritten = 0xff;

Status no_memory(std::size_t bytes, int error) {
  return environment_error(
      fmt::format("no memory for a buffer of {} bytes: {}", bytes, std::strerror(error)));
}

// Linux gives out addresses for more memory than the machine has, and kills processes when they use
// it. So larger buffers are refused.
std::size_t memory_of_machine() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  for (const Allocation& allocation : allocations_) unmap(allocation);
}

#if defined(__SANITIZE_ADDRESS__)

Result<DeviceMemory::Allocation> DeviceMemory::map(std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;  // as cudaMalloc's
  void* memory = nullptr;
  const int error = posix_memalign(&memory, kAlignment, bytes);
  if (error != 0) return no_memory(bytes, error);
  auto* const begin = static_cast<std::byte*>(memory);
  return Allocation{begin, bytes, begin, bytes};
}

void DeviceMemory::unmap(const Allocation& allocation) { std::free(allocation.mapping); }

#else

Result<DeviceMemory::Allocation> DeviceMemory::map(std::size_t bytes) {
  constexpr std::size_t kUnit = 16;  // the alignment that the widest access wants
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t used = (bytes + kUnit - 1) / kUnit * kUnit;
  const std::size_t open = (used + page - 1) / page * page;
  void* mapping =
      mmap(nullptr, open + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return no_memory(bytes, errno);
  auto* const first = static_cast<std::byte*>(mapping);
  if (open > 0 && mprotect(first + page, open, PROT_READ | PROT_WRITE) != 0) {
    const int error = errno;
    munmap(mapping, open + 2 * page);
    return no_memory(bytes, error);
  }
  return Allocation{first + page + open - used, bytes, first, open + 2 * page};
}

void DeviceMemory::unmap(const Allocation& allocation) {
  munmap(allocation.mapping, allocation.mapping_bytes);
}

#endif

Result<void*> DeviceMemory::allocate(std::size_t bytes) {
  if (bytes > memory_of_machine()) return no_memory(bytes, ENOMEM);
  MGTUNE_ASSIGN(const Allocation allocation, map(bytes));
  std::memset(allocation.begin, kUnwritten, bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  allocations_.push_back(allocation);
  return static_cast<void*>(allocation.begin);
}

void DeviceMemory::free(void* memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::ranges::find(allocations_, memory, &Allocation::begin);
  if (found == allocations_.end()) return;
  unmap(*found);
  allocations_.erase(found);
}

DeviceMemory::Allocation* DeviceMemory::around(const void* memory) {
  const auto* const byte = static_cast<const std::byte*>(memory);
  const auto found = std::ranges::find_if(allocations_, [byte](const Allocation& allocation) {
    return byte >= allocation.begin && byte <= allocation.begin + allocation.bytes;
  });
  return found == allocations_.end() ? nullptr : &*found;
}

void DeviceMemory::label(const void* memory, std::size_t bytes, const MemoryLabel& label) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Allocation* const allocation = around(memory);
  if (allocation == nullptr) return;
  allocation->labelled =
      allocation->begin + (static_cast<const std::byte*>(memory) - allocation->begin);
  allocation->labelled_bytes = bytes;
  allocation->label = label;
  allocation->unwritten.clear();
}

void DeviceMemory::mark_unwritten(const void* memory, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Allocation* const allocation = around(memory);
  if (allocation == nullptr || allocation->label.name.empty()) return;
  allocation->unwritten.resize(allocation->labelled_bytes, 0);
  const auto first = static_cast<const std::byte*>(memory) - allocation->labelled;
  std::fill_n(allocation->unwritten.begin() + first, bytes, static_cast<unsigned char>(1));
}

void DeviceMemory::mark_written(const void* memory, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Allocation* const allocation = around(memory);
  if (allocation == nullptr || allocation->unwritten.empty()) return;
  const auto first = static_cast<const std::byte*>(memory) - allocation->labelled;
  const auto size = static_cast<std::ptrdiff_t>(allocation->unwritten.size());
  const std::ptrdiff_t begin = std::clamp<std::ptrdiff_t>(first, 0, size);
  const std::ptrdiff_t end =
      std::clamp<std::ptrdiff_t>(first + static_cast<std::ptrdiff_t>(bytes), 0, size);
  std::fill(allocation->unwritten.begin() + begin, allocation->unwritten.begin() + end,
            static_cast<unsigned char>(0));
}

std::vector<WatchedBuffer> DeviceMemory::watched() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<WatchedBuffer> buffers;
  for (const Allocation& allocation : allocations_) {
    WatchedBuffer& buffer = buffers.emplace_back();
    buffer.mapping = reinterpret_cast<const unsigned char*>(allocation.mapping);
    buffer.mapping_bytes = allocation.mapping_bytes;
    buffer.begin = reinterpret_cast<const unsigned char*>(allocation.labelled);
    buffer.bytes = allocation.labelled_bytes;
    buffer.name = allocation.label.name.empty() ? "a buffer" : allocation.label.name.c_str();
    buffer.element_bytes = allocation.label.element_bytes;
    const auto first = std::ranges::find(allocation.unwritten, 1);
    if (first == allocation.unwritten.end()) continue;
    buffer.unwritten = const_cast<unsigned char*>(allocation.unwritten.data());
    buffer.unwritten_value = buffer.begin[first - allocation.unwritten.begin()];
  }
  return buffers;
}

void DeviceMemory::describe(const void* address, SignalText& text) const {
  const auto* const byte = static_cast<const std::byte*>(address);
  for (const Allocation& allocation : allocations_) {
    if (byte < allocation.mapping || byte >= allocation.mapping + allocation.mapping_bytes)
      continue;
    const MemoryLabel& label = allocation.label;
    if (label.name.empty()) {
      text.add("byte {} of a buffer of {} bytes", byte - allocation.begin, allocation.bytes);
      return;
    }
    const auto size = static_cast<std::ptrdiff_t>(label.element_bytes);
    const std::ptrdiff_t offset = byte - allocation.labelled;
    const char* const unit = size == 1 ? "byte" : "element";
    text.add("{} {} of {}, which has {} {}s", unit,
             offset >= 0 ? offset / size : -((size - 1 - offset) / size), label.name.c_str(),
             allocation.labelled_bytes / label.element_bytes, unit);
    return;
  }
  text.add("address {}, which is in no buffer", address);
}

}  // namespace mgtune
