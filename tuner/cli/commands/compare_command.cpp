#include <iostream>

#include "cli/command.h"
#include "cli/output/terminal.h"
#include "compare/comparison.h"
#include "compare/measured_table.h"

namespace mgtune {
namespace {

class CompareCommand final : public Command {
 public:
  std::string details() const override {
    return "A and B are each a database of results, or the output of 'mgtune show variants\n"
           "--json', 'mgtune show best --json', 'mgtune sweep --json' or 'mgtune export' (a\n"
           "tuned table), or the JSON of Google Benchmark (--benchmark_out=FILE; with\n"
           "--benchmark_repetitions=10 it also has the noise).\n"
           "SLOWER, FASTER   by 2 % or more (times of a host: 10 %), and by more than the noise\n"
           "SAME             the 95 % interval of the change is within that limit\n"
           "UNSURE           neither is certain: measure both again\n"
           "BROKEN           it has a time in A, but fails in B\n"
           "The exit code is 1 if a row is SLOWER or BROKEN.\n"
           "Example: mgtune compare before.db after.db";
  }
  void declare(ArgumentList& arguments) override {
    arguments.word("A", a_, {}, "The old times");
    arguments.word("B", b_, {}, "The new times");
    arguments.json(json_);
  }
  Result<ExitCode> run(const Invocation&) override {
    MGTUNE_ASSIGN(MeasuredTable a, read_measured_table(a_));
    MGTUNE_ASSIGN(MeasuredTable b, read_measured_table(b_));
    MGTUNE_ASSIGN(const Comparison comparison, compare_tables(std::move(a), std::move(b)));
    if (json_) {
      std::cout << comparison_json(comparison);
    } else {
      print_text(comparison_text(comparison));
    }
    return comparison.has_regression() ? ExitCode::gate_failed : ExitCode::ok;
  }

 private:
  std::string a_, b_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_compare_command() { return std::make_unique<CompareCommand>(); }

}  // namespace mgtune
