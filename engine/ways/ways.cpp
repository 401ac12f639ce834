#include "ways/ways.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "device/registry.h"
#include "graph/graph_machine.h"
#include "reference/reference_machine.h"
#include "steps/steps_machine.h"

namespace mgtune::engine {
Result<std::string> resolve_way(std::string_view way, const std::string& device) {
  const bool names_device = !device.empty() && device != "auto";
  if (std::ranges::find(kWays, way) == kWays.end()) {
    return invalid_argument(
        fmt::format("way is '{}', but it must be one of: {}", way, fmt::join(kWays, ", ")));
  }
  if (way == "reference" && names_device) {
    return invalid_argument(fmt::format(
        "the way reference runs on the host and uses no device, but the device '{}' is named",
        device));
  }
  if (way != "auto") return std::string(way);
  if (device == "cpu") return std::string("steps");
  const Result<std::vector<DeviceInfo>> devices = select_devices(names_device ? device : "auto");
  if (names_device) MGTUNE_TRY(devices.status());
  const bool has_gpu = devices.ok() && devices->front().kind == DeviceKind::cuda;
  return std::string(has_gpu ? "graph" : "reference");
}

MachineFactory machine_of(std::string_view way, const std::string& device,
                          const std::string& database) {
  if (way == "reference") return ReferenceMachine::create;
  StepsOptions options;
  options.device = device.empty() ? "auto" : device;
  options.database = database;
  return way == "steps" ? steps_factory(std::move(options)) : graph_factory(std::move(options));
}

}  // namespace mgtune::engine
