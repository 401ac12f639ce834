#include <algorithm>
#include <iostream>

#include "cli/command.h"
#include "cli/output/check_output.h"
#include "core/text.h"
#include "device/registry.h"
#include "family_check/family_check.h"
#include "family_check/target_device.h"
#include "system/temporary_folder.h"

namespace mgtune {
namespace {

class CheckCommand final : public Command {
 public:
  std::string details() const override {
    return "Finds mistakes in the files of a family before a sweep, with file and line. It\n"
           "validates the operator files, compiles one variant of each design, and runs it on\n"
           "small problems. On the cpu device each access is checked for races and bounds.\n"
           "The exit code is 3 if a problem is found. Nothing is stored.\n"
           "Example: mgtune check path/to/my_family\n"
           "         mgtune check path/to/my_family.forward --arch sm_90";
  }
  void declare(ArgumentList& arguments) override {
    arguments.word("KERNEL", kernel_, {}, "A folder, a family or an operator: DIR, DIR.forward");
    arguments.value("--arch", archs_, "LIST",
                    "Architectures to compile for: sm_80,sm_90 (default: the GPU's, else these)");
    arguments.value("--gpu", gpu_, "NAME",
                    "Run on this device too: L4, an index, a UUID, cpu, or auto (the first GPU)");
    arguments.json(json_);
  }

  Result<ExitCode> run(const Invocation& invocation) override {
    FamilyCheckRequest request;
    request.kernel = kernel_;
    request.program = invocation.program;
    TemporaryFolder::remove_abandoned();
    MGTUNE_ASSIGN(request.devices, select_devices("cpu"));
    MGTUNE_ASSIGN(const std::vector<DeviceInfo> selected, select_devices(gpu_));
    for (const DeviceInfo& device : selected) {
      if (device.kind == DeviceKind::cuda) request.devices.push_back(device);
    }
    MGTUNE_ASSIGN(request.targets, targets(request.devices));
    MGTUNE_ASSIGN(const FamilyReport report, check_family(request));
    std::cout << (json_ ? check_json(report) : check_text(report, kernel_));
    return report.findings.empty() ? ExitCode::ok : ExitCode::partial;
  }

 private:
  Result<std::vector<DeviceInfo>> targets(const std::vector<DeviceInfo>& devices) const {
    std::vector<DeviceInfo> chosen;
    if (archs_.empty()) {
      for (const DeviceInfo& device : devices) {
        const auto known = std::ranges::find(chosen, device.arch, &DeviceInfo::arch);
        if (device.kind == DeviceKind::cuda && known == chosen.end()) chosen.push_back(device);
      }
      if (!chosen.empty()) return chosen;
    }
    for (const std::string& arch : split_list(archs_.empty() ? "sm_80,sm_90" : archs_)) {
      MGTUNE_ASSIGN(chosen.emplace_back(), target_device(arch));
    }
    return chosen;
  }

  std::string kernel_, archs_, gpu_ = "auto";
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_check_command() { return std::make_unique<CheckCommand>(); }

}  // namespace mgtune
