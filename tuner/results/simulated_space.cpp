#include "results/simulated_space.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "exchange/read_document.h"
#include "selection/variant_selection.h"
#include "space/space.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

// "gemm.L4" for "spaces/gemm.L4.json.gz".
std::string space_name(const std::string& path) {
  std::string name = std::filesystem::path(path).filename();
  for (const std::string_view suffix : {".gz", ".json"}) {
    if (name.ends_with(suffix) && name.size() > suffix.size()) {
      name.resize(name.size() - suffix.size());
    }
  }
  return name;
}

using ProblemWords = std::map<std::string, std::string>;

using Group = std::tuple<std::string, std::int64_t, std::string>;  // problem, GPU, method

// An outcome without a timing counts for every method.
std::map<Group, std::vector<OutcomeView>> by_problem(const std::vector<OutcomeView>& rows) {
  std::map<Group, std::vector<OutcomeView>> groups;
  for (const OutcomeView& row : rows) {
    if (row.measurement.has_value()) {
      groups[{row.problem, row.gpu_id, row.measurement->method}].push_back(row);
    }
  }
  for (auto& [group, of_group] : groups) {
    for (const OutcomeView& row : rows) {
      if (!row.measurement.has_value() && row.problem == std::get<0>(group) &&
          row.gpu_id == std::get<1>(group)) {
        of_group.push_back(row);
      }
    }
  }
  return groups;
}

// 0 if the variant failed. If it was raced out, the median of its samples so far, which is above
// the time of the fastest variant.
double time_of_row(const OutcomeView& row) {
  const bool has_time = row.measurement.has_value() &&
                        (row.outcome == Outcome::ok || row.outcome == Outcome::raced_out);
  return has_time ? row.measurement->median_ns : 0;
}

Result<SimulatedSpace> simulated(const Operator& op, const ProblemWords& words,
                                 const std::vector<OutcomeView>& rows, std::string name) {
  MGTUNE_ASSIGN(const Problem problem, bind_problem(op, words));
  return swept_space(std::move(name), problem, device_of(rows.front().gpu).limits, rows);
}

SimulatedSpace simulated(const std::string& path, RecordedSpace read) {
  const auto owner = std::make_shared<const RecordedSpace>(std::move(read));
  return {space_name(path), owner.get(),
          [space = owner.get()](const Variant& v) { return space->time(v); }, owner->times(),
          owner};
}

// The variants of `other` that are in `space` too, with the times that they have in `other`.
Result<WarmStart> known_from(const RecordedSpace& other, const RecordedSpace& space) {
  WarmStart known;
  for (std::uint64_t i = 0; i < other.size(); ++i) {
    MGTUNE_ASSIGN(const std::optional<Variant> variant, space.counterpart(other, other.point(i)));
    if (!variant.has_value() || !(other.times()[i] > 0)) continue;
    known.push_back({*variant, other.times()[i]});
  }
  return known;
}

// A space and the times of its variants by index.
struct TimedSpace {
  Space space;
  std::unordered_map<std::uint64_t, double> times;
};

}  // namespace

Result<SimulatedSpace> space_of_file(const std::string& path) {
  MGTUNE_ASSIGN(RecordedSpace read, read_recorded_space(FileSystem::real(), path));
  return simulated(path, std::move(read));
}

Result<SimulatedSpace> space_of_file(const std::string& path, const std::string& warm_from) {
  MGTUNE_ASSIGN(RecordedSpace read, read_recorded_space(FileSystem::real(), path));
  MGTUNE_ASSIGN(const RecordedSpace other, read_recorded_space(FileSystem::real(), warm_from));
  Result<WarmStart> known = known_from(other, read);
  if (!known.ok()) return std::move(known).take_status().with_context(warm_from);
  SimulatedSpace space = simulated(path, std::move(read));
  space.warm_start = fastest_of(*std::move(known));
  space.warm_from = space_name(warm_from);
  return space;
}

Result<SimulatedSpace> swept_space(std::string name, const Problem& problem,
                                   const DeviceLimits& device, std::span<const OutcomeView> rows) {
  const auto owner = std::make_shared<TimedSpace>(TimedSpace{Space(problem, device), {}});
  const Space& space = owner->space;
  bool any_passed = false;
  for (const OutcomeView& row : rows) {
    const Result<Variant> variant = parse_variant(*problem.op, row.variant);
    if (!variant.ok() || !space.admits(*variant)) continue;
    const double time = time_of_row(row);
    owner->times[space.index(*variant)] = time;
    any_passed = any_passed || time > 0;
  }
  const std::size_t visited = owner->times.size();
  const std::uint64_t variants = admissible_variants(space.statistics());
  if (visited < variants) {
    return corrupt(
        fmt::format("{} of its {} variants were visited; sweep it with --strategy exhaustive",
                    visited, variants));
  }
  if (!any_passed) return corrupt("none of its variants passed");
  std::vector<double> times;
  times.reserve(owner->times.size());
  for (const auto& [index, time] : owner->times) times.push_back(time);
  return SimulatedSpace{
      std::move(name), &space,
      [timed = owner.get()](const Variant& v) { return timed->times.at(timed->space.index(v)); },
      std::move(times), owner};
}

Status check_swept_filter(Catalog& catalog, const ResultFilter& filter) {
  MGTUNE_ASSIGN(const std::vector<const Operator*> operators, catalog.find(filter.kernel));
  MGTUNE_ASSIGN(const ProblemWords wanted, parse_assignments(filter.problem));
  Names names;
  for (const Operator* op : operators) names.merge(problem_names(catalog, op->full_name()));
  return check_problem(wanted, names);
}

Result<SweptSpaces> spaces_of_store(Store& store, Catalog& catalog, const ResultFilter& filter) {
  MGTUNE_ASSIGN(const std::vector<const Operator*> operators, catalog.find(filter.kernel));
  Selection selection;
  MGTUNE_ASSIGN(selection.problem, parse_assignments(filter.problem));
  SweptSpaces all;
  for (const Operator* op : operators) {
    MGTUNE_ASSIGN(const std::vector<OutcomeView> rows, store.outcomes(0, op->full_name()));
    for (const auto& [group, of_group] : by_problem(rows)) {
      const auto& [problem, gpu, method] = group;
      MGTUNE_ASSIGN(const ProblemWords of_problem, parse_assignments(problem));
      if (!selection.wants(op->full_name(), of_group.front().gpu, problem)) continue;
      const std::string name = fmt::format("{} {} on {}, {}", op->full_name(), problem,
                                           of_group.front().gpu.model, method);
      Result<SimulatedSpace> space = simulated(*op, of_problem, of_group, name);
      if (space.ok()) {
        all.spaces.push_back(*std::move(space));
      } else {
        all.left_out.push_back(name + ": " + space.status().message());
      }
    }
  }
  return all;
}

}  // namespace mgtune
