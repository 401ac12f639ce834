// What `mgtune profile` prints: the counters of a variant, or with --list-metrics the counters that
// a chip has. Pure functions.

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

// Printed on standard error before the start. It says what is profiled, and why this variant was
// chosen.
std::string profile_announcement(const DeviceInfo& device, const Problem& problem,
                                 const std::string& variant, const std::string& source);

std::string profile_table(const ProfileReport& report);
std::string profile_json(const ProfileReport& report);

std::string chip_metrics_table(const ChipListing& listing);
std::string chip_metrics_json(const ChipListing& listing);

}  // namespace mgtune
