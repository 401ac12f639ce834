#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "cli/command.h"
#include "core/text.h"
#include "family/catalog.h"
#include "header/typed_header.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

class HeaderCommand final : public Command {
 public:
  std::string details() const override {
    return "FILE has, for each operator and each combination of its dtypes, a type of plans, a "
           "function that\nmakes one, and one that launches it: dims in a struct, tensors as typed "
           "pointers. It compiles as\nC11 and C++. In C++20 there is also a launch with std::span. "
           "Your "
           "program links libmgruntime.\n"
           "Examples: mgtune header my_add -o ops.h\n"
           "          mgtune header rmsnorm.forward -o norm.h";
  }
  void declare(ArgumentList& arguments) override {
    arguments.word("KERNEL", kernel_, {},
                   "A family's folder (my_add), or a family or operator (rmsnorm.forward)");
    arguments.required("-o,--output", output_, "FILE", "The header to write");
  }
  Result<ExitCode> run(const Invocation& invocation) override {
    Catalog catalog(FileSystem::real());
    MGTUNE_ASSIGN(const std::vector<const Operator*> operators, catalog.find(kernel_));
    const std::string name = std::filesystem::path(output_).filename().string();
    MGTUNE_ASSIGN(const std::string text, typed_header(operators, name, invocation.command_line));
    MGTUNE_TRY(write_output(output_, "the header", text));
    const Operator& first = *operators.front();
    std::string plan = fmt::format("{}_{}", first.family, first.name);
    for (const DTypeVariable& variable : first.dtypes) {
      plan += "_" + std::string(to_string(variable.values.front()));
    }
    std::cout << fmt::format(
        "wrote {}: {}_plan() and {}_launch(){}\n"
        "next: cc program.c -o program $(pkg-config --cflags --libs mgruntime)\n"
        "program.c is your program, which includes {}\n",
        output_, plan, plan, operators.size() > 1 || !first.dtypes.empty() ? ", and so on" : "",
        name);
    return ExitCode::ok;
  }

 private:
  std::string kernel_, output_;
};

}  // namespace

std::unique_ptr<Command> make_header_command() { return std::make_unique<HeaderCommand>(); }

}  // namespace mgtune
