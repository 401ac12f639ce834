#include "debug/chosen_variant.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/text.h"
#include "core/variant_words.h"
#include "device/gpu_catalog.h"
#include "device/registry.h"
#include "results/explanation.h"
#include "space/space.h"

namespace mgtune {
namespace {

// Shared memory per block, which configs/gpus does not say.
struct SharedMemory {
  std::int64_t compute_capability, bytes;
};
constexpr std::array kSharedMemory = {
    SharedMemory{75, 65536},   SharedMemory{80, 166912},  SharedMemory{86, 101376},
    SharedMemory{87, 166912},  SharedMemory{89, 101376},  SharedMemory{90, 232448},
    SharedMemory{100, 232448}, SharedMemory{103, 232448}, SharedMemory{120, 101376}};

Result<DeviceInfo> device_of_product(const GpuProduct& product) {
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.name = product.name;
  device.arch = product.arch;
  const auto capability = parse_number<std::int64_t>(product.arch.substr(3));  // after "sm_"
  if (!capability) return internal_error("configs/gpus: no number in " + product.arch);
  const auto* const shared =
      std::ranges::find(kSharedMemory, *capability, &SharedMemory::compute_capability);
  device.limits = {*capability, product.sm_count,
                   shared == kSharedMemory.end() ? kSharedMemory.front().bytes : shared->bytes,
                   product.l2_mb << 20};
  device.memory_bytes = product.memory_gb << 30;
  return device;
}

}  // namespace

Result<Variant> named_variant(const Problem& problem, const DeviceLimits& device,
                              const std::string& words) {
  const Operator& op = *problem.op;
  std::string text = words;
  std::ranges::replace(text, ',', ' ');
  VariantWords named = split_variant(text);
  for (const Variant& defaults : default_ladder(problem.binding(), device)) {
    const VariantWords complete = split_variant(variant_text(op, defaults));
    if (complete.design != named.design) continue;
    // Words that the design does not have stay, so that parse_variant() refuses them.
    std::vector<Assignment> parameters;
    for (const Assignment& assignment : complete.parameters) {
      const std::string* const value = named.find(assignment.first);
      parameters.emplace_back(assignment.first, value == nullptr ? assignment.second : *value);
    }
    for (const Assignment& assignment : named.parameters) {
      if (complete.find(assignment.first) == nullptr) parameters.push_back(assignment);
    }
    named.parameters = std::move(parameters);
    break;
  }
  return parse_variant(op, named.text());
}

Result<ChosenVariant> choose_variant_to_run(const Problem& problem, const DeviceInfo& device,
                                            const std::string& named, const std::string& kernel,
                                            const std::string& database, Catalog& catalog) {
  const Operator& op = *problem.op;
  if (!named.empty()) {
    MGTUNE_ASSIGN(Variant variant, named_variant(problem, device.limits, named));
    return ChosenVariant{std::move(variant), "named"};
  }
  if (!device.id.empty()) {  // in this machine
    const Result<SelectionReport> report = explain(
        {.kernel = kernel, .problem = problem.text(), .gpu = device.id, .database = database},
        catalog);
    if (report.ok()) {
      return ChosenVariant{report->selected.front().variant, "what a program would run"};
    }
    if (report.status().code() != StatusCode::unsupported) return report.status();
  }
  const Space space(problem, device.limits);
  for (const Variant& variant : default_ladder(problem.binding(), device.limits)) {
    if (space.admits(variant)) return ChosenVariant{variant, "the first default"};
  }
  return unsupported("no default of " + op.full_name() + " serves " + problem.text() + " on " +
                     device.name + ": name a variant with --variant");
}

Result<DeviceInfo> device_to_compile_for(const std::string& word) {
  Result<std::vector<DeviceInfo>> here = select_devices(word);
  if (here.ok()) {
    if (here->size() == 1) return here->front();
    return invalid_argument("--gpu " + word + " means several GPUs: name one of them");
  }
  MGTUNE_ASSIGN(const std::vector<GpuProduct> products, shipped_gpu_products());
  for (const GpuProduct& product : products) {
    if (product.is_called(word)) return device_of_product(product);
  }
  return std::move(here).take_status();
}

}  // namespace mgtune
