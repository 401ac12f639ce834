#include "cli/explained_gpu.h"

#include <algorithm>

#include "device/gpu_catalog.h"
#include "device/registry.h"
#include "selection/variant_selection.h"

namespace mgtune {
namespace {

bool is_called(const GpuRecord& gpu, const std::string& word,
               const std::vector<GpuProduct>& products) {
  if (same_word(gpu.model, word)) return true;
  return std::any_of(products.begin(), products.end(), [&](const GpuProduct& product) {
    return product.is_called(word) && product.is_called(gpu.model);
  });
}

}  // namespace

Result<ExplainedGpu> find_explained_gpu(const std::string& word,
                                        const std::vector<GpuRecord>& recorded) {
  Result<std::vector<DeviceInfo>> here = select_devices(word);
  if (here.ok()) {
    if (here->size() != 1) return invalid_argument("--gpu " + word + ": one GPU at a time");
    return ExplainedGpu{here->front(), true};
  }
  MGTUNE_ASSIGN(const std::vector<GpuProduct> products, shipped_gpu_products());
  std::vector<GpuRecord> called;
  std::string names;
  for (const GpuRecord& gpu : recorded) {
    if (is_called(gpu, word, products)) called.push_back(gpu);
    names += (names.empty() ? "" : ", ") + gpu.model;
  }
  if (called.size() == 1) return ExplainedGpu{device_of(called.front()), false};
  if (called.size() > 1) {
    return invalid_argument("--gpu " + word + ": the database has results of " +
                            std::to_string(called.size()) +
                            " GPUs of that name, which differ in memory or MIG profile");
  }
  return std::move(here).take_status().with_context(
      names.empty() ? "the database has results of no GPU"
                    : "the database has results of " + names + " only");
}

}  // namespace mgtune
