#include "results/explained_gpu.h"

#include "device/registry.h"
#include "results/result_words.h"
#include "selection/variant_selection.h"

namespace mgtune {

Result<ExplainedGpu> find_explained_gpu(const std::string& word,
                                        const std::vector<GpuRecord>& recorded) {
  Result<std::vector<DeviceInfo>> here = select_devices(word);
  if (here.ok()) {
    if (here->size() != 1)
      return invalid_argument("--gpu " + word + " means several GPUs: name one of them");
    return ExplainedGpu{here->front(), true};
  }
  MGTUNE_ASSIGN(const std::vector<GpuProduct> products, shipped_gpu_products());
  std::vector<GpuRecord> called;
  std::string names;
  for (const GpuRecord& gpu : recorded) {
    if (means_gpu(products, word, gpu.model)) called.push_back(gpu);
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
