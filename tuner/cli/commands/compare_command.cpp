#include <algorithm>
#include <charconv>
#include <iostream>

#include "cli/command.h"
#include "cli/output/terminal.h"
#include "compare/comparison.h"
#include "compare/measured_table.h"
#include "core/text.h"
#include "results/result_words.h"

namespace mgtune {
namespace {

constexpr double kLeastThreshold = 0.01;

// "2%" and "2 %" are 0.02.
Result<double> parse_threshold(const std::string& word) {
  std::string_view digits = word;
  const bool has_sign = digits.ends_with('%');
  if (has_sign) digits.remove_suffix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  double percent = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  if (!has_sign || !is_number || !(percent >= 100 * kLeastThreshold) || percent > 100) {
    return invalid_argument("--threshold " + word +
                            ": expected a percentage from 1% to 100%, such as 2%; the times of one "
                            "program differ by up to 1 % from run to run");
  }
  return percent / 100;
}

// Keeps the rows that --kernel and --gpu mean. They may name a kernel or a GPU that only one of the
// files has.
Status select_rows(const ResultFilter& filter, MeasuredTable& a, MeasuredTable& b) {
  RecordedNames names;
  for (const MeasuredTable* table : {&a, &b}) {
    for (const MeasuredRow& row : table->rows) {
      if (row.name.op.empty()) continue;  // a benchmark
      names.operators.insert(row.name.op);
      names.models.insert(row.name.device);
    }
  }
  MGTUNE_ASSIGN(const Selection selection, select_kernel_and_gpu(filter, names));
  for (MeasuredTable* table : {&a, &b}) {
    keep_rows(*table, [&](const RowName& name) {
      GpuRecord gpu;
      gpu.model = name.device;
      return selection.wants(name.op, gpu, "");
    });
  }
  if (!a.rows.empty() || !b.rows.empty()) return {};
  return invalid_argument("--kernel and --gpu leave no times of either file; they have those of " +
                          listed(names.operators) + " on " + listed(names.models));
}

class CompareCommand final : public Command {
 public:
  std::string details() const override {
    return "A and B are each a database of results, or the output of 'mgtune show variants\n"
           "--json', 'mgtune show best --json', 'mgtune sweep --json' or 'mgtune export' (a\n"
           "tuned table), or the JSON of Google Benchmark (--benchmark_out=FILE; with\n"
           "--benchmark_repetitions=10 it also has the noise).\n"
           "Picks are compared. If B picked another variant, A's pick is compared with itself in "
           "B\n"
           "and with B's pick.\n"
           "SLOWER, FASTER   by 2 % or more (times of a host: 10 %), and by more than the noise\n"
           "SAME             the 95 % interval of the change is within that limit\n"
           "UNSURE           neither is certain: measure both again\n"
           "BROKEN           it has a time in A, but fails in B\n"
           "The exit code is 1 if a pick is SLOWER or BROKEN. A variant that neither file picked\n"
           "never changes the exit code.\n"
           "Examples:\n"
           "  mgtune compare before.db after.db\n"
           "  mgtune compare before.db after.db --kernel rmsnorm --format markdown > comment.md";
  }
  void declare(ArgumentList& arguments) override {
    arguments.word("A", a_, {}, "The old times");
    arguments.word("B", b_, {}, "The new times");
    arguments.flag("--picks", picks_, "Compare the picks (the default)");
    arguments.flag("--variants", options_.all_variants, "Compare every variant");
    arguments.kernel_and_gpu(filter_);
    arguments.value("--threshold", threshold_, "PERCENT",
                    "The smallest change that counts (default: 2%; times of a host: 10%)");
    arguments.flag("--emulation", options_.emulation, "Compare times of the cpu device too");
    arguments.value("--format", format_, "NAME", "text (default), markdown or json");
    arguments.json(json_);
  }
  Result<ExitCode> run(const Invocation&) override {
    MGTUNE_TRY(check_words());
    MGTUNE_ASSIGN(MeasuredTable a, read_measured_table(a_));
    MGTUNE_ASSIGN(MeasuredTable b, read_measured_table(b_));
    if (!filter_.kernel.empty() || !filter_.gpu.empty()) MGTUNE_TRY(select_rows(filter_, a, b));
    MGTUNE_ASSIGN(const Comparison comparison,
                  compare_tables(std::move(a), std::move(b), options_));
    print(comparison);
    return comparison.has_regression() ? ExitCode::gate_failed : ExitCode::ok;
  }

 private:
  Status check_words() {
    const std::vector<std::string> formats = {"text", "markdown", "json"};
    if (std::ranges::find(formats, format_) == formats.end()) {
      return invalid_argument("--format " + format_ + ": expected text, markdown or json" +
                              did_you_mean(format_, formats));
    }
    if (picks_ && options_.all_variants) {
      return invalid_argument("--picks and --variants exclude each other");
    }
    if (threshold_.empty()) return {};
    MGTUNE_ASSIGN(options_.threshold, parse_threshold(threshold_));
    return {};
  }

  void print(const Comparison& comparison) const {
    if (json_ || format_ == "json") {
      std::cout << comparison_json(comparison);
    } else if (format_ == "markdown") {
      std::cout << comparison_markdown(comparison);
    } else {
      print_text(comparison_text(comparison));
    }
  }

  std::string a_, b_, threshold_, format_ = "text";
  ResultFilter filter_;
  ComparisonOptions options_;
  bool picks_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_compare_command() { return std::make_unique<CompareCommand>(); }

}  // namespace mgtune
