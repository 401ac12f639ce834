#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "cli/command.h"
#include "cli/output/terminal.h"
#include "json/json.h"
#include "results/explanation.h"
#include "system/file_system.h"
#include "text/text_table.h"

namespace mgtune {
namespace {

constexpr std::size_t kRunnersUp = 5;

std::string expected_time_text(double ns) {
  return ns > 0 ? fmt::format("{:.2f} us", ns / 1e3) : "unknown";
}

std::string expected_share_text(double part) {
  return part < 0 ? "unknown" : fmt::format("{:.1f} %", 100 * part);
}

std::size_t listed_candidates(const SelectionReport& report) {
  return std::min(report.selected.size(), kRunnersUp + 1);
}

std::vector<std::string> flags(const SelectionReport& report) {
  std::vector<std::string> words;
  if (!report.is_here) words.emplace_back("GPU is not in this machine");
  if (report.selected.front().step == SelectionStep::nearest_gpu) words.emplace_back("other GPU");
  if (report.selected.front().other_driver) words.emplace_back("other driver");
  if (report.device.kind == DeviceKind::cpu) words.emplace_back("emulation times");
  return words;
}

// Whether its figures are measurements of this very problem on this GPU. The others are a model's
// estimates, which rank variants but say little of their times, or times of another problem.
bool is_measured_here(const SelectedVariant& selected) {
  return selected.step == SelectionStep::exact;
}

double measured_ns(const SelectedVariant& selected) {
  return is_measured_here(selected) ? selected.expected_ns : 0;
}

double measured_slowdown(const SelectedVariant& selected) {
  return is_measured_here(selected) ? selected.slowdown : -1;
}

// "18.55 us". For a pick also its time outside the final, which compares with the runners-up.
std::string expected_text(const SelectedVariant& chosen) {
  if (!is_measured_here(chosen)) return "unknown: this variant was not measured on this problem";
  const bool both = chosen.alone_ns > 0 && chosen.alone_ns != chosen.expected_ns;
  std::string text = expected_time_text(chosen.expected_ns);
  if (both) text += " as tuned; " + expected_time_text(chosen.alone_ns) + " measured alone";
  return text;
}

std::string answer_text(const SelectionReport& report) {
  const SelectedVariant& chosen = report.selected.front();
  const Operator& op = *report.problem->op;
  std::string text = fmt::format(
      "problem   {} {}\ngpu       {}\nvariant   {}\nchosen    {}: {}\nexpected  {}\n",
      op.full_name(), report.problem->text(), report.device.name, variant_text(op, chosen.variant),
      to_string(chosen.step), chosen.reason, expected_text(chosen));
  if (measured_slowdown(chosen) >= 0) {
    text += fmt::format("regret    {} over the best variant, both measured alone\n",
                        expected_share_text(chosen.slowdown));
  }
  if (!is_measured_here(chosen) && !report.neighbors.empty()) {
    text += fmt::format(
        "bound     {}: the largest loss at the {} nearest measured problems, each left out in "
        "turn\n",
        expected_share_text(worst_regret(regrets(report.neighbors))), report.neighbors.size());
  }
  for (const std::string& flag : flags(report)) text += "flag      " + flag + "\n";
  for (const std::string& failed : report.failed) text += "never     " + failed + "\n";
  text += report.source;
  if (listed_candidates(report) < 2) return text;
  TextTable table({{"runner-up"},
                   {"expected", TextTable::Align::right},
                   {"over best", TextTable::Align::right},
                   {"why"}});
  for (std::size_t i = 1; i < listed_candidates(report); ++i) {
    const SelectedVariant& other = report.selected[i];
    table.add_row({variant_text(op, other.variant), expected_time_text(measured_ns(other)),
                   expected_share_text(measured_slowdown(other)),
                   std::string(to_string(other.step))});
  }
  return text + "\n" + table.text();
}

std::string held_out_text(const std::vector<HeldOut>& problems) {
  TextTable table({{"problem"},
                   {"regret", TextTable::Align::right},
                   {"default's", TextTable::Align::right},
                   {"us", TextTable::Align::right},
                   {"best us", TextTable::Align::right},
                   {"variant chosen without it"}});
  for (const HeldOut& one : problems) {
    table.add_row(
        {one.problem->text(), expected_share_text(one.regret()),
         expected_share_text(one.default_regret()), fmt::format("{:.2f}", one.median_ns / 1e3),
         fmt::format("{:.2f}", one.best_ns / 1e3), variant_text(*one.problem->op, one.variant)});
  }
  std::string text =
      table.text() + fmt::format(
                         "{} problems, each chosen for without its measurements: "
                         "regret {} in the median, {} at worst\n",
                         problems.size(), expected_share_text(median_regret(regrets(problems))),
                         expected_share_text(worst_regret(regrets(problems))));
  if (const std::vector<double> of_default = default_regrets(problems); !of_default.empty()) {
    text += fmt::format(
        "the default, which needs no measurements: regret {} in the median, {} at worst, over {} "
        "problems\n",
        expected_share_text(median_regret(of_default)),
        expected_share_text(worst_regret(of_default)), of_default.size());
  }
  return text;
}

Json held_out_json(const std::vector<HeldOut>& problems) {
  Json list = Json::array();
  for (const HeldOut& one : problems) {
    const Operator& op = *one.problem->op;
    list.push_back({{"problem", one.problem->text()},
                    {"variant", variant_text(op, one.variant)},
                    {"median_ns", one.median_ns},
                    {"best", variant_text(op, one.best)},
                    {"best_ns", one.best_ns},
                    {"regret", one.regret()},
                    {"default_regret", nullptr}});
    if (one.default_ns > 0) list.back()["default_regret"] = one.default_regret();
  }
  return {{"median_regret", median_regret(regrets(problems))},
          {"worst_regret", worst_regret(regrets(problems))},
          {"problems", std::move(list)}};
}

Json variant_json(const Operator& op, const SelectedVariant& selected) {
  Json json = {{"variant", variant_text(op, selected.variant)},
               {"rule", to_string(selected.step)},
               {"reason", selected.reason},
               {"expected_ns", nullptr},
               {"slowdown", nullptr},
               {"estimated_ns", nullptr},
               {"estimated_slowdown", nullptr}};
  if (measured_ns(selected) > 0) json["expected_ns"] = selected.expected_ns;
  if (measured_slowdown(selected) >= 0) json["slowdown"] = selected.slowdown;
  if (!is_measured_here(selected) && selected.slowdown >= 0) {
    json["estimated_ns"] = selected.expected_ns;
    json["estimated_slowdown"] = selected.slowdown;
  }
  return json;
}

std::string selection_text(const SelectionReport& report) {
  std::string text;
  if (report.problem) text = answer_text(report);
  for (const std::vector<HeldOut>& problems : report.cross_validated) {
    text += (text.empty() ? "" : "\n") + held_out_text(problems);
  }
  return text;
}

std::string selection_json(const SelectionReport& report) {
  Json json = {{"format", 1},
               {"gpu", report.device.name},
               {"here", report.is_here},
               {"notes", report.notes}};
  if (report.problem) {
    const Operator& op = *report.problem->op;
    json["operator"] = op.full_name();
    json["problem"] = report.problem->text();
    json["chosen"] = variant_json(op, report.selected.front());
    json["regret_bound"] = nullptr;
    if (!report.neighbors.empty()) json["regret_bound"] = worst_regret(regrets(report.neighbors));
    json["flags"] = flags(report);
    json["failed"] = report.failed;
    json["runners_up"] = Json::array();
    for (std::size_t i = 1; i < listed_candidates(report); ++i) {
      json["runners_up"].push_back(variant_json(op, report.selected[i]));
    }
  }
  json["cross_validation"] = Json::array();
  for (const auto& problems : report.cross_validated) {
    json["cross_validation"].push_back(held_out_json(problems));
  }
  return json.document_text();
}

class ExplainCommand final : public Command {
 public:
  std::string details() const override {
    return "Nothing is compiled or launched. The GPU need not be in this machine if the database\n"
           "has results of it. --cross-validate leaves out each measured problem in turn and\n"
           "shows how much slower the choice without it is: expect the same at problems that\n"
           "nobody tuned.\n"
           "Examples:\n"
           "  mgtune explain rmsnorm.forward --problem rows=3000,hidden=6144,T=bf16 "
           "--gpu H200\n"
           "  mgtune explain rmsnorm.forward --gpu H200 --cross-validate";
  }
  void declare(ArgumentList& arguments) override {
    arguments.required_kernel(request_.kernel, "NAME|DIR",
                              "Operator (rmsnorm.forward), or a family's folder with one operator");
    arguments.value("--problem", request_.problem, "DIMS", "rows=4096,hidden=4096,T=bf16");
    arguments.gpu(request_.gpu, "L4, an index, a UUID, cpu, or auto: the first GPU");
    arguments.flag("--cross-validate", request_.cross_validate,
                   "Show the loss at each measured problem if it had not been measured");
    arguments.database(request_.database);
    arguments.json(json_);
  }
  Result<ExitCode> run(const Invocation&) override {
    Catalog catalog(FileSystem::real());
    MGTUNE_ASSIGN(const SelectionReport report, explain(request_, catalog));
    if (json_) {
      std::cout << selection_json(report);
    } else {
      print_text(selection_text(report));
    }
    return ExitCode::ok;
  }

 private:
  ExplainRequest request_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace mgtune
