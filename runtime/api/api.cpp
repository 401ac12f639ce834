// The mgr_* functions. They check for the mistakes that a C caller can make, and call Context and
// Plan.

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "api/boundary.h"
#include "api/context.h"
#include "api/handles.h"
#include "core/dtype.h"
#include "dispatch/plan.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxScalars = 32;

// The sizes of the options structs of MGR_ABI_VERSION 1, up to the last field that they had then.
constexpr std::size_t kOpenOptionsBytes1 =
    offsetof(mgr_open_options_t, family_folder_count) + sizeof(std::size_t);
constexpr std::size_t kPlanOptionsBytes1 =
    offsetof(mgr_plan_options_t, range_count) + sizeof(std::size_t);

Status null_argument(const char* name) { return invalid_argument(fmt::format("{} is null", name)); }

template <typename T>
Result<std::span<T>> array(T* data, std::size_t count, const char* name) {
  if (data == nullptr && count > 0) {
    return invalid_argument(fmt::format("{} is null, but its count is {}", name, count));
  }
  return std::span<T>(data, count);
}

Result<Context::Options> context_options(const mgr_open_options_t* from) {
  MGTUNE_ASSIGN(const mgr_open_options_t options, read_options(from, kOpenOptionsBytes1));
  Context::Options result;
  if (options.device != nullptr) result.device = options.device;
  if (options.database != nullptr) result.database = options.database;
  MGTUNE_ASSIGN(const auto folders,
                array(options.family_folders, options.family_folder_count, "family_folders"));
  for (const char* folder : folders) {
    if (folder == nullptr) return null_argument("an entry of family_folders");
    result.family_folders.emplace_back(folder);
  }
  return result;
}

Result<Context::PlanWords> plan_words(const mgr_plan_options_t* from) {
  if (from == nullptr) return null_argument("options");
  MGTUNE_ASSIGN(const mgr_plan_options_t options, read_options(from, kPlanOptionsBytes1));
  if (options.operator_name == nullptr) return null_argument("operator_name");
  Context::PlanWords words;
  words.op = options.operator_name;
  MGTUNE_ASSIGN(const auto assignments,
                array(options.assignments, options.assignment_count, "assignments"));
  for (const mgr_assignment_t& assignment : assignments) {
    if (assignment.name == nullptr || assignment.value == nullptr) {
      return null_argument("name or value of an assignment");
    }
    if (!words.assignments.emplace(assignment.name, assignment.value).second) {
      return invalid_argument(fmt::format("'{}' is assigned twice", assignment.name));
    }
  }
  MGTUNE_ASSIGN(const auto ranges, array(options.ranges, options.range_count, "ranges"));
  for (const mgr_range_t& range : ranges) {
    if (range.dim == nullptr) return null_argument("dim of a range");
    if (!words.ranges.emplace(range.dim, DimRange{range.low, range.high}).second) {
      return invalid_argument(fmt::format("dim '{}' has two ranges", range.dim));
    }
  }
  if (options.variant != nullptr) words.variant = options.variant;
  return words;
}

Status launch(const mgr_plan_t& plan, const LaunchArguments& from,
              std::span<const double> scalars) {
  const std::vector<Scalar>& declared = plan.plan->binding().op->scalars;
  if (scalars.size() != declared.size()) {
    return invalid_argument(
        fmt::format("{} scalars passed, {} declared", scalars.size(), declared.size()));
  }
  std::array<ScalarValue, kMaxScalars> values;
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    if (encode_scalar(scalars[i], declared[i].dtype, values[i])) continue;
    return invalid_argument(fmt::format("scalar '{}' is {}, which {} cannot hold", declared[i].name,
                                        scalars[i], to_string(declared[i].dtype)));
  }
  MGTUNE_TRY(plan.extents->check(from.dims));
  LaunchArguments arguments = from;
  arguments.scalars = std::span(values).first(scalars.size());
  MGTUNE_TRY(plan.plan->launch(arguments));
  if (plan.recorder != nullptr) plan.recorder->record(arguments.dims);
  return {};
}

// "rows=4096 x_stride=default"
std::string dims_text(const Operator& op, std::span<const std::int64_t> dims) {
  std::string text;
  std::size_t index = 0;
  for (const Dim& dim : op.dims) {
    if (dim.kind == DimKind::fixed || index == dims.size()) continue;
    const std::int64_t value = dims[index++];
    text += fmt::format(" {}={}", dim.name, value == -1 ? "default" : std::to_string(value));
  }
  return text;
}

Result<std::string> explanation(const mgr_plan_t& plan, std::span<const std::int64_t> dims) {
  MGTUNE_TRY(plan.extents->check(dims));
  MGTUNE_ASSIGN(const Plan::Explanation why, plan.plan->explain({dims.begin(), dims.end()}));
  const DeviceInfo& device = plan.context->device_info();
  const Binding& binding = plan.plan->binding();
  std::string text = fmt::format(
      "problem   {} {}{}\nvariant   {}\nchosen    {}: {}\n", binding.op->full_name(),
      binding.text(), dims_text(*binding.op, dims), why.variant, to_string(why.step), why.reason);
  if (why.expected_ns > 0) {
    text += fmt::format("expected  {:.2f} us at the tuned problem{}\n", why.expected_ns / 1e3,
                        device.kind == DeviceKind::cpu ? " (emulation)" : "");
  }
  for (const std::string& line : why.lines) text += line + '\n';
  if (!why.improvement.empty()) text += "improve   " + why.improvement + '\n';
  return text + fmt::format("device    {}\n", device.name) + plan.source_lines;
}

template <typename Copy>
Status copy(mgr_context_t* context, const void* device, const void* host, std::size_t bytes,
            const Copy& copy_bytes) {
  if (context == nullptr) return null_argument("context");
  if (bytes == 0) return {};
  if (device == nullptr || host == nullptr) return null_argument("device or host");
  return copy_bytes(context->context->device());
}

}  // namespace

Result<std::unique_ptr<mgr_plan_s>> make_plan(const std::shared_ptr<Context>& context,
                                              const mgr_plan_options_t* options) {
  MGTUNE_ASSIGN(const Context::PlanWords words, plan_words(options));
  auto handle = std::make_unique<mgr_plan_s>();
  handle->context = context;
  MGTUNE_ASSIGN(handle->plan, context->plan(words));
  const Binding& binding = handle->plan->binding();
  const Operator& op = *binding.op;
  if (op.scalars.size() > kMaxScalars) {
    return unsupported(fmt::format("{} has {} scalars; at most {} can be passed", op.full_name(),
                                   op.scalars.size(), kMaxScalars));
  }
  handle->extents = std::make_unique<ExtentCheck>(binding);
  handle->source_lines = context->source_lines(op.full_name());
  if (ShapeFile* file = ShapeFile::of_environment(); file != nullptr) {
    handle->recorder = std::make_unique<PlanRecorder>(binding, *file);
  }
  return handle;
}

}  // namespace mgtune

using mgtune::Context;
using mgtune::Device;
using mgtune::guarded;
using mgtune::is_forked;
using mgtune::null_argument;
using mgtune::Status;

int32_t mgr_abi_version(void) { return MGR_ABI_VERSION; }

mgr_status_t mgr_open(const mgr_open_options_t* options, mgr_context_t** context) {
  return guarded([&]() -> Status {
    if (context == nullptr) return null_argument("context");
    mgtune::watch_for_forks();
    MGTUNE_ASSIGN(const Context::Options words, mgtune::context_options(options));
    MGTUNE_ASSIGN(std::shared_ptr<Context> opened, Context::open(words));
    *context = new mgr_context_s{std::move(opened)};
    return {};
  });
}

void mgr_close(mgr_context_t* context) {
  if (!is_forked()) delete context;
}

const char* mgr_device_name(const mgr_context_t* context) {
  return context == nullptr ? "" : context->context->device_info().name.c_str();
}

mgr_status_t mgr_plan(mgr_context_t* context, const mgr_plan_options_t* options,
                      mgr_plan_t** plan) {
  return guarded([&]() -> Status {
    if (context == nullptr || plan == nullptr) return null_argument("context or plan");
    MGTUNE_ASSIGN(std::unique_ptr<mgr_plan_s> handle, mgtune::make_plan(context->context, options));
    *plan = handle.release();
    return {};
  });
}

void mgr_plan_free(mgr_plan_t* plan) {
  if (!is_forked()) delete plan;
}

size_t mgr_workspace_bytes(const mgr_plan_t* plan) {
  return plan == nullptr ? 0 : static_cast<size_t>(plan->plan->workspace_size().bytes);
}

mgr_status_t mgr_workspace_init(const mgr_plan_t* plan, void* workspace, void* stream) {
  return guarded([&]() -> Status {
    if (plan == nullptr) return null_argument("plan");
    if (workspace == nullptr && mgr_workspace_bytes(plan) > 0) return null_argument("workspace");
    return plan->plan->init_workspace(workspace, stream);
  });
}

mgr_status_t mgr_launch(const mgr_plan_t* plan, void* stream, const int64_t* dims, size_t dim_count,
                        void* const* tensors, size_t tensor_count, const double* scalars,
                        size_t scalar_count, void* workspace) {
  return guarded([&]() -> Status {
    if (plan == nullptr) return null_argument("plan");
    mgtune::LaunchArguments arguments;
    MGTUNE_ASSIGN(arguments.dims, mgtune::array(dims, dim_count, "dims"));
    MGTUNE_ASSIGN(arguments.tensors, mgtune::array(tensors, tensor_count, "tensors"));
    MGTUNE_ASSIGN(const auto values, mgtune::array(scalars, scalar_count, "scalars"));
    arguments.workspace = workspace;
    arguments.stream = stream;
    return mgtune::launch(*plan, arguments, values);
  });
}

mgr_status_t mgr_explain(const mgr_plan_t* plan, const int64_t* dims, size_t dim_count,
                         char* buffer, size_t size, size_t* needed) {
  return guarded([&]() -> Status {
    if (plan == nullptr) return null_argument("plan");
    MGTUNE_ASSIGN(const auto shape, mgtune::array(dims, dim_count, "dims"));
    MGTUNE_ASSIGN(const auto room, mgtune::array(buffer, size, "buffer"));
    MGTUNE_ASSIGN(const std::string text, mgtune::explanation(*plan, shape));
    if (!room.empty()) room[text.copy(buffer, size - 1)] = '\0';
    if (needed != nullptr) *needed = text.size() + 1;
    return {};
  });
}

mgr_status_t mgr_allocate(mgr_context_t* context, size_t bytes, void** memory) {
  return guarded([&]() -> Status {
    if (context == nullptr || memory == nullptr) return null_argument("context or memory");
    MGTUNE_ASSIGN(*memory, context->context->device().allocate(bytes));
    return {};
  });
}

void mgr_free(mgr_context_t* context, void* memory) {
  if (context == nullptr || memory == nullptr || is_forked()) return;
  context->context->device().free(memory);
}

mgr_status_t mgr_copy_to_device(mgr_context_t* context, void* device, const void* host,
                                size_t bytes) {
  return guarded([&]() -> Status {
    return mgtune::copy(context, device, host, bytes,
                        [&](Device& gpu) { return gpu.copy_to_device(device, host, bytes); });
  });
}

mgr_status_t mgr_copy_to_host(mgr_context_t* context, void* host, const void* device,
                              size_t bytes) {
  return guarded([&]() -> Status {
    return mgtune::copy(context, device, host, bytes,
                        [&](Device& gpu) { return gpu.copy_to_host(host, device, bytes); });
  });
}

mgr_status_t mgr_synchronize(mgr_context_t* context, void* stream) {
  return guarded([&]() -> Status {
    if (context == nullptr) return null_argument("context");
    return context->context->device().synchronize(stream);
  });
}
