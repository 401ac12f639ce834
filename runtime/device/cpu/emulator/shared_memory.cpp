#include "shared_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define MGTUNE_POISON(address, bytes) __asan_poison_memory_region(address, bytes)
#define MGTUNE_UNPOISON(address, bytes) __asan_unpoison_memory_region(address, bytes)
#else
#define MGTUNE_POISON(address, bytes) static_cast<void>(0)
#define MGTUNE_UNPOISON(address, bytes) static_cast<void>(0)
#endif

namespace mgtune {
namespace {

constexpr std::size_t kGap = 64;
constexpr std::size_t kAlignment = 1024;  // what <mg/shared.cuh> promises
constexpr int kUnwrittenByte = 0xff;

}  // namespace

std::size_t SharedLayout::add(Array array, std::size_t alignment) {
  alignment = std::max<std::size_t>(alignment, 16);
  array.offset = (end_ + alignment - 1) / alignment * alignment;
  end_ = array.offset + array.bytes + kGap;
  array_bytes_ += array.bytes;
  arrays_.push_back(std::move(array));
  return arrays_.back().offset;
}

void SharedMemory::Free::operator()(unsigned char* memory) const { std::free(memory); }

SharedMemory::Memory SharedMemory::allocate(std::size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, std::max<std::size_t>(bytes, 1)) != 0) memory = nullptr;
  return Memory(static_cast<unsigned char*>(memory));
}

Status SharedMemory::reset(const SharedLayout& layout, std::size_t dynamic_bytes) {
  if (arena_ == nullptr || arena_bytes_ != layout.bytes()) {
    if (arena_ != nullptr) MGTUNE_UNPOISON(arena_.get(), arena_bytes_);
    arena_ = allocate(layout.bytes());
    arena_bytes_ = layout.bytes();
  }
  if (dynamic_ == nullptr || dynamic_bytes_ != dynamic_bytes) {
    dynamic_ = allocate(dynamic_bytes + kAllocatedGap);
    dynamic_bytes_ = dynamic_bytes;
  }
  if (arena_ == nullptr || dynamic_ == nullptr) {
    arena_.reset();
    return Status(StatusCode::launch_failed, "no memory for the shared memory of a block");
  }
  MGTUNE_POISON(arena_.get(), arena_bytes_);
  for (const SharedLayout::Array& array : layout.arrays()) {
    MGTUNE_UNPOISON(arena_.get() + array.offset, array.bytes);
    std::memset(arena_.get() + array.offset, kUnwrittenByte, array.bytes);
  }
  std::memset(dynamic_.get(), kUnwrittenByte, dynamic_bytes_);
  return Status();
}

}  // namespace mgtune
