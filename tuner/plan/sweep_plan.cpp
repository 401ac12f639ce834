#include "plan/sweep_plan.h"

#include <algorithm>

#include "core/dtype.h"
#include "core/suggest.h"
#include "device/registry.h"
#include "family/problem_check.h"
#include "measure/timing_method_probe.h"
#include "plan/problem_set.h"
#include "search/search.h"
#include "search/target.h"
#include "selection/variant_selection.h"
#include "timing/gpu_timer.h"

namespace mgtune {
namespace {

// A minute is enough to try a family, whatever the number of its operators.
constexpr const char* kEmulationBudget = "1m";
constexpr const char* kGpuBudget = "10m";

constexpr DType kDTypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64,
                             DType::u64, DType::i32, DType::u32, DType::i8,   DType::u8};

Result<std::vector<DType>> parse_dtypes(const std::string& text) {
  std::vector<DType> dtypes;
  std::size_t start = 0;
  while (!text.empty() && start <= text.size()) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string word = text.substr(start, end - start);
    const std::optional<DType> dtype = dtype_from_string(word);
    if (!dtype.has_value()) {
      std::vector<std::string> known;
      for (const DType other : kDTypes) known.emplace_back(to_string(other));
      return invalid_argument("--dtype: unknown dtype '" + word + "'" + did_you_mean(word, known));
    }
    dtypes.push_back(*dtype);
    start = end + 1;
  }
  return dtypes;
}

Result<ProblemRequest> problem_request(const SweepRequest& request) {
  ProblemRequest wanted;
  wanted.problems = request.problems;
  MGTUNE_ASSIGN(wanted.dtypes, parse_dtypes(request.dtype));
  if (request.shapes.empty()) return wanted;
  if (is_recording(FileSystem::real(), request.shapes)) {
    MGTUNE_ASSIGN(wanted.recorded, load_recorded_shapes(FileSystem::real(), request.shapes));
  } else {
    MGTUNE_ASSIGN(wanted.model, load_model_shapes(FileSystem::real(), request.shapes));
  }
  return wanted;
}

// The operators of --kernel, or those of a recording if there is no --kernel. With both, the
// operators of --kernel that the recording has problems of.
Result<std::vector<const Operator*>> operators_of(const SweepRequest& request,
                                                  const ProblemRequest& wanted, Catalog& catalog) {
  if (request.kernel.empty() && !wanted.recorded.has_value()) {
    return invalid_argument("--kernel is required\nSee 'mgtune sweep --help'.");
  }
  std::vector<const Operator*> operators;
  if (request.kernel.empty()) {
    for (const auto& [name, problems] : *wanted.recorded) {
      Result<const Operator*> op = catalog.find_operator(name);
      if (!op.ok()) {
        return invalid_argument(
            request.shapes + ": " + op.status().message() +
            "; if the operator is in a family of your own, name its folder with --kernel");
      }
      operators.push_back(*op);
    }
    return operators;
  }
  MGTUNE_ASSIGN(operators, catalog.find(request.kernel));
  if (!wanted.recorded.has_value()) return operators;
  std::erase_if(operators,
                [&](const Operator* op) { return !wanted.recorded->contains(op->full_name()); });
  if (!operators.empty()) return operators;
  return invalid_argument("--shapes: " + request.shapes + " has no problems of " + request.kernel);
}

// Exhaustive if the number of evaluations covers every space and no target ends the search earlier;
// otherwise a strategy that finds fast variants before the budget ends.
std::string default_strategy(const SweepPlan& plan) {
  const std::optional<std::int64_t> limit = plan.budget.evaluations;
  const bool covers_all =
      limit.has_value() && !plan.target.has_value() &&
      std::all_of(plan.problems.begin(), plan.problems.end(), [&](const PlannedProblem& problem) {
        return problem.counted && problem.admissible <= static_cast<std::uint64_t>(*limit);
      });
  return covers_all ? "exhaustive" : std::string(kDefaultStrategy);
}

Result<std::optional<Shard>> shard_of(const SweepRequest& request) {
  if (request.shard.empty()) return shard_of_batch_system();
  Result<Shard> shard = parse_shard(request.shard);
  if (!shard.ok()) return std::move(shard).take_status().with_context("--shard");
  return std::optional(*shard);
}

// One list per GPU model, in the order in which the models first occur.
std::vector<std::vector<DeviceInfo>> by_model(const std::vector<DeviceInfo>& devices) {
  std::vector<std::vector<DeviceInfo>> models;
  for (const DeviceInfo& device : devices) {
    const auto model = std::ranges::find_if(models, [&](const std::vector<DeviceInfo>& of_model) {
      return gpu_record(of_model.front()) == gpu_record(device);
    });
    if (model == models.end()) {
      models.push_back({device});
    } else {
      model->push_back(device);
    }
  }
  return models;
}

Result<SweepPlan> plan_for(const std::vector<DeviceInfo>& devices, const SweepRequest& request,
                           const std::vector<const Operator*>& operators,
                           const ProblemRequest& wanted) {
  const DeviceInfo& device = devices.front();
  SweepPlan plan;
  plan.device = device;
  plan.devices = devices;
  MGTUNE_ASSIGN(std::vector<Problem> problems, make_problems(operators, wanted, device.kind));
  MGTUNE_ASSIGN(plan.shard, shard_of(request));
  plan.all_problems = std::ssize(problems);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (plan.shard.has_value() && !plan.shard->takes(i)) continue;
    Problem& problem = problems[i];
    MGTUNE_TRY(check_launches(problem, device.limits));
    MGTUNE_ASSIGN(const std::int64_t bytes, problem.op->bytes.evaluate(problem.slots));
    plan.largest_bytes = std::max(plan.largest_bytes, bytes);
    plan.problems.push_back(
        plan_problem(std::move(problem), device, kCountedNodes / problems.size()));
  }
  const std::string budget = !request.budget.empty() ? request.budget
                             : plan.emulation()      ? kEmulationBudget
                                                     : kGpuBudget;
  MGTUNE_ASSIGN(plan.budget, parse_budget(budget));
  if (!request.target.empty()) {
    MGTUNE_ASSIGN(plan.target, parse_target(request.target, request.strategy));
  }
  plan.strategy = request.strategy.empty() ? default_strategy(plan) : request.strategy;
  return plan;
}

Status check_method(const std::string& method) {
  const std::vector<std::string>& known = gpu_methods();
  if (method.empty() || std::find(known.begin(), known.end(), method) != known.end()) return {};
  return invalid_argument("--method: unknown method '" + method + "'" +
                          did_you_mean(method, known));
}

// The method that times the variants. The devices are all GPUs, or the cpu device alone. If no
// method was asked for, the result may be CUDA events.
Result<TimingMethod> timing_method(const std::vector<DeviceInfo>& devices, const std::string& word,
                                   const std::string& program) {
  if (devices.front().kind == DeviceKind::cpu) {
    if (word.empty()) return TimingMethod{"emulation", ""};
    return invalid_argument("--method: the cpu device has only one method, emulation");
  }
  if (!word.empty() && !needs_cupti(word)) return TimingMethod{word, ""};
  MGTUNE_ASSIGN(const TimingMethod method, probe_timing_method(program));
  if (word.empty() || word == method.name) return method;
  if (needs_cupti(method.name)) return TimingMethod{word, ""};
  // A method that was asked for is never replaced by another one.
  return environment_error("--method " + word + " needs CUPTI: " + method.reason);
}

}  // namespace

Result<std::vector<SweepPlan>> make_sweep_plans(const SweepRequest& request, Catalog& catalog,
                                                const std::string& program) {
  if (!request.strategy.empty()) {
    MGTUNE_TRY(check_strategy(request.strategy).with_context("--strategy"));
  }
  if (!request.target.empty()) {
    MGTUNE_TRY(parse_target(request.target, request.strategy).status());
  }
  MGTUNE_TRY(check_method(request.method));
  MGTUNE_ASSIGN(const ProblemRequest wanted, problem_request(request));
  MGTUNE_ASSIGN(const std::vector<const Operator*> operators,
                operators_of(request, wanted, catalog));
  MGTUNE_ASSIGN(const std::vector<DeviceInfo> devices, select_devices(request.gpu));
  if (request.counters && devices.front().kind == DeviceKind::cpu) {
    return invalid_argument("--counters: the cpu device has no hardware counters");
  }
  MGTUNE_ASSIGN(const TimingMethod method, timing_method(devices, request.method, program));
  if (request.counters && !turns_through_sets(method.name)) {
    return invalid_argument("--counters needs rotating buffers, which --method " + method.name +
                            " does not use");
  }
  std::vector<SweepPlan> plans;
  for (const std::vector<DeviceInfo>& of_model : by_model(devices)) {
    MGTUNE_ASSIGN(SweepPlan plan, plan_for(of_model, request, operators, wanted));
    plan.method = method;
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace mgtune
