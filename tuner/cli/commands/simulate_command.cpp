#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iostream>

#include "cli/argument_list.h"
#include "cli/command.h"
#include "cli/output/simulate_output.h"
#include "cli/simulated_space.h"
#include "cli/stored_results.h"
#include "system/file_system.h"
#include "search/target.h"

namespace mgtune {
namespace {

// After these many evaluations strategies are compared.
constexpr std::array<std::size_t, 4> kBudgets = {20, 50, 100, 200};
constexpr std::size_t kDefaultEvaluations = 200;

constexpr std::uint64_t kMostSeeds = 100000;

// What --evaluations asks for: a number, or a share of each space.
struct Evaluations {
  std::size_t number = kDefaultEvaluations;
  double share = 0;  // above 0: `number` does not count

  // When strategies are compared; a share is a budget of its own.
  std::vector<std::size_t> budgets(std::size_t variants) const {
    const auto own = static_cast<std::size_t>(std::ceil(share * static_cast<double>(variants)));
    const std::size_t most = share > 0 ? std::max<std::size_t>(own, 1) : number;
    std::vector<std::size_t> budgets;
    for (const std::size_t budget : kBudgets) {
      if (budget < most || (budget == most && share == 0)) budgets.push_back(budget);
    }
    if (share > 0) budgets.push_back(most);
    return budgets;
  }
};

Result<Evaluations> parse_evaluations(const std::string& text) {
  Evaluations evaluations;
  if (text.empty()) return evaluations;
  const char* end = text.data() + text.size();
  if (text.ends_with('%')) {
    double percent = 0;
    const auto read = std::from_chars(text.data(), end - 1, percent);
    if (read.ec == std::errc() && read.ptr == end - 1 && percent > 0 && percent <= 100) {
      evaluations.share = percent / 100;
      return evaluations;
    }
  } else {
    const auto read = std::from_chars(text.data(), end, evaluations.number);
    if (read.ec == std::errc() && read.ptr == end) {
      if (evaluations.number >= kBudgets[0]) return evaluations;
      return invalid_argument(
          fmt::format("--evaluations: expected at least {}, got {}", kBudgets[0], text));
    }
  }
  return invalid_argument(
      "--evaluations: expected a number (200) or a share of the space (25%), "
      "got '" +
      text + "'");
}

class SimulateCommand final : public Command {
 public:
  std::string_view name() const override { return "simulate"; }
  std::string_view summary() const override {
    return "Replay a recorded space with a search strategy; no GPU needed";
  }
  std::string_view details() const override {
    return "--space FILE is a Kernel Tuner cache or T4 results, as JSON or gzipped. --kernel takes "
           "the\n"
           "problems of a database of which a sweep visited every variant. Says how near to the\n"
           "fastest configuration the strategy came after 20, 50, 100 and 200 evaluations, a "
           "failed\n"
           "configuration counting as one, beside the exact expectation of drawing at random.\n"
           "Examples:\n"
           "  mgtune simulate --space gemm.json.gz --strategy adaptive --seeds 100\n"
           "  mgtune simulate --kernel rmsnorm.forward --evaluations 25%\n"
           "  mgtune simulate --space gemm.json.gz --target 0.98";
  }
  void declare(ArgumentList& arguments) override {
    arguments.value("--space", space_, "FILE", "The recorded space");
    arguments.value("--kernel", swept_.kernel, "NAME|DIR",
                    "Instead: problems of this operator or family that were swept in full");
    arguments.value("--problem", swept_.problem, "DIMS",
                    "With --kernel: those with these values (rows=4096,T=bf16)");
    arguments.value("--db", database_, "FILE",
                    "With --kernel: database of results (default: the user's)");
    arguments.value("--strategy", strategy_, "NAME", "adaptive (default), random or exhaustive");
    arguments.value("--evaluations", evaluations_, "N|P%",
                    "Configurations per seed, at least 20, or a share of the space (default: 200; "
                    "with --target as many as it takes)");
    arguments.value("--target", target_, "X",
                    "Also say where each seed stops because a further 1-X is unlikely (0.98: 2 %)");
    arguments.integer("--seeds", seeds_, "K", "How often, each with its own seed (default: 100)");
    arguments.flag("--json", json_, "Print JSON");
  }
  Result<ExitCode> run(const Invocation&) override;

 private:
  Status check_words() const;
  Result<Simulation> simulate(const SimulatedSpace& space, const Evaluations& evaluations,
                              std::optional<double> target) const;
  Result<ExitCode> run_swept(const Evaluations& evaluations, std::optional<double> target);

  std::string space_, strategy_{kDefaultStrategy}, evaluations_, target_, database_;
  SweptWords swept_;
  std::uint64_t seeds_ = 100;
  bool json_ = false;
};

Status SimulateCommand::check_words() const {
  if (space_.empty() == swept_.kernel.empty()) {
    return invalid_argument(space_.empty() ? "--space or --kernel is required"
                                           : "either --space or --kernel, not both");
  }
  if (!space_.empty() && (!swept_.problem.empty() || !database_.empty())) {
    return invalid_argument("--problem and --db go with --kernel, not with --space");
  }
  if (seeds_ == 0 || seeds_ > kMostSeeds) {
    return invalid_argument(fmt::format("--seeds: expected 1 to {}, got {}", kMostSeeds, seeds_));
  }
  return check_strategy(strategy_).with_context("--strategy");
}

Result<ExitCode> SimulateCommand::run(const Invocation&) {
  MGTUNE_TRY(check_words());
  MGTUNE_ASSIGN(const Evaluations evaluations, parse_evaluations(evaluations_));
  std::optional<double> target;
  if (!target_.empty()) {
    MGTUNE_ASSIGN(target, parse_target(target_, strategy_));
  }
  if (!swept_.kernel.empty()) return run_swept(evaluations, target);
  MGTUNE_ASSIGN(const SimulatedSpace space, space_of_file(space_));
  MGTUNE_ASSIGN(const Simulation simulation, simulate(space, evaluations, target));
  std::cout << (json_ ? simulation_json(simulation) : simulation_table(simulation));
  return ExitCode::ok;
}

Result<ExitCode> SimulateCommand::run_swept(const Evaluations& evaluations,
                                            std::optional<double> target) {
  Catalog catalog(FileSystem::real());
  MGTUNE_TRY(check_swept_words(catalog, swept_));
  MGTUNE_ASSIGN(std::optional<Store> store, open_results(database_));
  if (!store.has_value()) {
    return not_found("there are no results yet; mgtune sweep --strategy exhaustive makes some");
  }
  MGTUNE_ASSIGN(const SweptSpaces swept, spaces_of_store(*store, catalog, swept_));
  for (const std::string& what : swept.left_out) std::cerr << "left out " << what << "\n";
  if (swept.spaces.empty()) {
    return not_found(store->path() +
                     ": no problem that is meant was visited in full; mgtune sweep "
                     "--strategy exhaustive does that");
  }
  std::vector<Simulation> simulations;
  for (const SimulatedSpace& space : swept.spaces) {
    MGTUNE_ASSIGN(Simulation simulation, simulate(space, evaluations, target));
    if (!json_) std::cout << simulation_table(simulation);
    simulations.push_back(std::move(simulation));
  }
  if (json_) std::cout << simulations_json(simulations);
  return ExitCode::ok;
}

Result<Simulation> SimulateCommand::simulate(const SimulatedSpace& space,
                                             const Evaluations& evaluations,
                                             std::optional<double> target) const {
  const std::vector<std::size_t> budgets = evaluations.budgets(space.times.size());
  Simulation simulation{space.name, strategy_, seeds_, space.times.size(), {}, {}, {}};
  MGTUNE_ASSIGN(simulation.found, replay(*space.set, space.time_of, strategy_, seeds_, budgets));
  for (const std::size_t budget : budgets) {
    simulation.random.push_back(random_expectation(space.times, budget));
  }
  if (target.has_value()) {
    const std::size_t most = evaluations_.empty()    ? space.times.size()
                             : evaluations.share > 0 ? budgets.back()
                                                     : evaluations.number;
    simulation.target.emplace();
    simulation.target->target = *target;
    MGTUNE_ASSIGN(simulation.target->stops,
                  replay_to_target(*space.set, space.time_of, strategy_, seeds_, *target, most));
  }
  return simulation;
}

}  // namespace

std::unique_ptr<Command> make_simulate_command() { return std::make_unique<SimulateCommand>(); }

}  // namespace mgtune
