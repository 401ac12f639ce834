#include "access_checker.h"

#include <algorithm>
#include <cstdint>

namespace mgtune {
namespace {

constexpr unsigned char kUnwrittenShared = 0xff;  // SharedMemory::reset() fills it with this

std::size_t distance(const unsigned char* from, const void* to) {
  return static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(to) -
                                  reinterpret_cast<std::uintptr_t>(from));
}

const WatchedBuffer* find(std::span<const WatchedBuffer> buffers, const void* address) {
  for (const WatchedBuffer& buffer : buffers) {
    if (distance(buffer.mapping, address) < buffer.mapping_bytes) return &buffer;
  }
  return nullptr;
}

bool is_all_unwritten(const WatchedBuffer& buffer, std::size_t offset, std::size_t bytes) {
  for (std::size_t i = offset; i < offset + bytes; ++i) {
    if (buffer.unwritten[i] == 0 || buffer.begin[i] != buffer.unwritten_value) return false;
  }
  return true;
}

}  // namespace

void AccessChecker::start_block(std::span<const WatchedBuffer> buffers, const SharedLayout& layout,
                                const SharedMemory& shared, bool refuse_unwritten_reads) {
  buffers_ = buffers;
  refuse_unwritten_reads_ = refuse_unwritten_reads;
  arrays_.clear();
  unwritten_.assign(layout.array_bytes() + shared.dynamic().size(), 1);
  unsigned char* unwritten = unwritten_.data();
  const unsigned char* const arena = shared.arena().data();
  std::size_t around = 0;  // where the bytes start that belong to the array
  for (std::size_t i = 0; i < layout.arrays().size(); ++i) {
    // Neighbours share the gap between them.
    const SharedLayout::Array& array = layout.arrays()[i];
    const bool is_last = i + 1 == layout.arrays().size();
    const std::size_t end_of_array = array.offset + array.bytes;
    const std::size_t end = is_last
                                ? layout.bytes()
                                : end_of_array + (layout.arrays()[i + 1].offset - end_of_array) / 2;
    arrays_.push_back({arena + around, end - around, arena + array.offset, array.bytes,
                       array.name.c_str(), array.element_bytes, unwritten, kUnwrittenShared});
    unwritten += array.bytes;
    around = end;
  }
  const auto dynamic = shared.dynamic();
  arrays_.push_back({dynamic.data(), dynamic.size() + SharedMemory::kGapBehindDynamic,
                     dynamic.data(), dynamic.size(), "dynamic shared memory", 1, unwritten,
                     kUnwrittenShared});
}

std::optional<BadAccess> AccessChecker::access(const void* address, std::size_t bytes, bool writes,
                                               const void* return_address) {
  const WatchedBuffer* buffer = find(arrays_, address);
  const bool is_array = buffer != nullptr && buffer != &arrays_.back();
  if (buffer == nullptr) buffer = find(buffers_, address);
  if (buffer == nullptr) return std::nullopt;
  BadAccess bad{buffer->name,          is_array,      writes, false, 0, buffer->bytes,
                buffer->element_bytes, return_address};
  const std::size_t offset = distance(buffer->begin, address);  // huge in front of the buffer
  if (offset > buffer->bytes || buffer->bytes - offset < bytes) {
    const auto first = static_cast<std::int64_t>(offset);
    const auto size = static_cast<std::int64_t>(buffer->bytes);
    bad.offset = first < 0 ? first : std::max(first, size);
    return bad;
  }
  if (buffer->unwritten == nullptr) return std::nullopt;
  if (writes) {
    std::fill_n(buffer->unwritten + offset, bytes, static_cast<unsigned char>(0));
    return std::nullopt;
  }
  if (!refuse_unwritten_reads_ || !is_all_unwritten(*buffer, offset, bytes)) return std::nullopt;
  bad.is_unwritten = true;
  bad.offset = static_cast<std::int64_t>(offset);
  return bad;
}

}  // namespace mgtune
