#include "tensors/workspace_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tensors/problem_tensors.h"

namespace mgtune {

Result<GuardedBuffer> WorkspaceBuffer::memory(Device& device, std::size_t bytes,
                                              Placement placement, WorkspaceBuffer last) {
  const bool is_cpu = device.info().kind == DeviceKind::cpu;
  if (!is_cpu && placement == Placement::guarded && last.buffer_.has_room(bytes)) {
    MGTUNE_TRY(last.buffer_.resize(bytes));
    return std::move(last.buffer_);
  }
  last = {};
  return GuardedBuffer::allocate(device, bytes, kWorkspaceAlignment, placement);
}

Result<WorkspaceBuffer> WorkspaceBuffer::allocate(Device& device,
                                                  const LoadedVariant::WorkspaceSize& size,
                                                  std::int64_t set_bytes, Placement placement,
                                                  WorkspaceBuffer last) {
  WorkspaceBuffer workspace;
  if (size.bytes == 0) return workspace;
  const auto bytes = static_cast<std::size_t>(size.bytes);
  const auto zeroed = static_cast<std::size_t>(size.zeroed_bytes);
  Result<GuardedBuffer> buffer = memory(device, bytes, placement, std::move(last));
  if (!buffer.ok()) {
    const std::int64_t memory = device.info().memory_bytes;
    if (memory > 0 && size.bytes + set_bytes > memory) {
      return unsupported(fmt::format("its workspace of {} bytes does not fit into the device's {}",
                                     size.bytes, memory));
    }
    return std::move(buffer).take_status().with_context("workspace");
  }
  MGTUNE_TRY(device.fill_bytes(buffer->data(), 0xff, bytes, nullptr));
  if (zeroed > 0) MGTUNE_TRY(device.fill_bytes(buffer->data(), 0, zeroed, nullptr));
  device.label_memory(buffer->data(), bytes, {"the workspace", 1});
  device.mark_unwritten(static_cast<unsigned char*>(buffer->data()) + zeroed, bytes - zeroed);
  MGTUNE_TRY(device.synchronize(nullptr));
  workspace.device_ = &device;
  workspace.buffer_ = *std::move(buffer);
  workspace.size_ = size;
  return workspace;
}

Result<std::string> WorkspaceBuffer::damage() const {
  MGTUNE_ASSIGN(const std::string outside, buffer_.damage());
  if (!outside.empty()) return "workspace: " + outside;
  Bytes zeroed(static_cast<std::size_t>(size_.zeroed_bytes));
  if (zeroed.empty()) return std::string();
  MGTUNE_TRY(device_->copy_to_host(zeroed.data(), buffer_.data(), zeroed.size()));
  const auto left = std::ranges::find_if(zeroed, [](unsigned char byte) { return byte != 0; });
  if (left == zeroed.end()) return std::string();
  return fmt::format(
      "workspace: byte {} is not zero after the launch, and the next one relies on it",
      left - zeroed.begin());
}

}  // namespace mgtune
