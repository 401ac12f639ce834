#include "family_check/family_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "compiler/compiler.h"
#include "family/catalog.h"
#include "family_check/design_choice.h"
#include "family_check/kernel_names.h"
#include "family_check/parallel_trials.h"
#include "family_check/trial.h"
#include "json/json_place.h"
#include "plan/problem_set.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

// An operator whose file is valid.
struct ValidOperator {
  const Operator* op;
  std::string word;  // names only this operator
  bool has_reference = true;
  std::set<std::string> broken_designs = {};  // nothing of these is built any more
  std::vector<Problem> problems = {}, small_problems = {};
};

// A trial, and where its result belongs.
struct Planned {
  std::size_t op;
  std::size_t design;
  std::string problem;
};

class FamilyCheck {
 public:
  explicit FamilyCheck(const FamilyCheckRequest& request)
      : request_(request), catalog_(FileSystem::real()) {}

  Result<FamilyReport> run() {
    MGTUNE_TRY(read_operators());
    for (ValidOperator& valid : operators_) {
      MGTUNE_TRY(make_problems_of(valid));
      add_designs(valid);
    }
    MGTUNE_TRY(compile());
    MGTUNE_TRY(run_kernels());
    return std::move(report_);
  }

 private:
  void find(FamilyFinding finding) {
    const bool is_known = std::ranges::any_of(report_.findings, [&](const FamilyFinding& known) {
      return known.text == finding.text && known.op == finding.op;
    });
    if (!is_known) report_.findings.push_back(std::move(finding));
  }

  // Reads every operator separately, so that the mistakes of all files are found.
  Status read_operators() {
    MGTUNE_ASSIGN(const std::vector<std::string> words, catalog_.operator_words(request_.kernel));
    report_.operators = words.size();
    for (const std::string& word : words) {
      Result<std::vector<const Operator*>> found = catalog_.find(word);
      if (!found.ok()) {
        if (found.status().code() != StatusCode::invalid_argument) return found.status();
        const std::string name = word.substr(word.find_last_of("./") + 1);
        find({name, "", "", "", with_json_place(found.status().message(), FileSystem::real())});
        continue;
      }
      ValidOperator& valid = operators_.emplace_back(ValidOperator{found->front(), word});
      for (UnknownKernel& unknown : unknown_kernels(*valid.op)) {
        if (unknown.design.empty()) {
          valid.has_reference = false;
        } else {
          valid.broken_designs.insert(unknown.design);
        }
        find({valid.op->full_name(), unknown.design, "", "", std::move(unknown.text)});
      }
    }
    return {};
  }

  Status make_problems_of(ValidOperator& valid) {
    const auto keep = [&](Result<std::vector<Problem>> made, std::vector<Problem>& out) -> Status {
      if (made.ok()) {
        out = *std::move(made);
      } else if (made.status().code() == StatusCode::invalid_argument) {
        find({valid.op->full_name(), "", "", "", made.status().message()});
      } else {
        return made.status();
      }
      return {};
    };
    const bool has_problems = !valid.op->problems.empty();
    if (has_problems) {
      MGTUNE_TRY(keep(make_problems({valid.op}, {}, DeviceKind::cuda), valid.problems));
    }
    MGTUNE_TRY(keep(small_problems(*valid.op), valid.small_problems));
    if (!has_problems) valid.problems = valid.small_problems;
    if (valid.small_problems.empty()) {
      report_.notes.push_back(valid.op->full_name() +
                              ": nothing was run, because the file has no problems");
    }
    return {};
  }

  void add_designs(const ValidOperator& valid) {
    const std::vector<SpaceSummary> spaces = spaces_of(valid);
    // A design without a variant is a mistake only if no other design has one either: it may be
    // meant for problems that the file does not list.
    const bool has_no_variant = std::ranges::all_of(spaces, [](const SpaceSummary& space) {
      return space.is_empty || !space.unavailable.empty();
    });
    for (std::size_t i = 0; i < valid.op->designs.size(); ++i) {
      CheckedDesign& design = report_.designs.emplace_back();
      design.op = valid.op->full_name();
      design.design = valid.op->designs[i].name;
      if (spaces.empty()) continue;
      design.space = spaces[i];
      if (design.space.is_empty && has_no_variant) {
        find({design.op, design.design, "", "",
              fmt::format("{}", fmt::join(design.space.warnings, "\n"))});
        continue;
      }
      for (const std::string& warning : design.space.warnings) {
        report_.warnings.push_back(fmt::format("{}: {}", design.op, warning));
      }
    }
  }

  // For each design, its space on the first target on which it has a variant.
  std::vector<SpaceSummary> spaces_of(const ValidOperator& valid) const {
    std::vector<SpaceSummary> chosen;
    if (valid.problems.empty()) return chosen;
    for (const DeviceInfo& target : request_.targets) {
      std::vector<SpaceSummary> spaces = summarize_space(*valid.op, valid.problems, target);
      if (chosen.empty()) {
        chosen = std::move(spaces);
        continue;
      }
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        const bool is_served = !chosen[i].is_empty && chosen[i].unavailable.empty();
        if (!is_served) chosen[i] = std::move(spaces[i]);
      }
    }
    return chosen;
  }

  CheckedDesign& checked(const Planned& planned) {
    const Operator& op = *operators_[planned.op].op;
    return *std::ranges::find_if(report_.designs, [&](const CheckedDesign& design) {
      return design.op == op.full_name() && design.design == op.designs[planned.design].name;
    });
  }

  template <typename Visit>
  void for_each_sound_design(const Visit& visit) const {
    for (std::size_t o = 0; o < operators_.size(); ++o) {
      const ValidOperator& valid = operators_[o];
      for (std::size_t d = 0; d < valid.op->designs.size(); ++d) {
        if (!valid.broken_designs.contains(valid.op->designs[d].name)) visit(valid, o, d);
      }
    }
  }

  static TrialItem item(const ValidOperator& valid, const Problem& problem,
                        const Variant& variant) {
    return {valid.word, valid.op->full_name(), problem.text(), variant_text(*valid.op, variant)};
  }

  // One variant of each design for each target.
  Status compile() {
    std::vector<TrialRequest> requests;
    std::vector<std::vector<Planned>> plans;
    for (const DeviceInfo& target : request_.targets) {
      const auto compiler = make_compiler(target.arch);
      if (!compiler.ok()) {
        report_.notes.push_back(fmt::format("nothing was compiled for {}: {}", target.arch,
                                            compiler.status().message()));
        continue;
      }
      for_each_sound_design([&](const ValidOperator& valid, std::size_t o, std::size_t d) {
        for (const Problem& problem : valid.problems) {
          const auto variant = chosen_variant(problem, static_cast<int>(d), target.limits);
          if (!variant) continue;
          requests.push_back({target, false, {item(valid, problem, *variant)}});
          plans.push_back({{o, d, problem.text()}});
          break;
        }
      });
    }
    MGTUNE_ASSIGN(const auto results, run_in_parallel(request_.program, requests));
    for (std::size_t i = 0; i < requests.size(); ++i) {
      MGTUNE_TRY(take_build(requests[i], plans[i].front(), results[i].front()));
    }
    return {};
  }

  Status take_build(const TrialRequest& request, const Planned& planned,
                    const TrialResult& result) {
    if (result.failure == StatusCode::environment) return {result.failure, result.message};
    ValidOperator& valid = operators_[planned.op];
    CheckedDesign& design = checked(planned);
    design.builds.push_back({request.device.arch, request.items.front().variant,
                             result.failure == StatusCode::ok, result.registers, result.spill_bytes,
                             result.static_shared_bytes});
    if (result.failure == StatusCode::ok) return {};
    valid.broken_designs.insert(design.design);
    find({design.op, design.design, "", request.device.arch,
          fmt::format("{} does not compile:\n{}", request.items.front().variant, result.message)});
    return {};
  }

  // The chosen variants of each design on each device.
  Status run_kernels() {
    std::vector<TrialRequest> requests;
    std::vector<std::vector<Planned>> plans;
    for (const DeviceInfo& device : request_.devices) {
      for_each_sound_design([&](const ValidOperator& valid, std::size_t o, std::size_t d) {
        if (!valid.has_reference) return;
        TrialRequest request{device, true, {}};
        std::vector<Planned> plan;
        for (const ChosenRun& run :
             chosen_runs(valid.small_problems, static_cast<int>(d), device.limits)) {
          request.items.push_back(item(valid, run.problem, run.variant));
          plan.push_back({o, d, run.problem.text()});
        }
        if (request.items.empty()) return;
        requests.push_back(std::move(request));
        plans.push_back(std::move(plan));
      });
    }
    MGTUNE_ASSIGN(const auto results, run_in_parallel(request_.program, requests));
    for (std::size_t i = 0; i < requests.size(); ++i) {
      for (std::size_t k = 0; k < plans[i].size(); ++k) {
        MGTUNE_TRY(take_run(requests[i], k, plans[i][k], results[i][k]));
      }
    }
    return {};
  }

  Status take_run(const TrialRequest& request, std::size_t number, const Planned& planned,
                  const TrialResult& result) {
    if (result.failure == StatusCode::environment) return {result.failure, result.message};
    const Operator& op = *operators_[planned.op].op;
    CheckedDesign& design = checked(planned);
    const bool is_unsupported = result.failure == StatusCode::unsupported;
    if (is_unsupported) {
      report_.notes.push_back(fmt::format("{}, design {}: not run on {}: {}", design.op,
                                          design.design, request.device.name, result.message));
      return {};
    }
    const std::string& variant = request.items[number].variant;
    design.runs.push_back(
        {request.device.name, planned.problem, variant, result.failure == StatusCode::ok});
    if (result.failure == StatusCode::ok) return {};
    if (result.stage == TrialResult::Stage::reference) {
      find({design.op, "", planned.problem, request.device.name, result.message});
      return {};
    }
    // If a design fails in the same way on several problems, there is one cause, which is listed
    // once.
    const bool is_known = std::ranges::any_of(report_.findings, [&](const FamilyFinding& known) {
      return known.op == design.op && known.design == design.design && !known.on.empty();
    });
    if (is_known) return {};
    std::string text = result.message;
    if (result.stage == TrialResult::Stage::build) {
      text = fmt::format("{} does not compile:\n{}", variant, text);
    } else if (result.is_wrong) {
      text += kernel_places(op, op.designs[planned.design]);
    }
    find({design.op, design.design, planned.problem, request.device.name, std::move(text)});
    return {};
  }

  const FamilyCheckRequest& request_;
  Catalog catalog_;
  std::vector<ValidOperator> operators_;
  FamilyReport report_;
};

}  // namespace

Result<FamilyReport> check_family(const FamilyCheckRequest& request) {
  return FamilyCheck(request).run();
}

}  // namespace mgtune
