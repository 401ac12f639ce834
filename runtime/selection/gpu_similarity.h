// GPUs as selection sees them: from a device to a record and back, and how similar two of them are.
// Pure functions.

#pragma once

#include <cstdint>

#include "database/gpu_record.h"
#include "device/device.h"

namespace mgtune {

GpuRecord gpu_record(const DeviceInfo& device);

// A DeviceInfo with the properties of the record; the others are unknown. Selection uses it for a
// GPU that this machine does not have.
DeviceInfo device_of(const GpuRecord& gpu);

// How different two GPUs are. It is 0 if they differ only in the size of their memory.
double gpu_distance(const GpuRecord& a, const GpuRecord& b);

// The log2 of a dim as all distances use it: 0 and 1 have the same distance to everything.
double log_extent(std::int64_t dim);

}  // namespace mgtune
