#include "launch.h"

#include <array>
#include <memory>
#include <stdexcept>

namespace mgtune::torch {
namespace {

constexpr std::size_t kWorkspaceAlignment = 256;  // what mgr_launch asks for

}  // namespace

DeviceScope::DeviceScope(DeviceKey device) {
  const TorchAbi& abi = torch_abi();
  if (!device.is_cuda()) return;
  std::int32_t current = 0;
  check(abi.aoti_torch_get_current_device_index(&current));
  if (current != device.index) check(abi.aoti_torch_create_device_guard(device.index, &guard_));
  check(abi.aoti_torch_get_current_cuda_stream(device.index, &stream_));
}

DeviceScope::~DeviceScope() {
  if (guard_ != nullptr) torch_abi().aoti_torch_delete_device_guard(guard_);
}

void launch(const mgr_plan_t* plan, DeviceKey device, const DeviceScope& scope,
            std::span<const std::int64_t> dims, std::span<void* const> tensors,
            std::span<const double> scalars) {
  Tensor workspace;
  void* workspace_data = nullptr;
  if (const std::size_t bytes = mgr_workspace_bytes(plan); bytes > 0) {
    // PyTorch aligns memory of a GPU to 512 bytes, but host memory to 64.
    std::size_t room = bytes + kWorkspaceAlignment;
    const std::array sizes{static_cast<std::int64_t>(room)};
    workspace = Tensor::empty(sizes, torch_abi().aoti_torch_dtype_int8, device);
    workspace_data = workspace.data();
    std::align(kWorkspaceAlignment, bytes, workspace_data, room);
    if (mgr_workspace_init(plan, workspace_data, scope.stream()) != MGR_OK) {
      throw std::runtime_error(mgr_last_error());
    }
  }
  if (mgr_launch(plan, scope.stream(), dims.data(), dims.size(), tensors.data(), tensors.size(),
                 scalars.data(), scalars.size(), workspace_data) != MGR_OK) {
    throw std::runtime_error(mgr_last_error());
  }
}

void launch(const PlanKey& key, const DeviceScope& scope, std::span<const std::int64_t> dims,
            std::span<void* const> tensors, std::span<const double> scalars) {
  launch(find_plan(key, scope.stream()), key.device, scope, dims, tensors, scalars);
}

}  // namespace mgtune::torch
