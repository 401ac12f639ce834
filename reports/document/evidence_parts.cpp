// What was measured besides the variants' times: finals, counters, failures.

#include <algorithm>
#include <span>

#include "document/document_parts.h"
#include "text/outcome_text.h"
#include "text/printable.h"

namespace mgtune {
namespace {

constexpr std::size_t kFailureRows = 20;

// The pick that the final decided. A final is shown only with its pick.
const ReportPick* pick_of(const ReportModel& model, const FinalView& view) {
  for (const ReportPick& pick : model.picks) {
    const bool same = pick.view.tuned.gpu == view.final.gpu && pick.view.op == view.op &&
                      pick.view.problem == view.problem &&
                      pick.view.tuned.method == view.final.method;
    if (same) return &pick;
  }
  return nullptr;
}

Json row_of(const ReportModel& model, const ReportPick& pick, const FinalistRecord& finalist) {
  const ReportProblem& problem = model.problems[pick.problem];
  for (std::size_t row = problem.first; row < problem.first + problem.count; ++row) {
    const OutcomeView& view = model.variants[row].view;
    const bool same = view.measurement && view.variant == finalist.variant &&
                      view.measurement->method == pick.view.tuned.method;
    if (same) return row;
  }
  return nullptr;
}

Json finalist_json(const ReportModel& model, const ReportPick& pick,
                   const FinalistRecord& finalist) {
  Json samples = Json::array();
  for (const double sample : finalist.samples_ns) samples.push_back(number(sample));
  Json json = {{"row", row_of(model, pick, finalist)},
               {"variant", finalist.variant},
               {"is_default", finalist.variant == pick.view.tuned.default_variant},
               {"is_pick", finalist.variant == pick.view.tuned.variant}};
  json.update(record_json(finalist, number, kPage));
  json["samples_ns"] = std::move(samples);
  return json;
}

}  // namespace

Json finals_part(const DocumentInput& input) {
  Json finals = Json::array();
  for (const FinalView& view : input.model.finals) {
    const ReportPick* const pick = pick_of(input.model, view);
    if (pick == nullptr) continue;
    Json finalists = Json::array();
    std::size_t rounds = 0;
    for (const FinalistRecord& finalist : view.final.finalists) {
      rounds = std::max(rounds, finalist.samples_ns.size());
      finalists.push_back(finalist_json(input.model, *pick, finalist));
    }
    finals.push_back({{"problem", pick->problem},
                      {"method", input.index.method(view.final.method)},
                      {"noise_floor", number(view.final.noise_floor)},
                      {"rounds", rounds},
                      {"note", view.final.note},
                      {"not_counted", view.final.not_counted},
                      {"clocks", record_json(view.final.clocks, number)},
                      {"finalists", std::move(finalists)}});
  }
  return finals;
}

Json counters_part(const DocumentInput& input) {
  Json list = Json::array();
  for (std::size_t p = 0; p < input.model.problems.size(); ++p) {
    const ReportProblem& problem = input.model.problems[p];
    for (std::size_t row = problem.first; row < problem.first + problem.count; ++row) {
      const ReportVariant& variant = input.model.variants[row];
      if (variant.counters.empty()) continue;
      Json values = Json::array();
      for (const CounterRecord& counter : variant.counters) {
        values.push_back({{"name", counter.name}, {"value", number(counter.value)}});
      }
      list.push_back({{"problem", p},
                      {"row", row},
                      {"variant", variant.view.variant},
                      {"is_pick", variant.is_pick},
                      {"limit", variant.roofline.limit},
                      {"values", std::move(values)}});
    }
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
  Json list = Json::array();
  for (const ReportFailure& failure : input.model.failures) {
    const auto shown =
        std::span(failure.variants).first(std::min(kFailureRows, failure.variants.size()));
    list.push_back({{"outcome", static_cast<int>(failure.outcome)},
                    {"explanation", explanation(failure.outcome)},
                    {"message", input.index.message(failure.message)},
                    {"headline", printable_line(headline(failure.message))},
                    {"count", failure.variants.size()},
                    {"rows", std::vector<std::size_t>(shown.begin(), shown.end())}});
  }
  return list;
}

}  // namespace mgtune
