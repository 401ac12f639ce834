#include <iostream>

#include "cli/command.h"
#include "cli/output/explain_output.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

class ExplainCommand final : public Command {
 public:
  std::string_view details() const override {
    return "Nothing is compiled or launched. The GPU need not be in this machine if the database\n"
           "has results of it. --cross-validate leaves out each measured problem in turn and\n"
           "shows how much slower the choice without it is: expect the same at problems that\n"
           "nobody tuned.\n"
           "Examples:\n"
           "  mgtune explain --kernel rmsnorm.forward --problem rows=3000,hidden=6144,T=bf16 "
           "--gpu H200\n"
           "  mgtune explain --kernel rmsnorm.forward --gpu H200 --cross-validate";
  }
  void declare(ArgumentList& arguments) override {
    arguments.required("--kernel", request_.kernel, "NAME|DIR",
                       "Operator (rmsnorm.forward), or a family's folder with one operator");
    arguments.value("--problem", request_.problem, "DIMS", "rows=4096,hidden=4096,T=bf16");
    arguments.value("--gpu", request_.gpu, "NAME",
                    "L4, an index, a UUID, cpu, or auto: the first GPU");
    arguments.flag("--cross-validate", request_.cross_validate,
                   "Show the loss at each measured problem if it had not been measured");
    arguments.database(request_.database);
    arguments.json(json_);
  }
  Result<ExitCode> run(const Invocation&) override {
    Catalog catalog(FileSystem::real());
    MGTUNE_ASSIGN(const SelectionReport report, explain(request_, catalog));
    std::cout << (json_ ? selection_json(report) : selection_text(report));
    return ExitCode::ok;
  }

 private:
  ExplainRequest request_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace mgtune
