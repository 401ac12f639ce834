#include "sweep/known_results.h"

#include <fmt/format.h>

#include <utility>

#include "check/reference.h"
#include "compiler/ptxas_report.h"
#include "launch/loaded_variant.h"
#include "sweep/same_code.h"
#include "worker/machine_code.h"

namespace mgtune {
namespace {

// Workers refuse a build to which ptxas objects. Rows that were recorded before workers did so have
// only the log.
void refuse_objected(BuildRecord& build) {
  std::string objections = ptxas_objections(build.message);
  if (build.outcome != Outcome::ok || objections.empty()) return;
  build.outcome = Outcome::compile_failed;
  build.message = std::move(objections);
  build.sha256.clear();
}

// Names for the kernels of a build that other builds may have too. A name includes whatever
// distinguishes the kernel from kernels with the same name at other problems.
std::vector<std::string> common_kernels(const BuildRequest& request) {
  if (!request.kernels_apart || request.kernels.size() < 2) return {};
  const std::string program = program_text(request);
  std::vector<std::string> kernels;
  for (const std::string& kernel : request.kernels) {
    kernels.push_back(fmt::format("{} of {}", kernel, program));
  }
  return kernels;
}

}  // namespace

KnownResults::KnownResults(Store& store, Builder& builder, BuildCache& cache,
                           const DeviceInfo& device, const Problem& problem, std::int64_t gpu_id,
                           std::int64_t problem_id, std::string method, Retries* retries)
    : store_(store),
      builder_(builder),
      cache_(cache),
      device_(device),
      problem_(problem),
      binding_(problem.binding()),
      gpu_id_(gpu_id),
      problem_id_(problem_id),
      reference_hash_(reference_hash(*problem.op)),
      method_(std::move(method)),
      retries_(retries) {}

bool KnownResults::retries(Outcome outcome) const {
  return retries_ != nullptr && retries_->outcomes.contains(outcome);
}

Result<VariantState> KnownResults::look_up(const Variant& variant) {
  const Operator& op = *problem_.op;
  VariantState state;
  state.point = variant;
  state.variant = variant_text(op, variant);
  state.key = {gpu_id_, problem_id_, "", launch_hash(op, variant), reference_hash_};
  MGTUNE_ASSIGN(const Slots slots, compile_slots(binding_, variant, device_.limits));
  const Result<BuildRequest> request = variant_build_request(op, variant, slots, device_.arch);
  if (!request.ok()) {
    state.build.outcome = Outcome::compile_failed;
    state.build.message = request.status().message();
    MGTUNE_TRY(find_results(state));
    return state;
  }
  MGTUNE_ASSIGN(state.build.key, builder_.key(*request));
  state.build.arch = request->arch;
  state.kernels = common_kernels(*request);
  state.group = group_text(*request);
  state.launches = launch_values(problem_, variant, slots);

  MGTUNE_ASSIGN(std::optional<BuildRecord> build, store_.find_build(state.build.key));
  if (build.has_value()) refuse_objected(*build);
  if (build.has_value() &&
      (!retries(build->outcome) || retries_->builds.contains(state.build.key))) {
    state.build = *std::move(build);
    MGTUNE_TRY(find_results(state));
  }
  if (state.need == VariantState::Need::measure) {
    // We verify the binary here, because otherwise a measure worker would compile a damaged one
    // again, within the deadline of the variant.
    const std::optional<Build> cached = cache_.load(state.build.key);
    state.cached = cached.has_value() && cached->sha256 == state.build.sha256;
    if (state.cached) state.code = machine_code_identity(cached->binary);
    if (!state.cached) state.need = VariantState::Need::compile;
  } else if (state.need == VariantState::Need::compile) {
    state.cached = cache_.recorded_sha256(state.build.key).has_value();
  }
  return state;
}

Status KnownResults::add_build(VariantState& state, const WorkReply& reply) {
  const std::string key = state.build.key;
  if (reply.build.has_value()) state.build = *reply.build;
  state.build.key = key;
  state.code = reply.code;
  if (retries_ != nullptr) retries_->builds.insert(key);
  if (reply.outcome != Outcome::ok) {
    state.build.sha256.clear();
    state.build.outcome = reply.outcome;
    state.build.message = reply.message;
  }
  // Without the key, the next sweep tries the build again: the machine may have more memory or time
  // then.
  if (reply.failure != StatusCode::ok) state.build.key.clear();
  return find_results(state);
}

Status KnownResults::find_results(VariantState& state) {
  if (state.build.outcome != Outcome::ok) {
    state.need = VariantState::Need::nothing;
    state.outcome = state.build.outcome;
    state.message = state.build.message;
    return {};
  }
  state.need = VariantState::Need::measure;
  state.key.build_sha256 = state.build.sha256;
  MGTUNE_ASSIGN(state.check, store_.find_check(state.key));
  if (state.check.has_value() && retries(state.check->outcome)) state.check.reset();
  if (!state.check.has_value()) return {};
  if (state.check->outcome == Outcome::ok) {
    MGTUNE_ASSIGN(state.measurement, store_.find_measurement(state.key, method_));
    if (state.measurement.has_value() && retries(state.measurement->outcome)) {
      state.measurement.reset();
    }
    if (!state.measurement.has_value()) return {};
  }
  const bool checked = state.check->outcome == Outcome::ok;
  state.need = VariantState::Need::nothing;
  state.outcome = checked ? state.measurement->outcome : state.check->outcome;
  state.message = checked ? state.measurement->message : state.check->message;
  return {};
}

void KnownResults::add_measurement(VariantState& state, const WorkReply& reply) const {
  state.need = VariantState::Need::nothing;
  state.outcome = reply.outcome;
  state.message = reply.message;
  state.check = reply.check;
  state.measurement = reply.measurement;
  const bool carried =
      reply.outcome == Outcome::ok ||
      (reply.check.has_value() && reply.check->outcome == reply.outcome) ||
      (reply.measurement.has_value() && reply.measurement->outcome == reply.outcome);
  if (carried) return;
  if (!reply.check.has_value()) {
    state.check = CheckRecord{reply.outcome, reply.message, 0, 0};
  } else {
    state.measurement = MeasurementRecord{};
    state.measurement->outcome = reply.outcome;
    state.measurement->message = reply.message;
    state.measurement->method = method_;
  }
}

}  // namespace mgtune
