#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "build/build_cache.h"
#include "build/builder.h"
#include "check/checker.h"
#include "compile/compile_worker.h"
#include "device/registry.h"
#include "family/catalog.h"
#include "family_check/trial.h"
#include "family_check/trial_text.h"
#include "launch/loaded_variant.h"
#include "system/file_system.h"
#include "worker/work_item.h"

namespace mgtune {
namespace {

// A small problem takes milliseconds, so a kernel that runs this long has an endless loop.
constexpr const char* kKernelDeadlineS = "3";

class TrialWorker {
 public:
  TrialWorker(DeviceInfo info, std::unique_ptr<Device> device)
      : info_(std::move(info)),
        device_(std::move(device)),
        catalog_(FileSystem::real()),
        builder_(BuildCache(FileSystem::real(), BuildCache::default_directory())) {}

  void run(std::size_t number, const TrialItem& item) {
    line_ = {number, false, {}};
    const Status status = work(item);
    line_.is_done = true;
    if (!status.ok()) {
      line_.result.failure = status.code();
      line_.result.message = status.message();
    }
    send();
  }

 private:
  void send() { std::cout << encode(line_) << std::endl; }

  void begin(TrialResult::Stage stage) {
    line_.result.stage = stage;
    send();
  }

  Status work(const TrialItem& item) {
    begin(TrialResult::Stage::build);
    MGTUNE_ASSIGN(const WorkItem bound,
                  bind_request(catalog_, {item.kernel, item.op, item.problem}, item.variant));
    BuildRecord record;
    MGTUNE_ASSIGN(const Build build, build_item(builder_, bound, info_, record));
    line_.result.registers = record.registers;
    line_.result.spill_bytes = record.spill_bytes;
    line_.result.static_shared_bytes = record.static_shared_bytes;
    if (device_ == nullptr) return {};
    begin(TrialResult::Stage::reference);
    MGTUNE_TRY(make_checker(item, bound.problem));
    begin(TrialResult::Stage::run);
    MGTUNE_ASSIGN(const std::unique_ptr<LoadedVariant> variant,
                  LoadedVariant::load(*device_, bound.problem.binding(), bound.variant, build));
    return check(*variant);
  }

  Status make_checker(const TrialItem& item, const Problem& problem) {
    if (checker_ != nullptr && item.op == checked_op_ && item.problem == checked_problem_)
      return {};
    checker_.reset();
    MGTUNE_ASSIGN(checker_, Checker::make(*device_, builder_, problem));
    checked_op_ = item.op;
    checked_problem_ = item.problem;
    return {};
  }

  Status check(const LoadedVariant& variant) {
    const bool is_cpu = info_.kind == DeviceKind::cpu;
    if (is_cpu) {
      // A timeout is no fault yet: a launch that is too slow with checks may end in time without
      // them.
      Status faults = checker_->find_faults(variant, false);
      if (!faults.ok() && faults.code() != StatusCode::timeout) return faults;
    }
    MGTUNE_ASSIGN(const CheckRecord record, checker_->check(variant));
    if (record.outcome == Outcome::ok) return {};
    if (record.outcome == Outcome::timeout) return {StatusCode::timeout, record.message};
    line_.result.is_wrong = record.outcome == Outcome::wrong;
    std::string message = record.message;
    if (is_cpu && line_.result.is_wrong) {
      // Reads of unwritten memory are often harmless, so they are reported only as the cause of a
      // wrong result.
      const Status faults = checker_->find_faults(variant, true);
      if (!faults.ok()) message = faults.message() + "\nresult: " + message;
    }
    return {StatusCode::launch_failed, std::move(message)};
  }

  DeviceInfo info_;
  std::unique_ptr<Device> device_;  // null if items are only built
  Catalog catalog_;
  Builder builder_;
  std::string checked_op_, checked_problem_;  // of the checker
  std::unique_ptr<Checker> checker_;
  TrialLine line_;
};

}  // namespace

Status run_trial_worker(const std::string& word) {
  MGTUNE_ASSIGN(TrialRequest request, decode_trial_request(word));
  std::unique_ptr<Device> device;
  if (request.runs) {
    ::setenv("MGTUNE_CPU_DEADLINE_S", kKernelDeadlineS, 0);
    MGTUNE_ASSIGN(device, open_device(request.device.id));
  } else {
    keep_driver_out();
  }
  TrialWorker worker(std::move(request.device), std::move(device));
  for (std::size_t i = 0; i < request.items.size(); ++i) worker.run(i, request.items[i]);
  return {};
}

}  // namespace mgtune
