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

// PlanKey with the octave in the place of the rows, as the words that are hashed and compared.
using Words = std::array<std::uint64_t, 8>;

Words words_of(const PlanKey& key) {
  const auto octave =
      static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(key.rows)));
  return {
      reinterpret_cast<std::uintptr_t>(key.op),
      static_cast<std::uint64_t>(key.device.type) << 32U |
          static_cast<std::uint32_t>(key.device.index),
      static_cast<std::uint64_t>(key.dtype) << 32U | static_cast<std::uint32_t>(key.weight_dtype),
      octave << 1U | (key.has_optional_tensor ? 1U : 0U),
      static_cast<std::uint64_t>(key.hidden),
      static_cast<std::uint64_t>(key.strides[0]),
      static_cast<std::uint64_t>(key.strides[1]),
      static_cast<std::uint64_t>(key.strides[2])};
}

struct WordsHash {
  std::size_t operator()(const Words& words) const {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : words) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 32U;
    }
    return hash;
  }
};

using PlanMap = std::unordered_map<Words, const mgr_plan_t*, WordsHash>;

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

std::string device_word(DeviceKey device) {
  return device.is_cuda() ? std::to_string(device.index) : "cpu";
}

// The context of a device. `shared().mutex` is held.
mgr_context_t* context_of(DeviceKey device) {
  mgr_context_t*& context = shared().contexts[{device.type, device.index}];
  if (context == nullptr) {
    const std::string word = device_word(device);
    mgr_open_options_t options{};
    options.struct_size = sizeof options;
    options.device = word.c_str();
    if (mgr_open(&options, &context) != MGR_OK) throw_last_error();
  }
  return context;
}

const mgr_plan_t* make_plan(mgr_context_t* context, const PlanKey& key) {
  const OperatorNames& op = *key.op;
  const std::string hidden = std::to_string(key.hidden);
  std::vector<mgr_assignment_t> assignments{{"T", dtype_name(key.dtype)}};
  if (key.weight_dtype != 0) assignments.push_back({"W", dtype_name(key.weight_dtype)});
  if (op.is_hidden_static) assignments.push_back({"hidden", hidden.c_str()});
  if (key.has_optional_tensor) assignments.push_back({op.optional_tensor, "true"});

  const auto low = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(key.rows)));
  std::vector<mgr_range_t> ranges{{"rows", low, 2 * low - 1}};
  if (!op.is_hidden_static) ranges.push_back({"hidden", key.hidden, key.hidden});
  for (std::size_t i = 0; i < op.stride_dims.size(); ++i) {
    if (key.strides[i] == -1) continue;
    ranges.push_back({op.stride_dims[i], key.strides[i], key.strides[i]});
  }
  mgr_plan_options_t options{};
  options.struct_size = sizeof options;
  options.operator_name = op.name;
  options.assignments = assignments.data();
  options.assignment_count = assignments.size();
  options.ranges = ranges.data();
  options.range_count = ranges.size();
  mgr_plan_t* plan = nullptr;
  if (mgr_plan(context, &options, &plan) != MGR_OK) throw_last_error();
  return plan;
}

// Finds or makes a plan that this thread has not used yet. It holds the lock only briefly, so that
// several threads can compile at the same time.
const mgr_plan_t* shared_plan(const PlanKey& key, const Words& words, void* stream) {
  mgr_context_t* context = nullptr;
  std::uint64_t generation = 0;
  {
    const std::lock_guard lock(shared().mutex);
    generation = shared().generation;
    if (const auto found = shared().plans.find(words); found != shared().plans.end()) {
      return found->second;
    }
    if (key.device.is_cuda() && is_capturing(stream)) {
      throw std::runtime_error(
          std::string(key.op->name) + " was never planned for " + std::to_string(key.rows) +
          " rows of " + std::to_string(key.hidden) +
          " before this CUDA graph capture, and planning cannot be captured; call "
          "mgtune.torch.warmup() with the same shapes before the capture");
    }
    context = context_of(key.device);
  }
  const mgr_plan_t* const plan = make_plan(context, key);
  const std::lock_guard lock(shared().mutex);
  // A plan that was made from the tables before reload_tables() serves this call only.
  if (shared().generation != generation) return plan;
  return shared().plans.try_emplace(words, plan).first->second;
}

}  // namespace

const mgr_plan_t* find_plan(const PlanKey& key, void* stream) {
  thread_local std::uint64_t generation = 0;
  thread_local PlanMap plans;
  if (const std::uint64_t now = shared().generation.load(std::memory_order_acquire);
      generation != now) {
    plans.clear();
    generation = now;
  }
  const Words words = words_of(key);
  if (const auto found = plans.find(words); found != plans.end()) return found->second;
  const mgr_plan_t* const plan = shared_plan(key, words, stream);
  plans.emplace(words, plan);
  return plan;
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
