#include <algorithm>
#include <iostream>
#include <optional>

#include "cli/argument_list.h"
#include "cli/command.h"
#include "cli/output/explain_output.h"
#include "cli/explained_gpu.h"
#include "cli/stored_results.h"
#include "system/file_system.h"
#include "selection/evidence.h"
#include "selection/measured_problems.h"
#include "selection/slowdown_model.h"
#include "family/catalog.h"

namespace mgtune {
namespace {

constexpr std::size_t kNeighbors = 3;  // that the bound of the regret comes from

class ExplainCommand final : public Command {
 public:
  std::string_view name() const override { return "explain"; }
  std::string_view summary() const override {
    return "Say which variant a program would run for a problem, and why";
  }
  std::string_view details() const override {
    return "Compiles and launches nothing; a GPU that the database has results of need not be\n"
           "here. --cross-validate leaves each measured problem out in turn and shows what is\n"
           "lost at it: what to expect at problems that nobody tuned.\n"
           "Examples:\n"
           "  mgtune explain --kernel rmsnorm.forward --problem rows=3000,hidden=6144,T=bf16 "
           "--gpu H200\n"
           "  mgtune explain --kernel rmsnorm.forward --gpu H200 --cross-validate";
  }
  void declare(ArgumentList& arguments) override {
    arguments.required("--kernel", kernel_, "NAME|DIR",
                       "Operator (rmsnorm.forward), or a family's folder with one operator");
    arguments.value("--problem", problem_, "DIMS", "rows=4096,hidden=4096,T=bf16");
    arguments.value("--gpu", gpu_, "NAME", "L4, an index, a UUID, cpu, or auto: the first GPU");
    arguments.flag("--cross-validate", cross_validate_, "What is lost at problems not shown");
    arguments.value("--db", database_, "FILE", "Database of results (default: the user's)");
    arguments.flag("--json", json_, "Print JSON");
  }
  Result<ExitCode> run(const Invocation&) override;

 private:
  Result<const Operator*> only_operator(Catalog& catalog) const;
  Result<Evidence> read_evidence(const Operator& op) const;
  Status answer(const Operator& op, const Evidence& evidence, SelectionReport& report) const;

  std::string kernel_, problem_, gpu_ = "auto", database_;
  bool cross_validate_ = false, json_ = false;
};

Result<const Operator*> ExplainCommand::only_operator(Catalog& catalog) const {
  MGTUNE_ASSIGN(const std::vector<const Operator*> operators, catalog.find(kernel_));
  if (operators.size() == 1) return operators.front();
  std::string message = "--kernel " + kernel_ + ": one operator at a time; there are";
  for (const Operator* op : operators) message += " " + op->full_name();
  return invalid_argument(std::move(message));
}

Result<Evidence> ExplainCommand::read_evidence(const Operator& op) const {
  MGTUNE_ASSIGN(std::optional<Store> store, open_results(database_));
  if (!store) return Evidence();
  MGTUNE_ASSIGN(const std::vector<TunedView> tuned, store->tuned(op.full_name()));
  MGTUNE_ASSIGN(const MeasuredRows measured, store->measured(op.full_name()));
  if (const Status offered = check_offered(op, tuned, measured); !offered.ok()) {
    return corrupt(store->path() + ": " + offered.message());
  }
  return decode_evidence(op, tuned, measured);
}

// The first measured problem of each combination of dtypes and flags.
std::vector<const Problem*> kinds_of_problem(const Evidence& evidence) {
  std::vector<const Problem*> kinds;
  for (const Problem& problem : evidence.problems) {
    const bool known = std::any_of(kinds.begin(), kinds.end(), [&](const Problem* kind) {
      return same_dtypes_and_flags(*problem.op, kind->slots, problem.slots);
    });
    if (!known) kinds.push_back(&problem);
  }
  return kinds;
}

Status ExplainCommand::answer(const Operator& op, const Evidence& evidence,
                              SelectionReport& report) const {
  const DeviceInfo& device = report.gpu.device;
  if (!problem_.empty()) {
    MGTUNE_ASSIGN(const auto words, parse_assignments(problem_));
    MGTUNE_ASSIGN(report.problem, bind_problem(op, words));
    report.selected = select_variants(*report.problem, device, evidence);
    if (report.selected.empty()) {
      return unsupported("no variant of " + op.full_name() + " serves " + report.problem->text() +
                         " on " + device.name + ", or all that do have failed there");
    }
    if (report.selected.front().step != SelectionStep::exact) {
      report.neighbors = cross_validate(*report.problem, device, evidence, kNeighbors);
    }
    for (const Variant& variant : failed_variants(evidence, gpu_record(device))) {
      report.failed.push_back(variant_text(op, variant));
    }
  }
  if (!cross_validate_) return {};
  std::vector<const Problem*> kinds = kinds_of_problem(evidence);
  if (report.problem) kinds = {&*report.problem};
  for (const Problem* kind : kinds) {
    std::vector<HeldOut> problems = cross_validate(*kind, device, evidence);
    if (!problems.empty()) report.cross_validated.push_back(std::move(problems));
  }
  if (!report.cross_validated.empty()) return {};
  return not_found("nothing to cross-validate: " + op.full_name() +
                   " needs at least three measured problems of the same dtypes on " + device.name);
}

Result<ExitCode> ExplainCommand::run(const Invocation&) {
  if (problem_.empty() && !cross_validate_) {
    return invalid_argument("--problem is required, unless --cross-validate is given");
  }
  Catalog catalog(FileSystem::real());
  MGTUNE_ASSIGN(const Operator* const op, only_operator(catalog));
  MGTUNE_ASSIGN(const Evidence evidence, read_evidence(*op));
  std::vector<GpuRecord> recorded = evidence.gpus;
  for (const TunedEntry& entry : evidence.tuned) {
    if (std::find(recorded.begin(), recorded.end(), entry.gpu) == recorded.end()) {
      recorded.push_back(entry.gpu);
    }
  }
  SelectionReport report;
  MGTUNE_ASSIGN(report.gpu, find_explained_gpu(gpu_, recorded));
  MGTUNE_TRY(answer(*op, evidence, report));
  std::cout << (json_ ? selection_json(report) : selection_text(report));
  return ExitCode::ok;
}

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace mgtune
