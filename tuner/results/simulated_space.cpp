#include "results/simulated_space.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "exchange/read_document.h"
#include "search/swept_space.h"
#include "selection/variant_selection.h"
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

using Words = std::map<std::string, std::string>;

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

Result<SimulatedSpace> simulated(const Operator& op, const Words& words,
                                 const std::vector<OutcomeView>& rows, std::string name) {
  MGTUNE_ASSIGN(const Problem problem, bind_problem(op, words));
  const DeviceLimits limits = device_of(rows.front().gpu).limits;
  MGTUNE_ASSIGN(SweptSpace swept, SweptSpace::make(problem, limits, rows));
  const auto owner = std::make_shared<const SweptSpace>(std::move(swept));
  return SimulatedSpace{std::move(name), &owner->set(),
                        [space = owner.get()](const Variant& v) { return space->time(v); },
                        owner->times(), owner};
}

}  // namespace

Result<SimulatedSpace> space_of_file(const std::string& path) {
  MGTUNE_ASSIGN(RecordedSpace read, read_recorded_space(FileSystem::real(), path));
  const auto owner = std::make_shared<const RecordedSpace>(std::move(read));
  return SimulatedSpace{space_name(path), owner.get(),
                        [space = owner.get()](const Variant& v) { return space->time(v); },
                        owner->times(), owner};
}

Status check_swept_filter(Catalog& catalog, const ResultFilter& filter) {
  MGTUNE_ASSIGN(const std::vector<const Operator*> operators, catalog.find(filter.kernel));
  MGTUNE_ASSIGN(const Words wanted, parse_assignments(filter.problem));
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
      MGTUNE_ASSIGN(const Words of_problem, parse_assignments(problem));
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
