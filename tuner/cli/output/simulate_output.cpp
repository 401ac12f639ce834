#include "cli/output/simulate_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/json.h"
#include "search/search.h"
#include "text/text_table.h"

namespace mgtune {
namespace {

struct Summary {
  double mean_evaluations = 0, mean_fraction = 0, worst_fraction = 1;
  std::size_t min_evaluations = 0, max_evaluations = 0;
  std::size_t stopped = 0;  // seeds, the others ran to the end
  std::size_t within = 0;   // seeds that found what the target asks for
};

Summary summary_of(const TargetOutcome& target) {
  Summary summary;
  const auto count = static_cast<double>(target.stops.size());
  summary.min_evaluations = target.stops.front().evaluations;
  for (const Stop& stop : target.stops) {
    summary.mean_evaluations += static_cast<double>(stop.evaluations) / count;
    summary.mean_fraction += stop.fraction / count;
    summary.worst_fraction = std::min(summary.worst_fraction, stop.fraction);
    summary.min_evaluations = std::min(summary.min_evaluations, stop.evaluations);
    summary.max_evaluations = std::max(summary.max_evaluations, stop.evaluations);
    summary.stopped += stop.reached ? 1 : 0;
    summary.within += stop.fraction >= target.target ? 1 : 0;
  }
  return summary;
}

Json target_json(const TargetOutcome& target) {
  const Summary summary = summary_of(target);
  const auto seeds = static_cast<double>(target.stops.size());
  return {
      {"target", target.target},
      {"evaluations",
       {{"mean", summary.mean_evaluations},
        {"min", summary.min_evaluations},
        {"max", summary.max_evaluations}}},
      {"fraction_of_optimum", {{"mean", summary.mean_fraction}, {"worst", summary.worst_fraction}}},
      {"seeds_stopped", summary.stopped},
      {"within_target", static_cast<double>(summary.within) / seeds}};
}

std::string target_text(const Simulation& simulation) {
  const TargetOutcome& target = *simulation.target;
  const Summary summary = summary_of(target);
  return fmt::format(
      "Target {}: {} of {} seeds stopped because a further {} was unlikely; after {:.0f} "
      "evaluations on average ({} to {} of {}).\n"
      "Fraction of the optimum there: {:.3f}, worst {:.3f}; {} of {} seeds were within the "
      "target.\n",
      target.target, summary.stopped, target.stops.size(), gain_text(target.target),
      summary.mean_evaluations, summary.min_evaluations, summary.max_evaluations,
      simulation.variants, summary.mean_fraction, summary.worst_fraction, summary.within,
      target.stops.size());
}

Json json_of(const Simulation& simulation) {
  Json found = Json::object();
  Json ci95 = Json::object();
  Json random = Json::object();
  Json worst = Json::object();
  for (std::size_t i = 0; i < simulation.found.size(); ++i) {
    const Quality& quality = simulation.found[i];
    const std::string budget = std::to_string(quality.evaluations);
    found[budget] = quality.mean;
    ci95[budget] = quality.ci95;
    random[budget] = simulation.random[i];
    worst[budget] = quality.worst;
  }
  Json json = {{"space", simulation.space},
               {"strategy", simulation.strategy},
               {"seeds", simulation.seeds},
               {"fraction_of_optimum", found},
               {"ci95", ci95},
               {"random", random},
               {"worst", worst},
               {"variants", simulation.variants}};
  if (simulation.target.has_value()) json["target"] = target_json(*simulation.target);
  return json;
}

}  // namespace

std::string simulation_table(const Simulation& simulation) {
  using Align = TextTable::Align;
  TextTable table({{"evaluations", Align::right},
                   {simulation.strategy, Align::right},
                   {"95 %", Align::right},
                   {"worst", Align::right},
                   {"random", Align::right}});
  for (std::size_t i = 0; i < simulation.found.size(); ++i) {
    const Quality& quality = simulation.found[i];
    table.add_row({std::to_string(quality.evaluations), fmt::format("{:.3f}", quality.mean),
                   fmt::format("+-{:.3f}", quality.ci95), fmt::format("{:.3f}", quality.worst),
                   fmt::format("{:.3f}", simulation.random[i])});
  }
  return fmt::format("Fraction of the optimum of {}, mean over {} seeds:\n{}{}", simulation.space,
                     simulation.seeds, table.text(),
                     simulation.target.has_value() ? target_text(simulation) : "");
}

std::string simulation_json(const Simulation& simulation) {
  return json_of(simulation).document_text();
}

std::string simulations_json(const std::vector<Simulation>& simulations) {
  Json all = Json::array();
  for (const Simulation& simulation : simulations) all.push_back(json_of(simulation));
  return Json({{"format", 1}, {"simulations", all}}).document_text();
}

}  // namespace mgtune
