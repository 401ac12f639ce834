#include "ceilings/random_memory.h"

#include <array>
#include <utility>

#include "device/build_module.h"
#include "family/source_tree.h"

namespace mgtune {

Result<RandomMemory> RandomMemory::make(Device& device, Builder& builder, DType dtype) {
  RandomMemory memory(device, dtype);
  const std::string name = "fill_uniform<" + std::string(cuda_name(dtype)) + ">";
  MGTUNE_ASSIGN(
      memory.module_,
      build_module(device, builder, embedded_source_tree("kernels/common"), "fill.cu", {name}));
  MGTUNE_ASSIGN(memory.kernel_, memory.module_->kernel(name));
  return memory;
}

Result<Buffer> RandomMemory::allocate(std::int64_t bytes, std::uint64_t seed) {
  MGTUNE_ASSIGN(Buffer buffer, Buffer::allocate(*device_, static_cast<std::size_t>(bytes)));
  void* out = buffer.data();
  std::int64_t count = bytes / size_in_bytes(dtype_);
  float low = -1;
  float high = 1;
  std::array<void*, 5> args = {&out, &count, &seed, &low, &high};
  MGTUNE_TRY(device_->launch(
      {.kernel = kernel_, .grid = {1024, 1, 1}, .block = {256, 1, 1}, .args = args.data()}));
  return buffer;
}

}  // namespace mgtune
