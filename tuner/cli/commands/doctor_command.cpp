#include <iostream>

#include "cli/command.h"
#include "doctor/diagnosis.h"
#include "json/json.h"
#include "text/text_table.h"

namespace mgtune {
namespace {

std::string findings_table(const Diagnosis& diagnosis) {
  TextTable table({{"what"}, {"state"}, {"advice"}, {"found"}});
  for (const Finding& finding : diagnosis.findings) {
    table.add_row({finding.what, finding.state(), finding.ok ? "" : finding.advice, finding.found});
  }
  return table.text();
}

std::string findings_json(const Diagnosis& diagnosis) {
  auto rows = Json::array();
  for (const Finding& finding : diagnosis.findings) {
    rows.push_back({{"what", finding.what},
                    {"state", finding.state()},
                    {"found", finding.found},
                    {"advice", finding.ok ? "" : finding.advice}});
  }
  return Json({{"format", 1}, {"can_sweep", diagnosis.can_sweep}, {"findings", rows}})
      .document_text();
}

class DoctorCommand final : public Command {
 public:
  std::string details() const override {
    return "The exit code is 0 if a sweep can run on some device, otherwise 4.\n"
           "Example: mgtune doctor";
  }
  void declare(ArgumentList& arguments) override { arguments.json(json_); }
  Result<ExitCode> run(const Invocation& invocation) override {
    const Diagnosis diagnosis = diagnose(invocation.program);
    std::cout << (json_ ? findings_json(diagnosis) : findings_table(diagnosis));
    return diagnosis.can_sweep ? ExitCode::ok : ExitCode::environment;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() { return std::make_unique<DoctorCommand>(); }

}  // namespace mgtune
