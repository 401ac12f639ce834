#include "api/context.h"

#include "device/registry.h"
#include "family/problem.h"
#include "family/variant.h"
#include "selection/gpu_similarity.h"
#include "selection/variant_selection.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

Result<std::vector<DimRange>> ranges_in_order(const Operator& op,
                                              std::map<std::string, DimRange> named) {
  std::vector<DimRange> ranges;
  for (const Dim& dim : op.dims) {
    if (dim.kind == DimKind::fixed) continue;
    const auto range = named.find(dim.name);
    if (range == named.end()) {
      ranges.push_back({1, 0});  // always at its default
      continue;
    }
    if (range->second.low > range->second.high) {
      return invalid_argument("the range of dim '" + dim.name +
                              "' is empty: " + std::to_string(range->second.low) + " to " +
                              std::to_string(range->second.high));
    }
    ranges.push_back(range->second);
    named.erase(range);
  }
  if (!named.empty()) {
    return invalid_argument(op.full_name() + " has no dynamic or hint dim '" +
                            named.begin()->first + "' to give a range for");
  }
  return ranges;
}

// A program gets the same status for a device word that makes no sense as for a device that is not
// in the machine.
Result<std::vector<DeviceInfo>> devices_called(const std::string& word) {
  Result<std::vector<DeviceInfo>> devices = select_devices(word);
  if (devices.ok() || devices.status().code() != StatusCode::invalid_argument) return devices;
  return environment_error(devices.status().message());
}

}  // namespace

Context::Context(std::unique_ptr<Device> device)
    : device_(std::move(device)), catalog_(FileSystem::real()), builders_([this] {
        Builder builder(BuildCache::of_user());
        builder.take_from(source_.builds);
        return builder;
      }) {}

Result<std::unique_ptr<Context>> Context::open(const Options& options) {
  MGTUNE_ASSIGN(const std::vector<DeviceInfo> devices, devices_called(options.device));
  if (devices.size() != 1) {
    return invalid_argument("'" + options.device + "' names " + std::to_string(devices.size()) +
                            " devices; a context is for one");
  }
  MGTUNE_ASSIGN(std::unique_ptr<Device> device, open_device(devices.front().id));
  std::unique_ptr<Context> context(new Context(std::move(device)));
  MGTUNE_TRY(context->add_families(options.family_folders));
  MGTUNE_ASSIGN(context->source_,
                open_tuned_sources(options.database, context->catalog_, context->device_->info()));
  return context;
}

Status Context::add_families(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    // A word without a slash could be the name of a built-in family.
    const bool is_path = folder.find('/') != std::string::npos;
    const Result<std::vector<const Operator*>> found =
        catalog_.find(is_path ? folder : "./" + folder);
    if (!found.ok()) return found.status();
  }
  return {};
}

Result<std::unique_ptr<Plan>> Context::plan(const PlanWords& words) {
  MGTUNE_ASSIGN(const PlanInput input, read_input(words));
  const BuilderPool::Borrowed builder = builders_.borrow();
  return Plan::make(modules_, *builder, input.binding, input.ranges, *input.evidence, is_strict(),
                    input.only);
}

Result<Context::PlanInput> Context::read_input(const PlanWords& words) {
  const std::scoped_lock lock(source_mutex_);
  PlanInput input;
  MGTUNE_ASSIGN(const Operator* op, catalog_.find_operator(words.op));
  MGTUNE_ASSIGN(input.binding, bind_static(*op, words.assignments));
  MGTUNE_ASSIGN(input.ranges, ranges_in_order(*op, words.ranges));
  MGTUNE_ASSIGN(input.evidence, evidence_for(input.binding, input.ranges,
                                             gpu_record(device_->info()), catalog_, source_));
  if (words.variant) {
    MGTUNE_ASSIGN(input.only, parse_variant(*op, *words.variant));
  }
  return input;
}

std::string Context::source_lines(const std::string& op) {
  const std::scoped_lock lock(source_mutex_);
  return mgtune::source_lines(source_, op);
}

}  // namespace mgtune
