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

std::size_t listed_candidates(const SelectionReport& report) {
  return std::min(report.selected.size(), kRunnersUp + 1);
}

std::vector<std::string> flags(const SelectionReport& report) {
  std::vector<std::string> words;
  if (!report.is_here) words.emplace_back("GPU is not in this machine");
  if (report.selected.front().step == SelectionStep::rules_of_other_gpu) {
    words.emplace_back("other GPU");
  }
  if (report.device.kind == DeviceKind::cpu) words.emplace_back("emulation times");
  return words;
}

// The time of a pick that was measured on exactly this problem; otherwise 0, because the time of a
// similar problem says little about this one.
double measured_ns(const SelectedVariant& selected) {
  return selected.step == SelectionStep::exact ? selected.expected_ns : 0;
}

std::string expected_text(const SelectedVariant& chosen) {
  if (measured_ns(chosen) > 0) return expected_time_text(chosen.expected_ns);
  return "unknown: this variant was not measured on this problem";
}

std::string answer_text(const SelectionReport& report) {
  const SelectedVariant& chosen = report.selected.front();
  const Operator& op = *report.problem.op;
  std::string text = fmt::format(
      "problem   {} {}\ngpu       {}\nvariant   {}\nchosen    {}: {}\nexpected  {}\n",
      op.full_name(), report.problem.text(), report.device.name, variant_text(op, chosen.variant),
      to_string(chosen.step), chosen.reason, expected_text(chosen));
  for (const std::string& line : report.rules_lines) text += line + "\n";
  if (!report.improvement.empty()) text += "improve   " + report.improvement + "\n";
  for (const std::string& flag : flags(report)) text += "flag      " + flag + "\n";
  for (const std::string& failed : report.failed) text += "never     " + failed + "\n";
  text += report.source;
  if (listed_candidates(report) < 2) return text;
  TextTable table({{"runner-up"}, {"expected", TextTable::Align::right}, {"why"}});
  for (std::size_t i = 1; i < listed_candidates(report); ++i) {
    const SelectedVariant& other = report.selected[i];
    table.add_row({variant_text(op, other.variant), expected_time_text(measured_ns(other)),
                   std::string(to_string(other.step))});
  }
  return text + "\n" + table.text();
}

Json variant_json(const Operator& op, const SelectedVariant& selected) {
  Json json = {{"variant", variant_text(op, selected.variant)},
               {"rule", to_string(selected.step)},
               {"reason", selected.reason},
               {"expected_ns", nullptr}};
  if (measured_ns(selected) > 0) json["expected_ns"] = selected.expected_ns;
  return json;
}

std::string selection_json(const SelectionReport& report) {
  const Operator& op = *report.problem.op;
  Json json = {{"format", 1},
               {"gpu", report.device.name},
               {"here", report.is_here},
               {"notes", report.notes},
               {"operator", op.full_name()},
               {"problem", report.problem.text()},
               {"chosen", variant_json(op, report.selected.front())},
               {"rules", report.rules_lines},
               {"improvement", report.improvement},
               {"flags", flags(report)},
               {"failed", report.failed},
               {"runners_up", Json::array()}};
  for (std::size_t i = 1; i < listed_candidates(report); ++i) {
    json["runners_up"].push_back(variant_json(op, report.selected[i]));
  }
  return json.document_text();
}

class ExplainCommand final : public Command {
 public:
  std::string details() const override {
    return "Nothing is compiled or launched. The GPU need not be in this machine if the database\n"
           "has results of it, or if configs/gpus knows it.\n"
           "Example:\n"
           "  mgtune explain rmsnorm.forward --problem rows=3000,hidden=6144,T=bf16 "
           "--gpu H200";
  }
  void declare(ArgumentList& arguments) override {
    arguments.required_kernel(request_.kernel, "NAME|DIR",
                              "Operator (rmsnorm.forward), or a family's folder with one operator");
    arguments.required("--problem", request_.problem, "DIMS", "rows=4096,hidden=4096,T=bf16");
    arguments.gpu(request_.gpu, "L4, an index, a UUID, cpu, or auto: the first GPU");
    arguments.database(request_.database);
    arguments.json(json_);
  }
  Result<ExitCode> run(const Invocation&) override {
    Catalog catalog(FileSystem::real());
    MGTUNE_ASSIGN(const SelectionReport report, explain(request_, catalog));
    if (json_) {
      std::cout << selection_json(report);
    } else {
      print_text(answer_text(report));
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
