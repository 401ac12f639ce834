#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <set>
#include <span>

#include "cli/command.h"
#include "cli/found_results.h"
#include "cli/output/terminal.h"
#include "family/catalog.h"
#include "json/json.h"
#include "model/report_model.h"
#include "plan/absent_gpu.h"
#include "plan/problem_set.h"
#include "space/space.h"
#include "system/file_system.h"
#include "text/tables.h"
#include "text/text_table.h"

namespace mgtune {
namespace {

// One design, with the size of its space for an example problem.
struct ListedDesign {
  const Operator* op;
  const Design* design;
  std::string example;  // problem text; "" if the operator has no problems
  DesignStatistics statistics = {};
};

// The designs of `op`. `operators` is how many operators are listed together; they share the time
// for counting.
Result<std::vector<ListedDesign>> list_operator(const Operator& op, const DeviceInfo& device,
                                                std::size_t operators) {
  std::vector<ListedDesign> designs;
  for (const Design& design : op.designs) designs.push_back({&op, &design, ""});
  const bool emulation = device.kind == DeviceKind::cpu;
  if ((emulation ? op.emulation_problems : op.problems).empty()) return designs;
  MGTUNE_ASSIGN(const Problem example, first_problem(op, device.kind));
  std::vector<DesignStatistics> statistics =
      Space(example, device.limits).statistics(kCountedNodes / operators);
  for (std::size_t i = 0; i < designs.size(); ++i) {
    designs[i].example = example.text();
    designs[i].statistics = std::move(statistics[i]);
  }
  return designs;
}

std::string parameters_text(const Design& design) {
  std::string text;
  for (const Parameter& parameter : design.params) {
    text += (text.empty() ? "" : " ") + parameter.name + "(" +
            std::to_string(parameter.values.size()) + ")";
  }
  return text;
}

std::string designs_table(const std::vector<ListedDesign>& designs) {
  using Align = TextTable::Align;
  TextTable table({{"operator"},
                   {"design"},
                   {"variants", Align::right},
                   {"points", Align::right},
                   {"for this problem"},
                   {"unavailable here"},
                   {"parameters (values)"}});
  for (const ListedDesign& listed : designs) {
    const DesignStatistics& of = listed.statistics;
    table.add_row({listed.op->full_name(), listed.design->name,
                   (of.counted ? "" : ">= ") + std::to_string(of.admissible),
                   std::to_string(of.points), listed.example, of.unavailable,
                   parameters_text(*listed.design)});
  }
  return table.text();
}

Json parameter_json(const Design& design, const Parameter& parameter) {
  Json values = Json::array();
  for (const std::int64_t value : parameter.values) {
    if (parameter.type == ValueType::integer) {
      values.push_back(value);
    } else if (parameter.type == ValueType::boolean) {
      values.push_back(value != 0);
    } else {
      values.push_back(design.scope.symbol_text(value));
    }
  }
  return {{"name", parameter.name}, {"values", values}};
}

std::string designs_json(const std::vector<ListedDesign>& designs) {
  Json rows = Json::array();
  for (const ListedDesign& listed : designs) {
    Json parameters = Json::array();
    for (const Parameter& parameter : listed.design->params) {
      parameters.push_back(parameter_json(*listed.design, parameter));
    }
    rows.push_back({{"family", listed.op->family},
                    {"operator", listed.op->full_name()},
                    {"design", listed.design->name},
                    {"parameters", parameters},
                    {"example", listed.example},
                    {"points", listed.statistics.points},
                    {"admissible", listed.statistics.admissible},
                    {"counted", listed.statistics.counted},
                    {"unavailable", listed.statistics.unavailable}});
  }
  return Json({{"format", 1}, {"designs", rows}}).document_text();
}

// One operator with results on one device.
struct ListedResults {
  std::string op, device;
  std::size_t problems = 0;
  std::set<std::string> methods;
};

std::vector<ListedResults> list_results(const ReportModel& model) {
  std::vector<ListedResults> listed;
  for (const std::span<const ReportPick> picks : picks_by_operator(model)) {
    ListedResults results{picks.front().view.op, device_text(picks.front().view.gpu), 0, {}};
    std::set<std::size_t> problems;
    for (const ReportPick& pick : picks) {
      problems.insert(pick.problem);
      results.methods.insert(pick.view.tuned.method);
    }
    results.problems = problems.size();
    listed.push_back(std::move(results));
  }
  return listed;
}

std::string results_table(const std::vector<ListedResults>& all) {
  TextTable table(
      {{"operator"}, {"device"}, {"tuned problems", TextTable::Align::right}, {"methods"}});
  for (const ListedResults& results : all) {
    table.add_row({results.op, results.device, std::to_string(results.problems),
                   fmt::format("{}", fmt::join(results.methods, " "))});
  }
  return table.text();
}

std::string results_json(const std::vector<ListedResults>& all) {
  const Json rows = Json::array(all, [](const ListedResults& results) -> Json {
    return {{"operator", results.op},
            {"device", results.device},
            {"problems", results.problems},
            {"methods", results.methods}};
  });
  return Json({{"format", 1}, {"results", rows}}).document_text();
}

class ListCommand final : public Command {
 public:
  std::string details() const override {
    return "The number of variants is that of the operator's first problem on the device of "
           "--gpu, which need not be in this machine. With --db, the operators and devices are\n"
           "listed that a database, a tuned table or a pack has picks of.\n"
           "Examples:\n"
           "  mgtune list rmsnorm\n"
           "  mgtune list --db h200.mgpack";
  }
  void declare(ArgumentList& arguments) override {
    arguments.kernel(kernel_, "NAME|DIR", "Only this family, operator or folder");
    arguments.gpu(gpu_, "The device whose limits count (default: auto); with --db, only this one");
    arguments.value("--db", database_, "FILE",
                    "List what is tuned in this database, tuned table or pack");
    arguments.json(json_);
  }
  Result<ExitCode> run(const Invocation&) override {
    if (!database_.empty()) return list_picks();
    Catalog catalog(FileSystem::real());
    const std::vector<std::string> kernels =
        kernel_.empty() ? Catalog::shipped_families() : std::vector<std::string>{kernel_};
    MGTUNE_ASSIGN(const std::vector<DeviceInfo> devices,
                  select_devices_or_product(gpu_.empty() ? "auto" : gpu_));
    std::vector<const Operator*> operators;
    for (const std::string& kernel : kernels) {
      MGTUNE_ASSIGN(const std::vector<const Operator*> of_kernel, catalog.find(kernel));
      operators.insert(operators.end(), of_kernel.begin(), of_kernel.end());
    }
    std::vector<ListedDesign> all;
    for (const Operator* op : operators) {
      MGTUNE_ASSIGN(const std::vector<ListedDesign> designs,
                    list_operator(*op, devices.front(), operators.size()));
      all.insert(all.end(), designs.begin(), designs.end());
    }
    if (json_) {
      std::cout << designs_json(all);
    } else {
      print_text(designs_table(all));
    }
    return ExitCode::ok;
  }

 private:
  Result<ExitCode> list_picks() const {
    ResultFilter filter;
    filter.kernel = kernel_;
    filter.gpu = gpu_;
    MGTUNE_ASSIGN(const FoundResults found, find_results(database_, filter));
    print_notes(found);
    if (!found.nothing.empty()) return not_found(found.nothing);
    const std::vector<ListedResults> listed = list_results(found.model);
    if (json_) {
      std::cout << results_json(listed);
    } else if (listed.empty()) {
      std::cout << no_picks_text(found.model);
    } else {
      print_text(results_table(listed));
    }
    return ExitCode::ok;
  }

  std::string kernel_, gpu_, database_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_list_command() { return std::make_unique<ListCommand>(); }

}  // namespace mgtune
