#include <algorithm>
#include <cmath>
#include <iostream>

#include "calibration/calibrate.h"
#include "ceilings/ceiling.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "device/device_lock.h"
#include "device/registry.h"
#include "json/json.h"
#include "measure/timing_method_probe.h"
#include "results/stored_results.h"
#include "system/temporary_folder.h"
#include "text/text_table.h"
#include "text/units.h"

namespace mgtune {
namespace {

// The result of one GPU.
struct Calibration {
  DeviceInfo device;
  CalibrateSummary summary;
};

std::string rounded(double value) {
  return value > 0 ? std::to_string(std::lround(value)) : std::string();
}

std::string ceilings_table(const CalibrateSummary& summary) {
  using Align = TextTable::Align;
  TextTable table({{"ceiling"},
                   {"bytes", Align::right},
                   {"GB/s", Align::right},
                   {"TFLOP/s", Align::right},
                   {"SM MHz", Align::right},
                   {"throttled by"}});
  for (const CeilingRecord& ceiling : summary.ceilings) {
    const bool is_memory = is_memory_ceiling(ceiling.kind);
    table.add_row({ceiling.kind, is_memory ? bytes_text(ceiling.bytes) : "",
                   is_memory ? bandwidth_text(ceiling.rate / 1e9) : "",
                   is_memory ? "" : bandwidth_text(ceiling.rate / 1e12),
                   rounded(ceiling.clocks.sm_mhz), ceiling.clocks.throttle_reasons});
  }
  return table.text();
}

Json ceiling_json(const CeilingRecord& ceiling) {
  const bool is_memory = is_memory_ceiling(ceiling.kind);
  return {{"kind", ceiling.kind},
          {"method", ceiling.method},
          {"bytes", ceiling.bytes},
          {"rate", ceiling.rate},
          {"unit", is_memory ? "bytes/s" : "flop/s"},
          {"measured_at", ceiling.measured_at},
          {"sm_mhz", ceiling.clocks.sm_mhz},
          {"memory_mhz", ceiling.clocks.memory_mhz},
          {"power_w", ceiling.clocks.power_w},
          {"temperature_c", ceiling.clocks.temperature_c},
          {"throttle_reasons", ceiling.clocks.throttle_reasons}};
}

std::string calibrations_json(const std::vector<Calibration>& calibrations,
                              const TimingMethod& method, const Store& store) {
  Json all = Json::array();
  for (const Calibration& calibration : calibrations) {
    const CalibrateSummary& summary = calibration.summary;
    Json ceilings = Json::array();
    for (const CeilingRecord& ceiling : summary.ceilings) ceilings.push_back(ceiling_json(ceiling));
    all.push_back({{"device", calibration.device.id},
                   {"name", calibration.device.name},
                   {"method", method.name},
                   {"database", store.path()},
                   {"stopped_early", summary.stopped_early},
                   {"ceilings", ceilings},
                   {"lacking", summary.lacking},
                   {"failed", summary.failed}});
  }
  return Json({{"format", 1}, {"calibrations", all}}).document_text();
}

std::string sentences(const CalibrateSummary& summary, const Store& store) {
  std::string text;
  for (const std::string& what : summary.lacking) text += "not measured: " + what + "\n";
  for (const std::string& what : summary.failed) text += "failed: " + what + "\n";
  if (summary.stopped_early) {
    text += "Calibration was interrupted. The ceilings that were measured are recorded.\n";
  }
  return text + "The ceilings are in " + store.path() + ".\n";
}

void print_progress(const CalibrateProgress& progress) {
  const CeilingNeed& next = progress.next;
  std::cerr << "measuring " << progress.done + 1 << " of " << progress.total << ": " << next.kind
            << (next.bytes > 0 ? " of " + bytes_text(next.bytes) : "") << "\n";
}

class CalibrateCommand final : public Command {
 public:
  std::string details() const override {
    return "Measures copy and read bandwidth from 1 MiB to 512 MiB, and fp32 and tensor-core\n"
           "arithmetic, on random data and with the method that times kernels. This takes about\n"
           "a minute per GPU. Sweeps compare their kernels with these ceilings. For 30 days they\n"
           "reuse them. The time of a copy of any size follows from the copies of the next sizes.\n"
           "The exit code is 3 if a ceiling could not be measured, and 4 on the cpu device.\n"
           "Example: mgtune calibrate --gpu all";
  }
  void declare(ArgumentList& arguments) override {
    arguments.gpu(gpu_, "L4, an index, a UUID, all, or auto (the first GPU)");
    arguments.database(database_);
    arguments.json(json_);
  }

  Result<ExitCode> run(const Invocation& invocation) override {
    MGTUNE_ASSIGN(const std::vector<DeviceInfo> devices, select_devices(gpu_));
    if (devices.front().kind == DeviceKind::cpu) {
      return environment_error(
          "calibrate needs a GPU: the cpu device is an emulation and has no ceilings to measure");
    }
    MGTUNE_ASSIGN(const TimingMethod method, probe_timing_method(invocation.program));
    MGTUNE_ASSIGN(Store store, open_results_to_write(database_));
    install_interrupt_handlers(store.path());
    TemporaryFolder::remove_abandoned();
    SweepOptions options;
    options.method = method;
    options.command = invocation.command_line;
    options.program = invocation.program;
    options.lock_directory = DeviceLock::default_directory(DeviceKind::cuda);
    std::vector<Calibration> calibrations;
    for (const DeviceInfo& device : devices) {
      if (interrupted()) break;
      announce(device, method);
      MGTUNE_ASSIGN(CalibrateSummary summary,
                    calibrate(options, device, store, print_progress, interrupted));
      std::cerr << sentences(summary, store);
      if (!json_) std::cout << ceilings_table(summary);
      calibrations.push_back({device, std::move(summary)});
    }
    stop_interrupt_timer();
    if (json_) std::cout << calibrations_json(calibrations, method, store);
    if (interrupted()) {
      leave_nothing_behind("");
      return interrupt_exit_code();
    }
    const bool any_failed = std::ranges::any_of(calibrations, [](const Calibration& calibration) {
      return !calibration.summary.failed.empty();
    });
    return any_failed ? ExitCode::partial : ExitCode::ok;
  }

 private:
  static void announce(const DeviceInfo& device, const TimingMethod& method) {
    std::cerr << "ceilings of " << device.name << ", method " << method.name << "\n";
    if (method.name == "rotating_events") {
      std::cerr << "CUDA events time the kernels, which includes gaps between launches: "
                << method.reason << "\n";
    }
  }

  std::string gpu_ = "auto", database_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_calibrate_command() { return std::make_unique<CalibrateCommand>(); }

}  // namespace mgtune
