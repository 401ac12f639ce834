#include <cmath>
#include <iostream>

#include "cli/command.h"
#include "clocks/clock_watch.h"
#include "device/registry.h"
#include "json/json.h"
#include "text/text_table.h"
#include "text/units.h"

namespace mgtune {
namespace {

// Zeros if NVML does not know them.
ClockLimits clock_limits(const DeviceInfo& device) {
  if (device.kind == DeviceKind::cpu) return {};
  const Result<ClockLimits> limits = read_clock_limits(device.id);
  return limits.ok() ? *limits : ClockLimits();
}

std::string describe_clocks(const ClockLimits& limits) {
  std::string text;
  if (limits.sm_mhz > 0)
    text += ", SM up to " + std::to_string(std::lround(limits.sm_mhz)) + " MHz";
  if (limits.power_w > 0) text += ", " + std::to_string(std::lround(limits.power_w)) + " W";
  return text;
}

std::string describe_limits(const DeviceInfo& device) {
  if (device.kind == DeviceKind::cpu) return "emulation: its times do not predict those of a GPU";
  return std::to_string(device.limits.sm_count) + " SMs, " + bytes_text(device.memory_bytes) +
         ", L2 " + bytes_text(device.limits.l2_bytes) + describe_clocks(clock_limits(device));
}

std::string devices_table(const std::vector<DeviceInfo>& devices) {
  TextTable table({{"--gpu"}, {"name"}, {"arch"}, {"id"}, {"limits"}});
  for (const DeviceInfo& device : devices) {
    const bool cpu = device.kind == DeviceKind::cpu;
    table.add_row({cpu ? "cpu" : std::to_string(device.index), device.name, device.arch, device.id,
                   describe_limits(device)});
  }
  return table.text();
}

std::string devices_json(const std::vector<DeviceInfo>& devices) {
  Json rows = Json::array();
  for (const DeviceInfo& device : devices) {
    const ClockLimits limits = clock_limits(device);
    rows.push_back({{"id", device.id},
                    {"name", device.name},
                    {"kind", device.kind == DeviceKind::cpu ? "cpu" : "cuda"},
                    {"emulation", device.kind == DeviceKind::cpu},
                    {"index", device.index},
                    {"arch", device.arch},
                    {"compute_capability", device.limits.compute_capability},
                    {"sm_count", device.limits.sm_count},
                    {"max_shared_bytes", device.limits.max_shared_bytes},
                    {"l2_bytes", device.limits.l2_bytes},
                    {"memory_bytes", device.memory_bytes},
                    {"max_sm_mhz", limits.sm_mhz},
                    {"max_memory_mhz", limits.memory_mhz},
                    {"power_limit_w", limits.power_w},
                    {"mig_profile", device.mig_profile},
                    {"driver", device.driver}});
  }
  return Json({{"format", 1}, {"devices", rows}}).document_text();
}

class DevicesCommand final : public Command {
 public:
  std::string details() const override {
    return "--gpu takes the word of the first column, a product name (L4), or an id.\n"
           "Example: mgtune devices --json";
  }
  void declare(ArgumentList& arguments) override { arguments.json(json_); }
  Result<ExitCode> run(const Invocation&) override {
    const std::vector<DeviceInfo> devices = list_devices();
    std::cout << (json_ ? devices_json(devices) : devices_table(devices));
    return ExitCode::ok;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_devices_command() { return std::make_unique<DevicesCommand>(); }

}  // namespace mgtune
