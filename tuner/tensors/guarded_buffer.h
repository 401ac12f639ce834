// GuardedBuffer: device memory of one tensor or workspace that detects writes outside its bounds.
//
// `guarded` puts bands of at least 256 bytes with a known pattern on both sides. damage() compares
// them with the pattern. The pattern is NaN in every floating dtype, so that a read out of bounds
// shows in the result. `exact` allocates no more than the data and its alignment need. So on the
// cpu device the memory ends at an inaccessible page (or at AddressSanitizer's red zone), and even
// a read past the end is detected. Move-only. Not thread-safe; the device must outlive it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "device/device.h"

namespace mgtune {

enum class Placement : std::uint8_t { guarded, exact };

class GuardedBuffer {
 public:
  GuardedBuffer() = default;  // no memory: data() is null
  static Result<GuardedBuffer> allocate(Device& device, std::size_t bytes, std::size_t alignment,
                                        Placement placement);

  void* data() const;
  std::size_t bytes() const { return bytes_; }

  // has_room() says whether the memory has room for this number of bytes between guard bands.
  // resize() makes it a buffer of this size: the alignment stays, the bands are written, and the
  // other content is unspecified. Without bands (`exact`) there is never room.
  bool has_room(std::size_t bytes) const;
  Status resize(std::size_t bytes);  // only if has_room()

  // A band of guard bytes on the device. kernels/common/compare.cu uses the same struct. `place` is
  // the offset of its first byte in the buffer's memory.
  struct Band {
    const void* memory;
    std::int64_t bytes, place;
  };
  std::vector<Band> bands() const;

  Status write_guards();
  Result<std::string> damage() const;  // "written past its end, at byte 64 of 64"; "" when intact

 private:
  Status write_band(std::size_t place, std::size_t bytes);
  Result<std::vector<std::size_t>> changed_bytes(std::size_t place, std::size_t bytes) const;
  unsigned char* region() const { return static_cast<unsigned char*>(memory_.data()); }

  Device* device_ = nullptr;
  Buffer memory_;
  std::size_t front_ = 0, bytes_ = 0, back_ = 0;  // memory_ begins with these three in order
};

}  // namespace mgtune
