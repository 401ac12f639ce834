#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "cli/command.h"
#include "json/json.h"
#include "results/simulation.h"
#include "results/stored_results.h"
#include "search/search.h"
#include "system/file_system.h"
#include "text/text_table.h"

namespace mgtune {
namespace {

constexpr std::uint64_t kMaxSeeds = 100000;

struct TargetSummary {
  double mean_evaluations = 0, mean_fraction = 0, worst_fraction = 1;
  std::size_t min_evaluations = 0, max_evaluations = 0;
  std::size_t whole = 0;        // seeds that visited every variant
  std::size_t claims = 0;       // seeds that ended because a further gain was unlikely
  std::size_t true_claims = 0;  // of them, those whose result was as good as the target
};

TargetSummary summary_of(const Simulation& simulation) {
  TargetSummary summary;
  const auto count = static_cast<double>(simulation.runs.size());
  summary.min_evaluations = simulation.runs.front().stop->evaluations;
  for (const SeedRun& run : simulation.runs) {
    const Stop& stop = *run.stop;
    summary.mean_evaluations += static_cast<double>(stop.evaluations) / count;
    summary.mean_fraction += stop.fraction / count;
    summary.worst_fraction = std::min(summary.worst_fraction, stop.fraction);
    summary.min_evaluations = std::min(summary.min_evaluations, stop.evaluations);
    summary.max_evaluations = std::max(summary.max_evaluations, stop.evaluations);
    summary.whole += stop.evaluations >= simulation.variants ? 1 : 0;
    summary.claims += stop.reached ? 1 : 0;
    summary.true_claims += stop.reached && stop.fraction >= *simulation.target ? 1 : 0;
  }
  return summary;
}

Json target_json(const Simulation& simulation) {
  const TargetSummary summary = summary_of(simulation);
  return {
      {"target", simulation.target},
      {"evaluations",
       {{"mean", summary.mean_evaluations},
        {"min", summary.min_evaluations},
        {"max", summary.max_evaluations}}},
      {"fraction_of_optimum", {{"mean", summary.mean_fraction}, {"worst", summary.worst_fraction}}},
      {"visited_all", summary.whole},
      {"claims", summary.claims},
      {"true_claims", summary.true_claims}};
}

std::string target_text(const Simulation& simulation) {
  const TargetSummary summary = summary_of(simulation);
  std::string text = fmt::format(
      "Target {}: {} of {} seeds said that a further {} is unlikely. This was true for {} of "
      "them.\n",
      *simulation.target, summary.claims, simulation.runs.size(), gain_text(*simulation.target),
      summary.true_claims);
  if (summary.whole > 0) {
    text += fmt::format("{} of {} seeds visited every variant, so they know the fastest one.\n",
                        summary.whole, simulation.runs.size());
  }
  return text + fmt::format(
                    "The seeds stopped after {:.0f} evaluations on average ({} to {} of {}), at "
                    "{:.3f} of the optimum, worst {:.3f}.\n",
                    summary.mean_evaluations, summary.min_evaluations, summary.max_evaluations,
                    simulation.variants, summary.mean_fraction, summary.worst_fraction);
}

// The numbers of each seed, because they cannot be computed from a summary.
Json seeds_json(const Simulation& simulation) {
  Json seeds = Json::array();
  for (std::size_t seed = 0; seed < simulation.runs.size(); ++seed) {
    const SeedRun& run = simulation.runs[seed];
    Json fractions = Json::object();
    for (std::size_t i = 0; i < run.fractions.size(); ++i) {
      fractions[std::to_string(simulation.found[i].evaluations)] = run.fractions[i];
    }
    Json json = {{"seed", seed + 1}, {"fraction_of_optimum", fractions}};
    if (run.stop.has_value()) {
      json["stop"] = {{"evaluations", run.stop->evaluations},
                      {"fraction_of_optimum", run.stop->fraction},
                      {"claims", run.stop->reached}};
    }
    seeds.push_back(std::move(json));
  }
  return seeds;
}

Json simulation_json(const Simulation& simulation) {
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
               {"seeds", simulation.runs.size()},
               {"fraction_of_optimum", found},
               {"ci95", ci95},
               {"random", random},
               {"worst", worst},
               {"variants", simulation.variants},
               {"evaluations", simulation.found.back().evaluations}};
  if (simulation.asked.has_value()) json["evaluations_asked"] = *simulation.asked;
  if (!simulation.warm_from.empty()) json["warm_from"] = simulation.warm_from;
  if (simulation.target.has_value()) json["target"] = target_json(simulation);
  json["per_seed"] = seeds_json(simulation);
  return json;
}

std::string heading(const Simulation& simulation) {
  std::string text = fmt::format("Fraction of the optimum of {}, mean over {} seeds",
                                 simulation.space, simulation.runs.size());
  if (!simulation.warm_from.empty()) {
    text += ", which start with the fastest of " + simulation.warm_from;
  }
  return text + ":\n";
}

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
  std::string text = heading(simulation) + table.text();
  if (simulation.asked.has_value()) {
    text +=
        fmt::format("The space has {} configurations, fewer than the {} evaluations asked for.\n",
                    simulation.variants, *simulation.asked);
  }
  if (simulation.target.has_value()) text += target_text(simulation);
  return text;
}

std::string simulations_json(const std::vector<Simulation>& simulations) {
  Json all = Json::array();
  for (const Simulation& simulation : simulations) all.push_back(simulation_json(simulation));
  return Json({{"format", 1}, {"simulations", all}}).document_text();
}

class SimulateCommand final : public Command {
 public:
  std::string details() const override {
    return "--space FILE is a Kernel Tuner cache or T4 results, as JSON or gzipped. --kernel\n"
           "takes the problems of a database for which a sweep visited all variants. The output\n"
           "says how close to the fastest configuration the strategy came after 20, 50, 100 and\n"
           "200 evaluations, and how close random drawing comes on average. A failed\n"
           "configuration is an evaluation too. With --warm-from the search starts as a sweep\n"
           "that has results of another GPU or another problem.\n"
           "Examples:\n"
           "  mgtune simulate --space gemm.json.gz --strategy adaptive --seeds 100\n"
           "  mgtune simulate rmsnorm.forward --evaluations 25%\n"
           "  mgtune simulate --space gemm.json.gz --target 0.98\n"
           "  mgtune simulate --space gemm.A100.json.gz --warm-from gemm.H100.json.gz";
  }
  void declare(ArgumentList& arguments) override {
    arguments.value("--space", space_, "FILE", "The recorded space");
    arguments.value("--warm-from", warm_from_, "FILE",
                    "With --space: start with the fastest configurations of this recorded space");
    arguments.kernel(
        swept_.kernel, "NAME|DIR",
        "Instead of --space: problems of this operator or family that were swept in full");
    arguments.value("--problem", swept_.problem, "DIMS",
                    "With --kernel: only problems with these values (rows=4096,T=bf16)");
    arguments.value("--db", database_, "FILE",
                    "With --kernel: database of results (default: the user's)");
    arguments.choice("--strategy", strategy_, search_strategies(), "NAME",
                     strategy_list() + " (default: adaptive)");
    arguments.value("--evaluations", evaluations_, "N|P%",
                    "Configurations per seed, or a share of the space (default: 200; with "
                    "--target until the target is reached)");
    arguments.value(
        "--target", target_, "X",
        "Also say where each seed stops because a further gain of 1-X is unlikely (0.98: 2 %)");
    arguments.integer("--seeds", seeds_, "K",
                      "How many replays, each with its own seed (default: 100)");
    arguments.json(json_);
  }
  Result<ExitCode> run(const Invocation&) override {
    MGTUNE_TRY(check_words());
    SimulationRequest request{strategy_, seeds_, {}, {}};
    MGTUNE_ASSIGN(request.evaluations, parse_evaluations(evaluations_));
    if (!target_.empty()) {
      MGTUNE_ASSIGN(request.target, parse_target(target_, strategy_));
    }
    if (!swept_.kernel.empty()) return run_swept(request);
    MGTUNE_ASSIGN(const SimulatedSpace space,
                  warm_from_.empty() ? space_of_file(space_) : space_of_file(space_, warm_from_));
    MGTUNE_ASSIGN(const Simulation simulation, simulate(space, request));
    std::cout << (json_ ? simulation_json(simulation).document_text()
                        : simulation_table(simulation));
    return ExitCode::ok;
  }

 private:
  Status check_words() const {
    if (space_.empty() == swept_.kernel.empty()) {
      return invalid_argument(space_.empty() ? "--space or --kernel is required"
                                             : "give either --space or --kernel, not both");
    }
    if (!space_.empty() && (!swept_.problem.empty() || !database_.empty())) {
      return invalid_argument("--problem and --db go with --kernel, not with --space");
    }
    if (!warm_from_.empty() && space_.empty()) {
      return invalid_argument("--warm-from goes with --space, not with --kernel");
    }
    if (seeds_ == 0 || seeds_ > kMaxSeeds) {
      return invalid_argument(fmt::format("--seeds: expected 1 to {}, got {}", kMaxSeeds, seeds_));
    }
    MGTUNE_TRY(check_strategy(strategy_).with_context("--strategy"));
    if (!warm_from_.empty() && !starts_warm(strategy_)) {
      return invalid_argument("--warm-from: the strategy " + strategy_ +
                              " does not use other results; use adaptive");
    }
    return {};
  }

  Result<ExitCode> run_swept(const SimulationRequest& request) {
    Catalog catalog(FileSystem::real());
    MGTUNE_TRY(check_swept_filter(catalog, swept_));
    MGTUNE_ASSIGN(std::optional<Store> store, open_results(database_));
    if (!store.has_value()) {
      return not_found("there are no results yet; 'mgtune sweep --strategy exhaustive' makes some");
    }
    MGTUNE_ASSIGN(const SweptSpaces swept, spaces_of_store(*store, catalog, swept_));
    for (const std::string& what : swept.left_out) std::cerr << "left out " << what << "\n";
    if (swept.spaces.empty()) {
      return not_found(store->path() +
                       ": no problem that was asked for was swept in full; 'mgtune sweep "
                       "--strategy exhaustive' does that");
    }
    std::vector<Simulation> simulations;
    for (const SimulatedSpace& space : swept.spaces) {
      MGTUNE_ASSIGN(Simulation simulation, simulate(space, request));
      if (!json_) std::cout << simulation_table(simulation);
      simulations.push_back(std::move(simulation));
    }
    if (json_) std::cout << simulations_json(simulations);
    return ExitCode::ok;
  }

  std::string space_, warm_from_, strategy_{kDefaultStrategy}, evaluations_, target_, database_;
  ResultFilter swept_;
  std::uint64_t seeds_ = 100;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_simulate_command() { return std::make_unique<SimulateCommand>(); }

}  // namespace mgtune
