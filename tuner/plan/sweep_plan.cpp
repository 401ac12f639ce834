#include "plan/sweep_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "build/build_cache.h"
#include "core/dtype.h"
#include "core/text.h"
#include "device/device_lock.h"
#include "device/registry.h"
#include "energy/energy_counter.h"
#include "measure/timing_method_probe.h"
#include "plan/absent_gpu.h"
#include "plan/compile_processes.h"
#include "plan/problem_check.h"
#include "plan/problem_set.h"
#include "plan/random_problems.h"
#include "plan/shard_cut.h"
#include "plan/variant_list.h"
#include "search/search.h"
#include "selection/variant_selection.h"
#include "space/narrowing.h"
#include "system/cores.h"
#include "timing/gpu_timer.h"

namespace mgtune {
namespace {

// A minute is enough to try a family, no matter how many operators it has.
constexpr const char* kEmulationBudget = "1m";
constexpr const char* kGpuBudget = "10m";

// Failures whose cause may not have been the variant.
constexpr std::array kRetriedOutcomes = {
    Outcome::compile_failed, Outcome::crashed,  Outcome::launch_failed, Outcome::timeout,
    Outcome::unsupported,    Outcome::unstable, Outcome::wrong};

// Each job is a process, and a sweep keeps at least twice as many variants in progress.
constexpr std::uint64_t kMaxJobs = 1024;

// A double has every whole number up to here, and no space is that large.
constexpr double kMaxEvaluations = 1e15;
// Far longer than any sweep, but far below the largest time of the clock.
constexpr double kMaxSeconds = 365.0 * 24 * 3600;

Result<std::vector<DType>> parse_dtypes(const std::string& text) {
  std::vector<DType> dtypes;
  if (text.empty()) return dtypes;
  for (const std::string& word : split_list(text)) {
    const std::optional<DType> dtype = dtype_from_string(word);
    if (!dtype.has_value()) {
      const auto name_of = [](DType known) { return std::string(to_string(known)); };
      std::vector<std::string> names;
      std::ranges::transform(kDTypes, std::back_inserter(names), name_of);
      return invalid_argument("--dtype: unknown dtype '" + word + "'" +
                              must_be_one_of(word, names));
    }
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

// --retry compile_failed,crashed
Result<std::set<Outcome>> parse_retry(const std::string& text) {
  std::set<Outcome> outcomes;
  if (text.empty()) return outcomes;
  for (const std::string& word : split_list(text)) {
    const std::optional<Outcome> outcome = outcome_from_string(word);
    if (!outcome.has_value() ||
        std::ranges::find(kRetriedOutcomes, *outcome) == kRetriedOutcomes.end()) {
      const auto name_of = [](Outcome known) { return to_string(known); };
      std::vector<std::string_view> names;
      std::ranges::transform(kRetriedOutcomes, std::back_inserter(names), name_of);
      return invalid_argument(fmt::format("--retry: '{}' is not one of {}{}", word,
                                          fmt::join(names, ", "),
                                          did_you_mean(word, kRetriedOutcomes, name_of)));
    }
    outcomes.insert(*outcome);
  }
  return outcomes;
}

Result<ProblemRequest> problem_request(const SweepRequest& request) {
  ProblemRequest wanted;
  wanted.problems = request.problems;
  MGTUNE_ASSIGN(wanted.dtypes, parse_dtypes(request.dtype));
  if (request.shapes.empty()) return wanted;
  if (is_recording(FileSystem::real(), request.shapes)) {
    MGTUNE_ASSIGN(wanted.recorded, load_recorded_shapes(FileSystem::real(), request.shapes));
    MGTUNE_ASSIGN(wanted.launches, load_recorded_launches(FileSystem::real(), request.shapes));
  } else {
    MGTUNE_ASSIGN(wanted.model, load_model_shapes(FileSystem::real(), request.shapes));
  }
  return wanted;
}

// The operators of --kernel, or those of a recording if there is no --kernel. With both, those
// operators of --kernel for which the recording has problems.
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
  return invalid_argument(
      (request.model.empty() ? "--shapes: " + request.shapes : "--model: " + request.model) +
      " has no problems of " + request.kernel);
}

// Exhaustive if the number of evaluations covers every space and no target ends the search earlier;
// otherwise a strategy that finds fast variants before the budget ends.
std::string default_strategy(const SweepPlan& plan) {
  const std::optional<std::int64_t> limit = plan.options.budget.evaluations;
  const auto is_covered = [&](const PlannedProblem& problem) {
    return problem.counted && problem.admissible <= static_cast<std::uint64_t>(*limit);
  };
  const bool covers_all = limit.has_value() && !plan.options.target.has_value() &&
                          std::ranges::all_of(plan.problems, is_covered);
  return covers_all ? "exhaustive" : std::string(kDefaultStrategy);
}

Result<std::optional<Shard>> shard_of(const SweepRequest& request) {
  if (request.finals) return std::optional<Shard>();
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
      return is_same_gpu(gpu_record(of_model.front()), gpu_record(device));
    });
    if (model == models.end()) {
      models.push_back({device});
    } else {
      model->push_back(device);
    }
  }
  return models;
}

using Narrowings = std::map<const Operator*, std::shared_ptr<const Narrowing>>;

// The conditions of --where for each operator.
Result<Narrowings> parse_where(const std::vector<std::string>& conditions,
                               const std::vector<const Operator*>& operators) {
  Narrowings narrowings;
  if (conditions.empty()) return narrowings;
  for (const Operator* op : operators) {
    Result<Narrowing> narrowing = parse_narrowing(*op, conditions);
    if (!narrowing.ok()) {
      return std::move(narrowing).take_status().with_context("--where for " + op->full_name());
    }
    narrowings[op] = std::make_shared<const Narrowing>(*std::move(narrowing));
  }
  return narrowings;
}

// All problems of the request.
Result<std::vector<Problem>> requested_problems(const SweepRequest& request,
                                                const std::vector<const Operator*>& operators,
                                                const ProblemRequest& wanted, DeviceKind device) {
  const bool are_given = !request.problems.empty() || !request.shapes.empty();
  if (request.for_rules == 0 || are_given) {
    MGTUNE_ASSIGN(std::vector<Problem> given, make_problems(operators, wanted, device));
    if (request.for_rules == 0) return given;
    return choose_problems(std::move(given), request.for_rules, request.seed);
  }
  std::vector<Problem> all;
  for (const Operator* op : operators) {
    MGTUNE_ASSIGN(std::vector<Problem> drawn,
                  draw_problems(*op,
                                {static_cast<std::size_t>(request.for_rules), request.ranges,
                                 wanted.dtypes, request.seed},
                                device));
    std::ranges::move(drawn, std::back_inserter(all));
  }
  return all;
}

Status check_for_rules(const SweepRequest& request) {
  constexpr std::uint64_t kMost = 10'000;
  if (request.for_rules > kMost) {
    return invalid_argument(fmt::format("--for-rules: at most {} problems", kMost));
  }
  if (request.ranges.empty()) return {};
  if (request.for_rules == 0) return invalid_argument("--ranges goes with --for-rules N");
  if (!request.problems.empty() || !request.shapes.empty()) {
    return invalid_argument(
        "--ranges draws the problems, so it goes with neither --problem nor --shapes");
  }
  return {};
}

// If a recording says how often a program launches its problems, the problems that cost most come
// first and get most of the time. The cost is guessed from the bytes; this is good enough to divide
// a few minutes. No problem gets less than a tenth of an equal share.
Status weigh_by_launches(const RecordedLaunches& launches, SweepPlan& plan) {
  constexpr double kBytesOfALaunch = 8e6;  // that a GPU moves in the 2 us that any kernel takes
  if (launches.empty()) return {};
  double all = 0;
  for (PlannedProblem& planned : plan.problems) {
    const Problem& problem = planned.problem;
    const auto count = launches.find(problem.op->full_name() + ' ' + problem.text());
    MGTUNE_ASSIGN(const std::int64_t bytes, problem.op->bytes.evaluate(problem.slots));
    planned.weight = (count == launches.end() ? 1 : static_cast<double>(count->second)) *
                     (static_cast<double>(bytes) + kBytesOfALaunch);
    all += planned.weight;
  }
  const double least = all / static_cast<double>(plan.problems.size()) / 10;
  for (PlannedProblem& planned : plan.problems) planned.weight = std::max(planned.weight, least);
  std::ranges::stable_sort(plan.problems, std::greater(), &PlannedProblem::weight);
  return {};
}

Status add_problems(const SweepRequest& request, const std::vector<const Operator*>& operators,
                    const ProblemRequest& wanted, SweepPlan& plan) {
  const DeviceInfo& device = plan.device();
  MGTUNE_ASSIGN(const Narrowings narrowings, parse_where(request.where, operators));
  MGTUNE_ASSIGN(std::vector<Problem> problems,
                requested_problems(request, operators, wanted, device.kind));
  plan.all_problems = std::ssize(problems);
  for (Problem& problem : problems) {
    MGTUNE_TRY(check_launches(problem, device.limits));
    MGTUNE_ASSIGN(const std::int64_t bytes, problem.op->bytes.evaluate(problem.slots));
    plan.largest_bytes = std::max(plan.largest_bytes, bytes);
    const auto narrowing = narrowings.find(problem.op);
    plan.problems.push_back(
        plan_problem(std::move(problem), device, kCountedNodes / problems.size(),
                     narrowing == narrowings.end() ? nullptr : narrowing->second));
  }
  return weigh_by_launches(wanted.launches, plan);
}

// Removes all problems, and parts of problems, that the shard does not have. Then there is more
// time to count each space.
Status cut_to_shard(const Shard& shard, SweepPlan& plan) {
  plan.shard = shard;
  MGTUNE_ASSIGN(const ShardCut cut, ShardCut::make(std::move(plan.problems), plan.device().kind,
                                                   plan.options.budget.evaluations));
  if (cut.seconds() > 0) plan.shard_share = cut.seconds_of(shard) / cut.seconds();
  plan.problems = cut.problems_of(shard);
  for (PlannedProblem& planned : plan.problems) {
    if (!planned.counted && !planned.part.has_value()) {
      count_further(planned, kCountedNodes / plan.problems.size());
    }
  }
  return {};
}

Result<SweepPlan> plan_for(const std::vector<DeviceInfo>& devices, const SweepRequest& request,
                           const std::vector<const Operator*>& operators,
                           const ProblemRequest& wanted) {
  SweepPlan plan;
  plan.devices = devices;
  MGTUNE_TRY(add_problems(request, operators, wanted, plan));
  SweepOptions& options = plan.options;
  options.kernel = request.kernel;
  options.seed = request.seed;
  options.counters = request.counters;
  options.for_rules = request.for_rules > 0;
  options.objective = request.objective == "energy" ? Objective::energy : Objective::time;
  MGTUNE_ASSIGN(options.retry, parse_retry(request.retry));
  const char* default_budget = plan.emulation() ? kEmulationBudget : kGpuBudget;
  if (!request.finals) {
    MGTUNE_ASSIGN(options.budget,
                  parse_budget(request.budget.empty() ? default_budget : request.budget));
  }
  if (!request.target.empty()) {
    MGTUNE_ASSIGN(options.target, parse_target(request.target, request.strategy));
  }
  options.strategy = request.strategy.empty() ? default_strategy(plan) : request.strategy;
  options.finals = request.finals;
  MGTUNE_ASSIGN(const std::optional<Shard> shard, shard_of(request));
  if (shard.has_value()) MGTUNE_TRY(cut_to_shard(*shard, plan));
  options.cache_directory = BuildCache::default_directory();
  options.lock_directory = DeviceLock::default_directory(plan.device().kind);
  options.compile_processes =
      request.jobs > 0 ? request.jobs : default_compile_processes("", own_core_count());
  options.cores = worker_cores("", own_cores(), plan.devices);
  return plan;
}

// Refuses options that say what to search, because --finals searches nothing.
Status check_finals(const SweepRequest& request) {
  const std::array<std::pair<const char*, bool>, 6> searching = {
      {{"--shard", !request.shard.empty()},
       {"--try-first", !request.try_first.empty()},
       {"--budget", !request.budget.empty()},
       {"--strategy", !request.strategy.empty()},
       {"--target", !request.target.empty()},
       {"--retry", !request.retry.empty()}}};
  for (const auto& [option, is_given] : searching) {
    if (is_given) {
      return invalid_argument(std::string("--finals searches nothing, so it has no ") + option +
                              "; merge the files of the shards, and name the merged one with --db");
    }
  }
  return {};
}

Result<VariantLists> variants_to_try_first(const SweepRequest& request,
                                           const std::vector<const Operator*>& operators) {
  if (request.try_first.empty()) return VariantLists();
  if (!request.strategy.empty() && request.strategy != "adaptive") {
    return invalid_argument("--try-first goes with the adaptive strategy, not with " +
                            request.strategy);
  }
  return load_variant_list(FileSystem::real(), request.try_first, operators);
}

// Checks now whether the devices can measure energy, because a sweep takes minutes until its first
// final. An absent GPU is not checked, because nothing will run on it.
Status check_objective(const std::string& objective, const std::vector<DeviceInfo>& devices) {
  if (objective != "energy") return {};
  if (devices.front().kind == DeviceKind::cpu) {
    return invalid_argument("--objective energy: the cpu device has no energy counter");
  }
  for (const DeviceInfo& device : devices) {
    if (is_absent(device)) continue;
    MGTUNE_TRY(
        open_energy_counter(device.id).status().with_context("--objective energy: " + device.name));
  }
  return {};
}

Status check_method(const std::string& method) {
  const std::vector<std::string>& known = gpu_methods();
  if (method.empty() || std::find(known.begin(), known.end(), method) != known.end()) return {};
  return invalid_argument("--method: unknown method '" + method + "'" +
                          must_be_one_of(method, known));
}

// The method that times the variants. The devices are all GPUs, or only the cpu device. If the user
// asked for no method, the result may be CUDA events.
Result<TimingMethod> timing_method(const std::vector<DeviceInfo>& devices, const std::string& word,
                                   const std::string& program) {
  if (devices.front().kind == DeviceKind::cpu) {
    if (word.empty()) return TimingMethod{"emulation", ""};
    return invalid_argument("--method: the cpu device has only one method, emulation");
  }
  if (is_absent(devices.front())) return TimingMethod{word, ""};  // nothing will be timed
  if (!word.empty() && !needs_cupti(word)) return TimingMethod{word, ""};
  MGTUNE_ASSIGN(const TimingMethod method, probe_timing_method(program));
  if (word.empty() || word == method.name) return method;
  if (needs_cupti(method.name)) return TimingMethod{word, ""};
  // A method that the user asked for is never replaced by another one.
  return environment_error("--method " + word + " needs CUPTI: " + method.reason);
}

// The seconds of a unit; 0 without a unit, which means a number of evaluations; -1 for an unknown
// unit.
double seconds_of_unit(std::string_view unit) {
  if (unit.empty()) return 0;
  if (unit == "s") return 1;
  if (unit == "m") return 60;
  if (unit == "h") return 3600;
  return -1;
}

}  // namespace

const std::vector<std::string>& sweep_objectives() {
  static const std::vector<std::string> objectives = {"time", "energy"};
  return objectives;
}

Result<Budget> parse_budget(const std::string& text) {
  const auto malformed = [&] {
    return invalid_argument("budget '" + text +
                            "': expected a number of variants per problem (500) or a time of the "
                            "whole sweep (60s, 5m, 1h)");
  };
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number <= 0) return malformed();

  const double unit_seconds = seconds_of_unit(std::string_view(rest, std::size_t(end - rest)));
  Budget budget;
  budget.text = text;
  if (unit_seconds < 0) return malformed();
  if (unit_seconds > 0) {
    budget.seconds = number * unit_seconds;
    if (*budget.seconds > kMaxSeconds) {
      return invalid_argument("budget '" + text + "': a sweep ends within a year (8760h)");
    }
  } else {
    if (number != std::floor(number) || number > kMaxEvaluations) return malformed();
    budget.evaluations = static_cast<std::int64_t>(number);
  }
  return budget;
}

Result<std::vector<SweepPlan>> make_sweep_plans(const SweepRequest& request, Catalog& catalog,
                                                const std::string& program,
                                                const std::string& command) {
  if (!request.strategy.empty()) {
    MGTUNE_TRY(check_strategy(request.strategy).with_context("--strategy"));
  }
  if (!request.target.empty()) {
    MGTUNE_TRY(parse_target(request.target, request.strategy).status());
  }
  if (request.finals) MGTUNE_TRY(check_finals(request));
  if (!request.budget.empty()) MGTUNE_TRY(parse_budget(request.budget).status());
  MGTUNE_TRY(check_method(request.method));
  MGTUNE_TRY(check_for_rules(request));
  MGTUNE_TRY(parse_retry(request.retry).status());
  if (request.jobs > kMaxJobs) {
    return invalid_argument(fmt::format("--jobs: at most {} compile processes", kMaxJobs));
  }
  MGTUNE_ASSIGN(const ProblemRequest wanted, problem_request(request));
  MGTUNE_ASSIGN(const std::vector<const Operator*> operators,
                operators_of(request, wanted, catalog));
  MGTUNE_TRY(parse_where(request.where, operators).status());
  MGTUNE_ASSIGN(const VariantLists try_first, variants_to_try_first(request, operators));
  MGTUNE_ASSIGN(const std::vector<DeviceInfo> devices, request.plans_only
                                                           ? select_devices_or_product(request.gpu)
                                                           : select_devices(request.gpu));
  if (request.counters && devices.front().kind == DeviceKind::cpu) {
    return invalid_argument("--counters: the cpu device has no hardware counters");
  }
  MGTUNE_TRY(check_objective(request.objective, devices));
  const bool is_graph =
      !request.model.empty() && request.method.empty() && devices.front().kind != DeviceKind::cpu;
  MGTUNE_ASSIGN(const TimingMethod method,
                timing_method(devices, is_graph ? "graph" : request.method, program));
  if (request.counters && !is_absent(devices.front()) && !turns_through_sets(method.name)) {
    return invalid_argument("--counters needs rotating buffers, which --method " + method.name +
                            " does not use");
  }
  std::vector<SweepPlan> plans;
  for (const std::vector<DeviceInfo>& of_model : by_model(devices)) {
    MGTUNE_ASSIGN(SweepPlan plan, plan_for(of_model, request, operators, wanted));
    plan.options.method = method;
    plan.options.try_first = try_first;
    plan.options.program = program;
    plan.options.command = command;
    // The shard of the batch system is part of the command that repeats this sweep.
    if (plan.shard.has_value() && request.shard.empty()) {
      plan.options.command += " --shard " + plan.shard->text();
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace mgtune
