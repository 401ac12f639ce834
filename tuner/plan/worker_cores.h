// WorkerCores: which cores the processes of a sweep run on. If a machine has several NUMA nodes,
// each GPU belongs to one of them. A process on a core of another node reaches the GPU only through
// the link between the nodes, and the scheduler may move a process between nodes at any time. So a
// measure worker runs only on the cores near its GPU, and compile processes use the other cores
// first.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "system/cores.h"

namespace mgtune {

// An empty list does not limit a process.
struct WorkerCores {
  std::vector<Cores> measure;  // of the measure worker of each device
  // The cores of this process that are near none of the devices. If there are n such cores, n
  // compile processes run only on them, and any further compile processes run on any core.
  Cores compile;
};

// The cores at the NUMA node of a PCI device, as /sys lists them, or all cores if /sys names no
// node for the device. nullopt if the files are missing, as in some containers, or if the address
// is "". `root` is where /sys is; "" outside tests.
std::optional<Cores> cores_near(const std::string& root, const std::string& pci_address);

// `own` are the cores that this process may use (own_cores()). The worker of a device may use any
// core if it is not known which cores are near the device, if all of `own` are near it, or if there
// are fewer than two near cores for each worker that would run on them (a worker reads builds on a
// second thread while it measures).
WorkerCores worker_cores(const std::string& root, const Cores& own,
                         const std::vector<DeviceInfo>& devices);

}  // namespace mgtune
