// What `mgtune profile` prints: counters of a variant, or with --list-metrics those of a chip. Pure
// functions.

#pragma once

#include <string>

#include "counters/chip_counters.h"
#include "device/device.h"
#include "family/problem.h"
#include "sweep/profile.h"

namespace mgtune {

struct ProfileReport {
  const DeviceInfo& device;
  const Problem& problem;
  const Profile& profile;
  std::string source;  // ProfiledVariant::source
  int tier;
};

// Said on standard error before the start: what is profiled, and why this variant.
std::string profile_announcement(const DeviceInfo& device, const Problem& problem,
                                 const std::string& variant, const std::string& source);

std::string profile_table(const ProfileReport& report);
std::string profile_json(const ProfileReport& report);

std::string chip_metrics_table(const ChipListing& listing);
std::string chip_metrics_json(const ChipListing& listing);

}  // namespace mgtune
