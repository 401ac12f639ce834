#include "worker/work_item.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ptxas_report.h"
#include "worker/machine_code.h"
#include "worker/worker_failure.h"

namespace mgtune {
namespace {

constexpr std::size_t kMaxStoredLog = 4096;  // bytes; the log of one kernel has less than 1,000

// The largest number over the kernels of a build, because this one limits the variant; -1 if one of
// the numbers is unknown.
int largest(const Build& build, int BuildKernel::*number) {
  const auto [smallest, greatest] = std::ranges::minmax(
      build.kernels, {}, [&](const BuildKernel& kernel) { return kernel.*number; });
  return smallest.*number < 0 ? -1 : greatest.*number;
}

void record_resources(const Build& build, BuildRecord& record) {
  record.code_bytes = machine_code_bytes(build.binary);
  record.ptx_bytes = build.ptx_bytes;
  if (build.kernels.empty()) return;
  record.registers = largest(build, &BuildKernel::registers);
  record.spill_bytes = largest(build, &BuildKernel::spill_bytes);
  record.static_shared_bytes = largest(build, &BuildKernel::static_shared_bytes);
}

// Whole lines from the beginning of the log, because warnings come first in it.
std::string stored_log(const std::string& log) {
  if (log.size() <= kMaxStoredLog) return log;
  const std::size_t end = log.rfind('\n', kMaxStoredLog);
  const std::size_t kept = end == std::string::npos ? kMaxStoredLog : end + 1;
  return fmt::format("{}({} more bytes are left out)\n", log.substr(0, kept), log.size() - kept);
}

// Makes the build's request, and fills in the members of the record that are known before the
// build.
Result<BuildRequest> keyed_request(Builder& builder, const WorkItem& item, const DeviceInfo& device,
                                   BuildRecord& record) {
  record.arch = device.arch;
  MGTUNE_ASSIGN(BuildRequest request, item_build_request(item, device));
  record.arch = request.arch;
  MGTUNE_ASSIGN(request.key, builder.key(request));
  record.key = request.key;
  return request;
}

// Completes the record of the build. A build to which ptxas objects becomes a failure.
Result<Build> recorded(Result<Build> build, BuildRecord& record) {
  if (build.ok()) {
    // If ptxas objects, the kernel is not the one that the source describes, so we do not measure
    // it. A program that links the runtime still uses such a build if there is no other one: it is
    // slow, not wrong.
    std::string objections = ptxas_objections(build->log);
    if (!objections.empty()) build = Status(StatusCode::compile_failed, std::move(objections));
  }
  if (!build.ok()) {
    record.outcome = outcome_of(build.status()).value_or(Outcome::ok);
    record.message = build.status().message();
    return build;
  }
  record.sha256 = build->sha256;
  record.message = stored_log(build->log);
  record_resources(*build, record);
  return build;
}

}  // namespace

Result<WorkItem> bind_request(Catalog& catalog, const NamedProblem& request,
                              const std::string& variant) {
  MGTUNE_ASSIGN(const std::vector<const Operator*> operators, catalog.find(request.kernel));
  const auto op =
      std::ranges::find(operators, request.op, [](const Operator* it) { return it->full_name(); });
  if (op == operators.end()) {
    return not_found(request.kernel + " has no operator " + request.op);
  }
  WorkItem item;
  MGTUNE_ASSIGN(const auto values, parse_assignments(request.problem));
  MGTUNE_ASSIGN(item.problem, bind_problem(**op, values));
  MGTUNE_ASSIGN(item.variant, parse_variant(**op, variant));
  return item;
}

Result<BuildRequest> item_build_request(const WorkItem& item, const DeviceInfo& device) {
  MGTUNE_ASSIGN(const Slots slots,
                compile_slots(item.problem.binding(), item.variant, device.limits));
  return variant_build_request(*item.problem.op, item.variant, slots, device.arch);
}

Result<Build> build_item(Builder& builder, const WorkItem& item, const DeviceInfo& device,
                         BuildRecord& record) {
  MGTUNE_ASSIGN(const BuildRequest request, keyed_request(builder, item, device, record));
  return recorded(builder.build(request), record);
}

std::optional<Build> cached_item(Builder& builder, const WorkItem& item, const DeviceInfo& device,
                                 BuildRecord& record) {
  const Result<BuildRequest> request = keyed_request(builder, item, device, record);
  if (!request.ok()) return std::nullopt;
  Result<std::optional<Build>> found = builder.find(*request);
  if (!found.ok() || !found->has_value()) return std::nullopt;
  Result<Build> build = recorded(**std::move(found), record);
  if (!build.ok()) return std::nullopt;
  return *std::move(build);
}

}  // namespace mgtune
