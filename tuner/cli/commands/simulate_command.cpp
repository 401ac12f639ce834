#include <fmt/format.h>

#include <iostream>

#include "cli/command.h"
#include "cli/output/simulate_output.h"
#include "results/stored_results.h"
#include "search/search.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

constexpr std::uint64_t kMaxSeeds = 100000;

class SimulateCommand final : public Command {
 public:
  std::string_view details() const override {
    return "--space FILE is a Kernel Tuner cache or T4 results, as JSON or gzipped. --kernel\n"
           "takes the problems of a database for which a sweep visited all variants. The output\n"
           "says how close to the fastest configuration the strategy came after 20, 50, 100 and\n"
           "200 evaluations, and how close random drawing comes on average. A failed\n"
           "configuration is an evaluation too.\n"
           "Examples:\n"
           "  mgtune simulate --space gemm.json.gz --strategy adaptive --seeds 100\n"
           "  mgtune simulate --kernel rmsnorm.forward --evaluations 25%\n"
           "  mgtune simulate --space gemm.json.gz --target 0.98";
  }
  void declare(ArgumentList& arguments) override {
    arguments.value("--space", space_, "FILE", "The recorded space");
    arguments.value(
        "--kernel", swept_.kernel, "NAME|DIR",
        "Instead of --space: problems of this operator or family that were swept in full");
    arguments.value("--problem", swept_.problem, "DIMS",
                    "With --kernel: only problems with these values (rows=4096,T=bf16)");
    arguments.value("--db", database_, "FILE",
                    "With --kernel: database of results (default: the user's)");
    arguments.value("--strategy", strategy_, "NAME", strategy_list() + " (default: adaptive)");
    arguments.value("--evaluations", evaluations_, "N|P%",
                    "Configurations per seed, at least 20, or a share of the space (default: 200; "
                    "with --target until the target is reached)");
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
    MGTUNE_ASSIGN(const SimulatedSpace space, space_of_file(space_));
    MGTUNE_ASSIGN(const Simulation simulation, simulate(space, request));
    std::cout << (json_ ? simulation_json(simulation) : simulation_table(simulation));
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
    if (seeds_ == 0 || seeds_ > kMaxSeeds) {
      return invalid_argument(fmt::format("--seeds: expected 1 to {}, got {}", kMaxSeeds, seeds_));
    }
    return check_strategy(strategy_).with_context("--strategy");
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

  std::string space_, strategy_{kDefaultStrategy}, evaluations_, target_, database_;
  SweptFilter swept_;
  std::uint64_t seeds_ = 100;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_simulate_command() { return std::make_unique<SimulateCommand>(); }

}  // namespace mgtune
