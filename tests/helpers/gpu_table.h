// rmsnorm_table() for the GPU that is here.

#pragma once

#include <string>

#include "device/device.h"
#include "selection/variant_selection.h"
#include "tests/helpers/fakes/stand_in_gpu.h"

namespace mgtune {

inline std::string rmsnorm_table_for(const DeviceInfo& device) {
  const GpuRecord here = gpu_record(device);
  std::string table = rmsnorm_table(here.model);
  const auto set = [&table](const std::string& from, const std::string& to) {
    table.replace(table.find(from), from.size(), to);
  };
  set("\"sm_90\"", "\"" + here.arch + "\"");
  set("\"sm_count\": 132", "\"sm_count\": " + std::to_string(here.sm_count));
  set("62914560", std::to_string(here.l2_bytes));
  set("150000000000", std::to_string(here.memory_bytes));
  set("232448", std::to_string(here.max_shared_bytes));
  set("\"mig_profile\": \"\"", "\"mig_profile\": \"" + here.mig_profile + "\"");
  return table;
}

// Of a build's kernels: that of the table's pick, a row a block, 64 threads, 8 elements a load.
inline constexpr char kRmsnormPick[] = " 1024, 64, 1, 1, 1, 8,";
inline constexpr unsigned kRmsnormPickThreads = 64;

}  // namespace mgtune
