#include "device/device.h"

namespace mgtune {

Result<Buffer> Buffer::allocate(Device& device, std::size_t bytes) {
  MGTUNE_ASSIGN(void* const data, device.allocate(bytes));
  Buffer buffer;
  buffer.device_ = &device;
  buffer.data_ = data;
  buffer.bytes_ = bytes;
  return buffer;
}

}  // namespace mgtune
