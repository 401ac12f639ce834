#include "ceilings/random_memory.h"

#include <array>
#include <utility>

#include "device/build_module.h"
#include "family/source_tree.h"

namespace mgtune {

std::string RandomMemory::kernel() const {
  return "fill_uniform<" + std::string(cuda_name(dtype_)) + ">";
}

Result<RandomMemory> RandomMemory::make(Device& device, Builder& builder, DType dtype) {
  RandomMemory memory(device, dtype);
  const SourceTree sources = embedded_source_tree("kernels/common");
  MGTUNE_ASSIGN(memory.fill_, build_module(device, builder, sources, "fill.cu", {memory.kernel()}));
  return memory;
}

Result<Buffer> RandomMemory::allocate(std::int64_t bytes, std::uint64_t seed) {
  MGTUNE_ASSIGN(Buffer buffer, Buffer::allocate(*device_, static_cast<std::size_t>(bytes)));
  KernelLaunch launch;
  MGTUNE_ASSIGN(launch.kernel, fill_->kernel(kernel()));
  void* out = buffer.data();
  std::int64_t count = bytes / size_in_bytes(dtype_);
  float low = -1;
  float high = 1;
  std::array<void*, 5> args = {&out, &count, &seed, &low, &high};
  launch.grid = {1024, 1, 1};
  launch.block = {256, 1, 1};
  launch.args = args.data();
  MGTUNE_TRY(device_->launch(launch));
  return buffer;
}

}  // namespace mgtune
