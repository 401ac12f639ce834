// The plans of libmgruntime that the operators launch. A plan is made at the first call of a
// device, an operator, dtypes and shapes. Sizes that change from call to call count by octaves (1,
// 2 to 3, 4 to 7, ...). A plan is never freed: a captured CUDA graph may still launch its kernels.
#pragma once

#include <mgruntime/mgruntime.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tensor.h"

namespace mgtune::torch {

// What tells one plan from another, as the words that are hashed and compared. The first word is
// the address of a static object that belongs to the operator, the second one the device.
using PlanWords = std::array<std::uint64_t, 8>;

std::uint64_t device_word(DeviceKey device);

// What libmgruntime has to know to make a plan.
struct PlanDescription {
  const char* operator_name = nullptr;
  std::vector<std::pair<const char*, std::string>> assignments;
  std::vector<mgr_range_t> ranges;
  std::string shape;  // for messages: "5 rows of 776"
};

// The bit width of a size: equal for all sizes of an octave.
std::uint64_t octave_of(std::int64_t size);
// All sizes of the octave.
mgr_range_t octave_range(const char* dim, std::int64_t size);

// The plan with these words. `describe` is called if it does not exist yet. Throws
// std::runtime_error with libmgruntime's message if there is none, and if the plan would have to be
// made while the stream is captured. Callable from any thread; once a plan exists, it takes no
// lock.
const mgr_plan_t* find_plan(const PlanWords& words, DeviceKey device,
                            const std::function<PlanDescription()>& describe, void* stream);

// An operator on rows. The tables of operators are static: plans are found by address.
struct OperatorNames {
  const char* name;                       // "rmsnorm.forward"
  bool is_hidden_static = false;          // otherwise hidden is a dim of the launch
  const char* optional_tensor = nullptr;  // "rstd"; null if there is none
  std::array<const char*, 3>
      stride_dims{};  // in the order of PlanKey::strides; null behind the last
};

struct PlanKey {
  const OperatorNames* op = nullptr;
  DeviceKey device;
  std::int32_t dtype = 0;
  std::int32_t weight_dtype = 0;  // 0 if the operator has no weight; float32's code is 6
  bool has_optional_tensor = false;
  std::int64_t rows = 0;
  std::int64_t hidden = 0;
  std::array<std::int64_t, 3> strides{-1, -1, -1};  // -1: the default
};

// The same for an operator on rows: a plan serves an octave of rows.
const mgr_plan_t* find_plan(const PlanKey& key, void* stream);

// "" if kernels run on this device, otherwise why they do not. `type` is "cpu" or "cuda". The first
// call for a device compiles a small kernel.
std::string why_unavailable(const std::string& type, std::int32_t index);

// Forgets all contexts and plans: the next call of each operator reads the tuned tables again.
void reload_tables();

}  // namespace mgtune::torch
