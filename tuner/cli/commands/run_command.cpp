#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>

#include "cli/command.h"
#include "cli/output/run_output.h"
#include "core/text.h"
#include "debug/chosen_variant.h"
#include "debug/debug_tool.h"
#include "debug/printed_build.h"
#include "debug/quiet_output.h"
#include "debug/run_worker.h"
#include "debug/single_run.h"
#include "device/device_lock.h"
#include "plan/problem_set.h"
#include "sweep/sweep.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

// What the arguments of the command mean.
struct Chosen {
  DeviceInfo device;
  Problem problem;
  std::string variant;  // variant_text()
  Variant values;
  std::string source;  // why this variant
};

std::string with_commas(std::string words) {
  for (char& c : words) {
    if (c == ' ') c = ',';
  }
  return words;
}

class RunCommand final : public Command {
 public:
  std::string details() const override {
    return "The kernel runs in a child process, so a crash or an endless loop is an outcome, as "
           "in\n"
           "a sweep. What the kernel prints (printf) appears once. Without --variant, the variant\n"
           "runs that a program would run. A parameter that --variant leaves out has the value of\n"
           "its design's first default. Exit code 1: the variant is wrong; 3: it failed "
           "otherwise.\n"
           "With --json, what the kernel prints goes to standard error.\n"
           "kernels/DEBUGGING.md shows how to debug a kernel.\n"
           "Examples:\n"
           "  mgtune run rmsnorm.forward --gpu cpu --problem rows=4,hidden=256\n"
           "  mgtune run path/to/my_family/ --problem n=1000 --variant 'flat THREADS=256'\n"
           "  mgtune run my_family/ --gpu cpu --under gdb -- -ex 'break add.cu:22'\n"
           "  mgtune run rmsnorm.forward --gpu H200 --print ptx";
  }

  void declare(ArgumentList& arguments) override {
    arguments.required_kernel(kernel_, "NAME|DIR",
                              "Operator (rmsnorm.forward), or a family's folder with one operator");
    arguments.value("--problem", problem_, "DIMS", "rows=4096,hidden=4096,T=bf16");
    arguments.value("--variant", variant_, "TEXT",
                    "'DESIGN THREADS=256,VEC=4', or as 'mgtune show variants' prints it");
    arguments.value("--gpu", gpu_, "NAME",
                    "L4, an index, a UUID, cpu, or auto: the first GPU, or cpu if there is none. "
                    "With --print it need not be in this machine");
    arguments.value("--print", print_, "FORM",
                    "Print cuda (the source and what of it is compiled), ptx, sass, or command (of "
                    "a shell, which makes the build), and stop");
    arguments.value("--under", under_, "TOOL",
                    "Start gdb, cuda-gdb, compute-sanitizer or ncu on the variant");
    arguments.words("ARGUMENTS", tool_arguments_, "Arguments of the tool, after --");
    arguments.flag("--in-process", in_process_,
                   "Launch once, in this process: what --under lets its tool run");
    arguments.value("--debug-info", debug_info_, "LEVEL",
                    "With --in-process: lines, or full, which does not optimize (default: full on "
                    "cpu, lines on a GPU)");
    arguments.database(database_);
    arguments.json(json_);
  }

  Result<ExitCode> run(const Invocation& invocation) override {
    MGTUNE_TRY(check_words());
    Catalog catalog(FileSystem::real());
    MGTUNE_ASSIGN(const Operator* const op, only_operator(catalog, kernel_));
    MGTUNE_ASSIGN(const Chosen chosen, choose(*op, catalog));
    if (!print_.empty()) {
      MGTUNE_ASSIGN(const std::string text,
                    printed_build(print_, chosen.problem, chosen.values, chosen.device));
      std::cout << text;
      return ExitCode::ok;
    }
    if (!under_.empty()) return run_under_tool(invocation, chosen);
    std::cerr << run_announcement(chosen.device, chosen.problem, chosen.variant, chosen.source);
    if (in_process_) return run_in_process(chosen);
    return run_in_child(invocation, chosen);
  }

 private:
  Status check_words() const {
    const int modes = (print_.empty() ? 0 : 1) + (under_.empty() ? 0 : 1) + (in_process_ ? 1 : 0);
    if (modes > 1) return invalid_argument("give one of --print, --under and --in-process");
    if (!tool_arguments_.empty() && under_.empty()) {
      return invalid_argument("'" + tool_arguments_.front() +
                              "': words without an option are arguments of the tool that --under "
                              "names");
    }
    if (json_ && (!print_.empty() || !under_.empty())) {
      return invalid_argument("--json does not go with --print or --under");
    }
    if (!debug_info_.empty() && !in_process_) {
      return invalid_argument("--debug-info goes with --in-process");
    }
    if (debug_info_.empty() || debug_info_ == "lines" || debug_info_ == "full") return {};
    return invalid_argument("--debug-info: expected lines or full, got '" + debug_info_ + "'");
  }

  Result<Chosen> choose(const Operator& op, Catalog& catalog) const {
    Chosen chosen;
    MGTUNE_ASSIGN(chosen.device, device_to_compile_for(gpu_));
    const bool is_here = !chosen.device.id.empty();
    if (!is_here && print_.empty()) {
      return environment_error("--gpu " + gpu_ +
                               " is not in this machine: it can be named with --print only");
    }
    MGTUNE_ASSIGN(chosen.problem, only_problem(op, problem_, chosen.device.kind));
    MGTUNE_ASSIGN(const ChosenVariant variant,
                  choose_variant_to_run(chosen.problem, chosen.device, variant_, kernel_, database_,
                                        catalog));
    chosen.values = variant.variant;
    chosen.variant = variant_text(op, variant.variant);
    chosen.source = variant.source;
    return chosen;
  }

  Result<ExitCode> run_in_process(const Chosen& chosen) const {
    // A debugger may stop the kernel for as long as it likes.
    ::setenv("MGTUNE_CPU_DEADLINE_S", "1000000", 0);
    DebugInfo debug = debug_info_under("", chosen.device.kind);
    if (!debug_info_.empty()) debug = debug_info_ == "full" ? DebugInfo::full : DebugInfo::lines;
    std::optional<QuietOutput> quiet;
    if (json_) {
      MGTUNE_ASSIGN(QuietOutput on_errors, QuietOutput::begin_on_errors());
      quiet.emplace(std::move(on_errors));
    }
    MGTUNE_ASSIGN(const SingleRun run, run_variant(chosen.device.id, chosen.problem, chosen.values,
                                                   debug, RunSteps::launch_only));
    quiet.reset();
    std::cout << (json_ ? json_of(chosen, run) : run_text(chosen.problem, chosen.variant, run));
    return run_exit_code(run.outcome);
  }

  Result<ExitCode> run_in_child(const Invocation& invocation, const Chosen& chosen) const {
    std::optional<DeviceLock> lock;  // a sweep on the same GPU would disturb the timing
    if (chosen.device.kind == DeviceKind::cuda) {
      MGTUNE_ASSIGN(lock, DeviceLock::acquire(DeviceLock::default_directory(chosen.device.kind),
                                              chosen.device.id));
    }
    MGTUNE_ASSIGN(const std::chrono::milliseconds deadline,
                  measure_deadline(chosen.device.kind, chosen.problem));
    std::vector<std::string> command = {
        invocation.program,    "worker",      "run",
        chosen.device.id,      kernel_,       chosen.problem.op->full_name(),
        chosen.problem.text(), chosen.variant};
    if (json_) command.emplace_back("json");
    MGTUNE_ASSIGN(const RunWorkerEnd end, run_in_worker(command, deadline));
    if (end.outcome == Outcome::ok) return static_cast<ExitCode>(end.exit_code);
    SingleRun lost;
    lost.outcome = end.outcome;
    lost.message = end.message;
    std::cout << (json_ ? json_of(chosen, lost) : lost_run_text(end));
    return run_exit_code(end.outcome);
  }

  static std::string json_of(const Chosen& chosen, const SingleRun& run) {
    return run_json(chosen.device.id, chosen.problem, chosen.variant, run);
  }

  // Returns only if the tool does not start: otherwise this process becomes the tool.
  Result<ExitCode> run_under_tool(const Invocation& invocation, const Chosen& chosen) const {
    const DeviceInfo& device = chosen.device;
    const std::string level =
        debug_info_under(under_, device.kind) == DebugInfo::full ? "full" : "lines";
    ToolRun tool;
    tool.tool = under_;
    tool.arguments = tool_arguments_;
    tool.program = {invocation.program,
                    "run",
                    "--in-process",
                    "--debug-info",
                    level,
                    "--kernel",
                    kernel_,
                    "--gpu",
                    device.id,
                    "--variant",
                    chosen.variant,
                    "--problem",
                    with_commas(chosen.problem.text())};
    std::error_code ignored;
    const std::string& folder = chosen.problem.op->sources->folder;
    if (std::filesystem::is_directory(folder, ignored)) {
      tool.source_folder = std::filesystem::absolute(folder, ignored).string();
    }
    MGTUNE_ASSIGN(tool.kernels, kernels_to_run(chosen.problem, chosen.values, device));
    MGTUNE_ASSIGN(std::vector<std::string> command, tool_command(tool, device.kind));
    std::string shown;
    for (const std::string& word : command) shown += (shown.empty() ? "" : " ") + shell_word(word);
    std::cerr << shown << std::endl;
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    ::execv(words.front(), words.data());
    return environment_error("cannot run " + command.front() + ": " + std::strerror(errno));
  }

  std::string kernel_, problem_, variant_, gpu_ = "auto", print_, under_, debug_info_, database_;
  std::vector<std::string> tool_arguments_;
  bool in_process_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace mgtune
