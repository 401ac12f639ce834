#include "plan/worker_cores.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "system/file_system.h"

namespace mgtune {
namespace {

constexpr std::size_t kCoresPerWorker = 2;

}  // namespace

std::optional<Cores> cores_near(const std::string& root, const std::string& pci_address) {
  if (pci_address.empty()) return std::nullopt;
  const Result<std::string> text =
      FileSystem::real().read_file(root + "/sys/bus/pci/devices/" + pci_address + "/local_cpulist");
  if (!text.ok()) return std::nullopt;
  Result<Cores> cores = parse_cores(*text);
  if (!cores.ok()) return std::nullopt;
  return *std::move(cores);
}

WorkerCores worker_cores(const std::string& root, const Cores& own,
                         const std::vector<DeviceInfo>& devices) {
  WorkerCores workers;
  for (const DeviceInfo& device : devices) {
    Cores& cores = workers.measure.emplace_back();
    const Cores near = cores_near(root, device.pci_address).value_or(Cores());
    std::ranges::set_intersection(own, near, std::back_inserter(cores));
  }
  const std::vector<Cores> wanted = workers.measure;
  workers.compile = own;
  for (Cores& cores : workers.measure) {
    const auto sharing = static_cast<std::size_t>(std::ranges::count(wanted, cores));
    if (cores == own || cores.size() < kCoresPerWorker * sharing) {
      cores.clear();
      continue;
    }
    Cores left;
    std::ranges::set_difference(workers.compile, cores, std::back_inserter(left));
    workers.compile = std::move(left);
  }
  if (workers.compile == own) workers.compile.clear();
  return workers;
}

}  // namespace mgtune
