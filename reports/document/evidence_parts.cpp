// What was measured besides the variants' times: finals, counters, failures.

#include <algorithm>
#include <span>

#include "analysis/pareto_front.h"
#include "document/document_parts.h"
#include "text/explanations.h"
#include "text/printable.h"

namespace mgtune {
namespace {

constexpr std::size_t kFailureRows = 20;

Json finalist_json(const TunedRecord& tuned, const FinalistRecord& finalist,
                   const std::optional<std::size_t>& row) {
  Json json = {{"row", row},
               {"variant", finalist.variant},
               {"is_default", finalist.variant == tuned.default_variant},
               {"is_pick", finalist.variant == tuned.variant}};
  for_each_column_in(kPage, finalist, [&](const auto& field, const auto& value) {
    json[field.name_in(kPage)] = field_json(value, number);
  });
  json["samples_ns"] = Json::array(finalist.samples_ns, [](double time) { return number(time); });
  return json;
}

}  // namespace

Json finals_part(const DocumentInput& input) {
  return Json::array(input.model.finals, [&](const ReportFinal& entry) -> Json {
    const FinalRecord& final = entry.view.final;
    const ReportPick& pick = input.model.picks[entry.pick];
    Json finalists = Json::array();
    std::size_t rounds = 0;
    const std::vector<bool> front = pareto_front(final);
    for (std::size_t i = 0; i < final.finalists.size(); ++i) {
      rounds = std::max(rounds, final.finalists[i].samples_ns.size());
      finalists.push_back(finalist_json(pick.view.tuned, final.finalists[i], entry.rows[i]));
      if (!has_energy(final)) continue;
      finalists.back()["energy_j"] = number(final.finalists[i].energy_j);
      finalists.back()["energy_error_j"] = number(final.finalists[i].energy_error_j);
      finalists.back()["is_on_front"] = bool{front[i]};
    }
    return {{"problem", pick.problem},
            {"method", input.index.methods.index_of(final.method)},
            {"noise_floor", number(final.noise_floor)},
            {"rounds", rounds},
            {"note", final.note},
            {"not_counted", final.not_counted},
            {"clocks", record_json(final.clocks, number)},
            {"finalists", std::move(finalists)}};
  });
}

Json counters_part(const DocumentInput& input) {
  Json list = Json::array();
  const auto value = [](const CounterRecord& counter) { return record_json(counter, number); };
  for (std::size_t row = 0; row < input.model.variants.size(); ++row) {
    const ReportVariant& variant = input.model.variants[row];
    if (variant.counters.empty()) continue;
    list.push_back({{"problem", variant.problem},
                    {"row", row},
                    {"variant", variant.view.variant},
                    {"is_pick", variant.is_pick},
                    {"limit", variant.roofline.limit},
                    {"values", Json::array(variant.counters, value)}});
  }
  return list;
}

// A design that is excluded completely has one rule.
Json pruning_part(const DocumentInput& input) {
  Json list = Json::array();
  for (const SpaceView& view : input.model.spaces) {
    const SpaceRecord& space = view.space;
    const auto problem = std::ranges::find_if(input.model.problems, [&](const auto& each) {
      return each.gpu_id == view.gpu_id && each.op == view.op && each.problem == view.problem;
    });
    const std::int64_t gpu =
        problem == input.model.problems.end() ? -1 : input.index.gpu(problem->gpu);
    const auto add = [&](const std::string& rule, std::int64_t points) {
      list.push_back({{"gpu", gpu},
                      {"operator", view.op},
                      {"problem", view.problem},
                      {"design", space.design},
                      {"rule", rule},
                      {"count", points}});
    };
    if (!space.unavailable.empty()) {
      add(space.unavailable, space.points);
      continue;
    }
    for (const PrunedRecord& pruned : space.pruned) add(pruned.rule, pruned.points);
  }
  return list;
}

Json failures_part(const DocumentInput& input) {
  return Json::array(input.model.failures, [&](const ReportFailure& failure) -> Json {
    const std::span rows = failure.variants;
    return {{"outcome", static_cast<int>(failure.outcome)},
            {"explanation", explanation(failure.outcome)},
            {"message", input.index.messages.index_of(failure.message)},
            {"headline", printable_line(headline(failure.message))},
            {"count", rows.size()},
            {"rows", rows.first(std::min(kFailureRows, rows.size()))}};
  });
}

}  // namespace mgtune
