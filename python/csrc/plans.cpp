#include "plans.h"

#include <atomic>
#include <bit>
#include <map>
#include <mutex>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "capture.h"
#include "dtype.h"

namespace mgtune::torch {
namespace {

struct WordsHash {
  std::size_t operator()(const PlanWords& words) const {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : words) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 32U;
    }
    return hash;
  }
};

using PlanMap = std::unordered_map<PlanWords, const mgr_plan_t*, WordsHash>;

// What all threads share, guarded by `mutex`. The context and the plans of an earlier generation
// stay open, because captured graphs may launch their kernels.
struct Shared {
  std::mutex mutex;
  std::map<std::pair<std::int32_t, std::int32_t>, mgr_context_t*> contexts;
  PlanMap plans;
  std::atomic<std::uint64_t> generation = 1;
};

Shared& shared() {
  // Never destroyed: threads of PyTorch may still run when the process ends.
  static auto* const all = new Shared;
  return *all;
}

[[noreturn]] void throw_last_error() { throw std::runtime_error(mgr_last_error()); }

std::string device_name(DeviceKey device) {
  return device.is_cuda() ? std::to_string(device.index) : "cpu";
}

// The context of a device. `shared().mutex` is held.
mgr_context_t* context_of(DeviceKey device) {
  mgr_context_t*& context = shared().contexts[{device.type, device.index}];
  if (context == nullptr) {
    const std::string word = device_name(device);
    mgr_open_options_t options{};
    options.struct_size = sizeof options;
    options.device = word.c_str();
    if (mgr_open(&options, &context) != MGR_OK) throw_last_error();
  }
  return context;
}

const mgr_plan_t* make_plan(mgr_context_t* context, const PlanDescription& description) {
  std::vector<mgr_assignment_t> assignments;
  for (const auto& [name, value] : description.assignments) {
    assignments.push_back({name, value.c_str()});
  }
  mgr_plan_options_t options{};
  options.struct_size = sizeof options;
  options.operator_name = description.operator_name;
  options.assignments = assignments.data();
  options.assignment_count = assignments.size();
  options.ranges = description.ranges.data();
  options.range_count = description.ranges.size();
  mgr_plan_t* plan = nullptr;
  if (mgr_plan(context, &options, &plan) != MGR_OK) throw_last_error();
  return plan;
}

// Finds or makes a plan that this thread has not used yet. It holds the lock only briefly, so that
// several threads can compile at the same time.
const mgr_plan_t* shared_plan(const PlanWords& words, DeviceKey device,
                              const std::function<PlanDescription()>& describe, void* stream) {
  mgr_context_t* context = nullptr;
  std::uint64_t generation = 0;
  PlanDescription description;
  {
    const std::lock_guard lock(shared().mutex);
    generation = shared().generation;
    if (const auto found = shared().plans.find(words); found != shared().plans.end()) {
      return found->second;
    }
    description = describe();
    if (device.is_cuda() && is_capturing(stream)) {
      throw std::runtime_error(
          std::string(description.operator_name) + " was never planned for " + description.shape +
          " before this CUDA graph capture, and planning cannot be captured; call "
          "mgtune.torch.warmup() with the same shapes before the capture");
    }
    context = context_of(device);
  }
  const mgr_plan_t* const plan = make_plan(context, description);
  const std::lock_guard lock(shared().mutex);
  // A plan that was made from the tables before reload_tables() serves this call only.
  if (shared().generation != generation) return plan;
  return shared().plans.try_emplace(words, plan).first->second;
}

PlanWords words_of(const PlanKey& key) {
  return {
      reinterpret_cast<std::uintptr_t>(key.op),
      device_word(key.device),
      static_cast<std::uint64_t>(key.dtype) << 32U | static_cast<std::uint32_t>(key.weight_dtype),
      octave_of(key.rows) << 1U | (key.has_optional_tensor ? 1U : 0U),
      static_cast<std::uint64_t>(key.hidden),
      static_cast<std::uint64_t>(key.strides[0]),
      static_cast<std::uint64_t>(key.strides[1]),
      static_cast<std::uint64_t>(key.strides[2])};
}

PlanDescription describe_rows(const PlanKey& key) {
  const OperatorNames& op = *key.op;
  PlanDescription description{op.name,
                              {{"T", dtype_name(key.dtype)}},
                              {octave_range("rows", key.rows)},
                              std::to_string(key.rows) + " rows of " + std::to_string(key.hidden)};
  if (key.weight_dtype != 0) {
    description.assignments.emplace_back("W", dtype_name(key.weight_dtype));
  }
  if (op.is_hidden_static) {
    description.assignments.emplace_back("hidden", std::to_string(key.hidden));
  } else {
    description.ranges.push_back({"hidden", key.hidden, key.hidden});
  }
  if (key.has_optional_tensor) description.assignments.emplace_back(op.optional_tensor, "true");
  for (std::size_t i = 0; i < op.stride_dims.size(); ++i) {
    if (key.strides[i] == -1) continue;
    description.ranges.push_back({op.stride_dims[i], key.strides[i], key.strides[i]});
  }
  return description;
}

}  // namespace

std::uint64_t device_word(DeviceKey device) {
  return static_cast<std::uint64_t>(device.type) << 32U | static_cast<std::uint32_t>(device.index);
}

std::uint64_t octave_of(std::int64_t size) {
  return static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(size)));
}

mgr_range_t octave_range(const char* dim, std::int64_t size) {
  if (size == 0) return {dim, 0, 0};
  const auto low = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size)));
  return {dim, low, 2 * low - 1};
}

const mgr_plan_t* find_plan(const PlanWords& words, DeviceKey device,
                            const std::function<PlanDescription()>& describe, void* stream) {
  thread_local std::uint64_t generation = 0;
  thread_local PlanMap plans;
  if (const std::uint64_t now = shared().generation.load(std::memory_order_acquire);
      generation != now) {
    plans.clear();
    generation = now;
  }
  if (const auto found = plans.find(words); found != plans.end()) return found->second;
  const mgr_plan_t* const plan = shared_plan(words, device, describe, stream);
  plans.emplace(words, plan);
  return plan;
}

const mgr_plan_t* find_plan(const PlanKey& key, void* stream) {
  return find_plan(
      words_of(key), key.device, [&key] { return describe_rows(key); }, stream);
}

std::string why_unavailable(const std::string& type, std::int32_t index) {
  static constexpr OperatorNames kTrial{"rmsnorm.forward", true, "rstd", {"x_stride"}};
  const TorchAbi& abi = torch_abi();
  PlanKey key;
  key.op = &kTrial;
  key.device.index = index;
  if (type == "cuda") {
    if (abi.aoti_torch_get_current_cuda_stream == nullptr) return "this PyTorch has no CUDA";
    key.device.type = abi.aoti_torch_device_type_cuda;
  } else if (type == "cpu") {
    key.device.type = abi.aoti_torch_device_type_cpu;
  } else {
    return "mgtune has no kernels for devices of type " + type;
  }
  key.dtype = key.weight_dtype = abi.aoti_torch_dtype_float32;
  key.rows = 1;
  key.hidden = 64;
  try {
    (void)find_plan(key, nullptr);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

void reload_tables() {
  const std::lock_guard lock(shared().mutex);
  shared().contexts.clear();
  shared().plans.clear();
  shared().generation.fetch_add(1, std::memory_order_release);
}

}  // namespace mgtune::torch
