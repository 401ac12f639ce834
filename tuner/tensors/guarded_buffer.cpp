#include "tensors/guarded_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace mgtune {
namespace {

constexpr std::size_t kBand = 256;

// The alignment that Device::allocate gives for any size: on the cpu device, an allocation starts
// at the end of a page minus the bytes, rounded to 16.
constexpr std::size_t kDeviceAlignment = 16;

std::size_t round_up(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

// 0xfff5 in every 16-bit word: this is a NaN in f16, bf16, f32 and f64, and arithmetic never
// produces this NaN.
unsigned char guard_byte(std::size_t place) { return place % 2 == 0 ? 0xf5 : 0xff; }

}  // namespace

Result<GuardedBuffer> GuardedBuffer::allocate(Device& device, std::size_t bytes,
                                              std::size_t alignment, Placement placement) {
  GuardedBuffer buffer;
  buffer.device_ = &device;
  buffer.bytes_ = bytes;
  std::size_t total = std::max<std::size_t>(bytes, 1);
  if (placement == Placement::guarded) {
    // The front and the total are multiples of the alignment. So the data is aligned, no matter
    // where the allocation ends.
    const std::size_t unit = std::max(kBand, alignment);
    buffer.front_ = unit;
    total = round_up(unit + bytes + kBand, unit);
  } else if (alignment > kDeviceAlignment) {
    total = round_up(total, alignment);
  }
  buffer.back_ = total - buffer.front_ - bytes;
  MGTUNE_ASSIGN(buffer.memory_, Buffer::allocate(device, total));
  MGTUNE_TRY(buffer.write_guards());
  return buffer;
}

bool GuardedBuffer::has_room(std::size_t bytes) const {
  const std::size_t capacity = memory_.bytes();
  return front_ > 0 && bytes <= capacity && front_ + bytes + kBand <= capacity;
}

Status GuardedBuffer::resize(std::size_t bytes) {
  bytes_ = bytes;
  back_ = kBand;
  return write_guards();
}

void* GuardedBuffer::data() const { return region() + front_; }

std::vector<GuardedBuffer::Band> GuardedBuffer::bands() const {
  std::vector<Band> bands;
  for (const auto& [place, bytes] :
       {std::pair(std::size_t{0}, front_), std::pair(front_ + bytes_, back_)}) {
    if (bytes == 0) continue;
    bands.push_back(
        {region() + place, static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(place)});
  }
  return bands;
}

Status GuardedBuffer::write_band(std::size_t place, std::size_t bytes) {
  if (bytes == 0) return {};
  std::vector<unsigned char> band(bytes);
  for (std::size_t i = 0; i < bytes; ++i) band[i] = guard_byte(place + i);
  return device_->copy_to_device(region() + place, band.data(), bytes);
}

Status GuardedBuffer::write_guards() {
  MGTUNE_TRY(write_band(0, front_));
  return write_band(front_ + bytes_, back_);
}

Result<std::vector<std::size_t>> GuardedBuffer::changed_bytes(std::size_t place,
                                                              std::size_t bytes) const {
  std::vector<std::size_t> changed;
  if (bytes == 0) return changed;
  std::vector<unsigned char> band(bytes);
  MGTUNE_TRY(device_->copy_to_host(band.data(), region() + place, bytes));
  for (std::size_t i = 0; i < bytes; ++i) {
    if (band[i] != guard_byte(place + i)) changed.push_back(i);
  }
  return changed;
}

Result<std::string> GuardedBuffer::damage() const {
  MGTUNE_ASSIGN(const std::vector<std::size_t> before, changed_bytes(0, front_));
  if (!before.empty()) {
    return fmt::format("written before its start, at byte -{}", front_ - before.front());
  }
  MGTUNE_ASSIGN(const std::vector<std::size_t> behind, changed_bytes(front_ + bytes_, back_));
  if (!behind.empty()) {
    return fmt::format("written past its end, at byte {} of {}", bytes_ + behind.front(), bytes_);
  }
  return std::string();
}

}  // namespace mgtune
