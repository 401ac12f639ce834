// WorkerCores: which cores the processes of a sweep run on. If a machine has several NUMA nodes,
// each GPU belongs to one of them. A process on a core of another node reaches the GPU through the
// link between the nodes, and the scheduler may move it there and back. So a measure worker runs on
// the cores near its GPU, and compile processes take the other cores first.

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
  // Those of this process that are near none of the devices. As many compile processes as there are
  // such cores run on them alone, and further ones on any core.
  Cores compile;
};

// What /sys says: the cores at the NUMA node of a PCI device, or all cores if it knows of no node.
// nullopt if the files are missing, as in some containers, or the address is "". `root` is where
// /sys is; "" outside tests.
std::optional<Cores> cores_near(const std::string& root, const std::string& pci_address);

// `own` are the cores that this process may use (own_cores()). Nothing is limited for a device if
// it is not known which cores are near it, if all of `own` are, or if there are not two for each
// worker that would run on them: a worker reads builds on a second thread while it measures.
WorkerCores worker_cores(const std::string& root, const Cores& own,
                         const std::vector<DeviceInfo>& devices);

}  // namespace mgtune
