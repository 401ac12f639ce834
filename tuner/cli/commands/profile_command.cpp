#include <iostream>

#include "cli/command.h"
#include "cli/output/profile_output.h"
#include "counters/counter_sets.h"
#include "device/cuda/cuda_driver.h"
#include "device/device_lock.h"
#include "device/registry.h"
#include "plan/problem_set.h"
#include "results/stored_results.h"
#include "sweep/profile.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

class ProfileCommand final : public Command {
 public:
  std::string details() const override {
    return "The variant is checked first. If it is wrong, it is not profiled and the exit code is\n"
           "1. Without --variant, the problem's pick in the database is profiled, or the default\n"
           "if there is none. Tier 1 takes about eleven passes; tier 2 adds stall reasons.\n"
           "Most drivers let only root read counters: then the exit code is 4, and the message\n"
           "says what to do.\n"
           "Examples:\n"
           "  mgtune profile rmsnorm.forward --problem rows=4096,hidden=4096,T=bf16\n"
           "  mgtune profile --list-metrics --chip GH100";
  }

  void declare(ArgumentList& arguments) override {
    arguments.kernel(kernel_, "NAME|DIR",
                     "Operator (rmsnorm.forward), or a family's folder with one operator");
    arguments.value("--problem", problem_, "DIMS", "rows=4096,hidden=4096,T=bf16");
    arguments.gpu(gpu_, "L4, an index, a UUID, or auto: the first GPU");
    arguments.value("--variant", variant_, "TEXT", "As 'mgtune show variants' prints it");
    arguments.flag("--best", best_, "Profile the problem's pick; it is an error if there is none");
    arguments.integer("--tier", tier_, "1|2", "How much to count (default: 1)");
    arguments.database(database_);
    arguments.flag("--list-metrics", list_metrics_,
                   "List the counters of the chip of --chip and stop; needs no GPU");
    arguments.value("--chip", chip_, "NAME", "The chip of --list-metrics: GH100, AD102, ...");
    arguments.json(json_);
  }

  Result<ExitCode> run(const Invocation& invocation) override {
    if (list_metrics_) return list_metrics();
    MGTUNE_TRY(check_words());
    Catalog catalog(FileSystem::real());
    MGTUNE_ASSIGN(const Operator* const op, only_operator(catalog, kernel_));
    MGTUNE_ASSIGN(const DeviceInfo device, only_gpu());
    MGTUNE_ASSIGN(const Problem problem, only_problem(*op, problem_, device.kind));
    MGTUNE_ASSIGN(Store store, open_results_to_write(database_));
    MGTUNE_ASSIGN(const ProfiledVariant chosen,
                  choose_variant(problem, device, variant_, best_, store));
    std::cerr << profile_announcement(device, problem, variant_text(*op, chosen.variant),
                                      chosen.source);
    const int tier = static_cast<int>(tier_);
    SweepOptions options;
    options.kernel = kernel_;
    options.command = invocation.command_line;
    options.program = invocation.program;
    options.lock_directory = DeviceLock::default_directory(device.kind);
    MGTUNE_ASSIGN(const Profile profile,
                  run_profile(options, tier, device, problem, chosen.variant, store));
    return print({device, problem, profile, chosen.source, tier});
  }

 private:
  Status check_words() const {
    if (!chip_.empty()) return invalid_argument("--chip goes with --list-metrics");
    if (kernel_.empty()) return invalid_argument("--kernel is required");
    if (best_ && !variant_.empty())
      return invalid_argument("give either --variant or --best, not both");
    if (tier_ < 1 || tier_ > kTiers) {
      return invalid_argument("--tier: expected 1 or 2, got " + std::to_string(tier_));
    }
    return {};
  }

  Result<ExitCode> list_metrics() const {
    if (chip_.empty()) return invalid_argument("--list-metrics needs --chip, such as GH100");
    MGTUNE_ASSIGN(const ChipListing listing, list_chip(chip_));
    std::cout << (json_ ? chip_metrics_json(listing) : chip_metrics_table(listing));
    return ExitCode::ok;
  }

  Result<DeviceInfo> only_gpu() const {
    MGTUNE_ASSIGN(const std::vector<DeviceInfo> devices, select_devices(gpu_));
    if (devices.size() > 1)
      return invalid_argument("--gpu " + gpu_ + " means several GPUs: name one of them");
    if (devices.front().kind == DeviceKind::cuda) return devices.front();
    std::string message = "the cpu device has no hardware counters: profile needs a GPU";
    if (gpu_ == "auto") message += "; " + cuda_driver().status().message();
    return environment_error(std::move(message));
  }

  Result<ExitCode> print(const ProfileReport& report) const {
    const Profile& profile = report.profile;
    if (profile.outcome == Outcome::ok) {
      std::cout << (json_ ? profile_json(report) : profile_table(report));
      return ExitCode::ok;
    }
    const std::string message = profile.variant + " is not profiled, because its outcome is " +
                                std::string(to_string(profile.outcome)) + ": " + profile.message;
    if (profile.outcome != Outcome::wrong) return Status(StatusCode::launch_failed, message);
    std::cerr << "mgtune: " << message << "\n";
    return ExitCode::gate_failed;
  }

  std::string kernel_, problem_, gpu_ = "auto", variant_, database_, chip_;
  std::uint64_t tier_ = 1;
  bool best_ = false, list_metrics_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_profile_command() { return std::make_unique<ProfileCommand>(); }

}  // namespace mgtune
