#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/argument_list.h"
#include "cli/command.h"
#include "core/file_system.h"
#include "exchange/read_recorded_space.h"
#include "model/text_table.h"
#include "search/replay.h"

namespace mgtune {
namespace {

using Json = nlohmann::ordered_json;

// After these many evaluations strategies are compared.
constexpr std::array<std::size_t, 4> kBudgets = {20, 50, 100, 200};

constexpr std::uint64_t kMostSeeds = 100000;

struct Simulation {
  std::string space;
  std::string strategy;
  std::uint64_t seeds = 0;
  std::vector<Quality> found;
  std::vector<double> random;  // expectation, for each of `found`
};

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

Result<Simulation> simulate(const RecordedSpace& space, const std::string& name,
                            const std::string& strategy, std::uint64_t seeds,
                            std::span<const std::size_t> budgets) {
  Simulation simulation{name, strategy, seeds, {}, {}};
  const auto time_of = [&space](const Variant& variant) { return space.time(variant); };
  MGTUNE_ASSIGN(simulation.found, replay(space, time_of, strategy, seeds, budgets));
  for (const std::size_t budget : budgets) {
    simulation.random.push_back(random_expectation(space.times(), budget));
  }
  return simulation;
}

std::string simulation_json(const Simulation& simulation) {
  Json found = Json::object();
  Json ci95 = Json::object();
  Json random = Json::object();
  for (std::size_t i = 0; i < simulation.found.size(); ++i) {
    const std::string budget = std::to_string(simulation.found[i].evaluations);
    found[budget] = simulation.found[i].mean;
    ci95[budget] = simulation.found[i].ci95;
    random[budget] = simulation.random[i];
  }
  return Json({{"space", simulation.space},
               {"strategy", simulation.strategy},
               {"seeds", simulation.seeds},
               {"fraction_of_optimum", found},
               {"ci95", ci95},
               {"random", random}})
             .dump(2) +
         "\n";
}

std::string simulation_table(const Simulation& simulation) {
  using Align = TextTable::Align;
  TextTable table({{"evaluations", Align::right},
                   {simulation.strategy, Align::right},
                   {"95 %", Align::right},
                   {"random", Align::right}});
  for (std::size_t i = 0; i < simulation.found.size(); ++i) {
    const Quality& quality = simulation.found[i];
    table.add_row({std::to_string(quality.evaluations), fmt::format("{:.3f}", quality.mean),
                   fmt::format("+-{:.3f}", quality.ci95),
                   fmt::format("{:.3f}", simulation.random[i])});
  }
  return fmt::format("Fraction of the optimum of {}, mean over {} seeds:\n{}", simulation.space,
                     simulation.seeds, table.text());
}

class SimulateCommand final : public Command {
 public:
  std::string_view name() const override { return "simulate"; }
  std::string_view summary() const override {
    return "Replay a recorded space with a search strategy; no GPU needed";
  }
  std::string_view details() const override {
    return "FILE is a Kernel Tuner cache or T4 results, as JSON or gzipped. Says how near to the\n"
           "fastest configuration the strategy came after 20, 50, 100 and 200 evaluations, a "
           "failed\n"
           "configuration counting as one, beside the exact expectation of drawing at random.\n"
           "Example: mgtune simulate --space gemm.json.gz --strategy adaptive --seeds 100";
  }
  void declare(ArgumentList& arguments) override {
    arguments.required("--space", space_, "FILE", "The recorded space");
    arguments.value("--strategy", strategy_, "NAME", "adaptive (default), random or exhaustive");
    arguments.integer("--evaluations", evaluations_, "N",
                      "Configurations per seed, at least 20 (default: 200)");
    arguments.integer("--seeds", seeds_, "K", "How often, each with its own seed (default: 100)");
    arguments.flag("--json", json_, "Print JSON");
  }
  Result<ExitCode> run(const Invocation&) override {
    MGTUNE_ASSIGN(const std::vector<std::size_t> budgets, checked_budgets());
    MGTUNE_TRY(check_strategy(strategy_).with_context("--strategy"));
    MGTUNE_ASSIGN(const RecordedSpace space, read_recorded_space(FileSystem::real(), space_));
    MGTUNE_ASSIGN(const Simulation simulation,
                  simulate(space, space_name(space_), strategy_, seeds_, budgets));
    std::cout << (json_ ? simulation_json(simulation) : simulation_table(simulation));
    return ExitCode::ok;
  }

 private:
  Result<std::vector<std::size_t>> checked_budgets() const {
    if (seeds_ == 0 || seeds_ > kMostSeeds) {
      return invalid_argument(fmt::format("--seeds: expected 1 to {}, got {}", kMostSeeds, seeds_));
    }
    std::vector<std::size_t> budgets;
    for (const std::size_t budget : kBudgets) {
      if (budget <= evaluations_) budgets.push_back(budget);
    }
    if (budgets.empty()) {
      return invalid_argument(
          fmt::format("--evaluations: expected at least {}, got {}", kBudgets[0], evaluations_));
    }
    return budgets;
  }

  std::string space_, strategy_{kDefaultStrategy};
  std::uint64_t evaluations_ = 200, seeds_ = 100;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_simulate_command() { return std::make_unique<SimulateCommand>(); }

}  // namespace mgtune
