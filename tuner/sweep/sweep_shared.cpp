#include "sweep/sweep_shared.h"

#include <sys/utsname.h>

#include <string_view>
#include <utility>

#include "compiler/compiler.h"
#include "core/version.h"
#include "system/file_system.h"
#include "system/utc_now.h"

namespace mgtune {
namespace {

// PRETTY_NAME of /etc/os-release; "" where there is none.
std::string distribution() {
  const Result<std::string> text = FileSystem::real().read_file("/etc/os-release");
  if (!text.ok()) return "";
  constexpr std::string_view kField = "PRETTY_NAME=\"";
  const std::size_t start = text->find(kField);
  if (start == std::string::npos) return "";
  const std::size_t begin = start + kField.size();
  return text->substr(begin, text->find('"', begin) - begin);
}

std::string operating_system() {
  utsname names{};
  if (uname(&names) != 0) return distribution();
  const std::string kernel =
      std::string(names.sysname) + " " + names.release + ", " + names.machine;
  const std::string name = distribution();
  return name.empty() ? kernel : name + ", " + kernel;
}

// Describes what may change between two runs on one device. Starts the device's compiler once to
// get its identity; environment if there is no compiler.
Result<EnvironmentRecord> describe_environment(const DeviceInfo& device) {
  MGTUNE_ASSIGN(const auto compiler, make_compiler(device.arch));
  EnvironmentRecord environment;
  environment.mgtune_version = mgtune_version();
  environment.compiler = compiler->identity();
  environment.driver = device.driver;
  environment.system = operating_system();
  return environment;
}

}  // namespace

Result<std::int64_t> SweepJournal::begin() {
  if (sweep_id_ != 0) return sweep_id_;
  MGTUNE_ASSIGN(const EnvironmentRecord environment, describe_environment(device_));
  SweepRecord sweep;
  sweep.gpu = gpu_id_;
  MGTUNE_ASSIGN(sweep.environment, store_.environment_id(environment));
  sweep.command = options_.command;
  sweep.strategy = options_.finals ? std::string(kFinalsStrategy) : options_.strategy;
  sweep.budget = options_.budget.text;
  sweep.started_at = utc_now();
  MGTUNE_ASSIGN(sweep_id_, store_.begin_sweep(sweep));
  return sweep_id_;
}

Status SweepJournal::add(OutcomeRecord outcome) {
  MGTUNE_ASSIGN(outcome.sweep, begin());
  unwritten_.push_back(std::move(outcome));
  return {};
}

Status SweepJournal::write() {
  if (unwritten_.empty()) return {};
  return store_.record(std::exchange(unwritten_, {}));
}

Status SweepJournal::finish() {
  return sweep_id_ == 0 ? Status() : store_.finish_sweep(sweep_id_, utc_now());
}

Result<FailedVariants> read_failed_variants(SweepShared& shared, const TunedView& pick) {
  FailedVariants failed;
  MGTUNE_ASSIGN(const std::vector<FailureView> failures, shared.store.failures(pick.op));
  failed.add(failures);
  return failed;
}

}  // namespace mgtune
