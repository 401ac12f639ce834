// What `mgtune profile` prints. Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"
#include "family/problem.h"
#include "sweep/profile.h"

namespace mgtune {

// A figure that follows from counters and the operator's cost.
struct DerivedFigure {
  std::string name;  // "dram_of_cost_percent"
  double value;
  std::string unit, meaning;
};

// Those whose counters are there.
std::vector<DerivedFigure> derived_figures(const VariantCounters& counters, double cost_bytes);

struct ProfileReport {
  const DeviceInfo& device;
  const Problem& problem;
  const Profile& profile;
  std::string source;  // of the variant: ProfiledVariant::source
  int tier;
};

// What is profiled and why that variant, before it starts: for standard error.
std::string profile_announcement(const DeviceInfo& device, const Problem& problem,
                                 const std::string& variant, const std::string& source);

std::string profile_table(const ProfileReport& report);
std::string profile_json(const ProfileReport& report);

}  // namespace mgtune
