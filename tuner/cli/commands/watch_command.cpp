// The process behind `mgtune sweep --watch` (cli/watch_page.h).

#include "cli/command.h"
#include "cli/output/watch_page.h"

namespace mgtune {
namespace {

class WatchCommand final : public Command {
 public:
  bool hidden() const override { return true; }
  void declare(ArgumentList& arguments) override {
    arguments.required("--db", database_, "FILE", "The sweep's database");
    arguments.value("--kernel", kernel_, "NAME|DIR",
                    "The kernel that the sweep tunes (default: all)");
  }
  Result<ExitCode> run(const Invocation&) override {
    MGTUNE_TRY(serve_watch_page(database_, kernel_));
    return ExitCode::ok;
  }

 private:
  std::string database_, kernel_;
};

}  // namespace

std::unique_ptr<Command> make_watch_command() { return std::make_unique<WatchCommand>(); }

}  // namespace mgtune
