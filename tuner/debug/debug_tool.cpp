#include "debug/debug_tool.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>
#include <utility>

#include "compiler/cuda_toolkit.h"
#include "core/text.h"
#include "system/user_folders.h"

namespace mgtune {
namespace {

namespace fs = std::filesystem;

struct Tool {
  const char* name;
  bool for_gpu;
  const char* package;
  DebugInfo debug;
};

constexpr std::array kTools = {
    Tool{"gdb", false, "the package gdb (apt-get install gdb)", DebugInfo::full},
    Tool{"cuda-gdb", true, "the package cuda-gdb-13-0 of NVIDIA's CUDA repository",
         DebugInfo::full},
    Tool{"compute-sanitizer", true, "the package cuda-sanitizer-13-0 of NVIDIA's CUDA repository",
         DebugInfo::lines},
    Tool{"ncu", true, "the package cuda-nsight-compute-13-0 of NVIDIA's CUDA repository",
         DebugInfo::lines},
};

const Tool* find(const std::string& name) {
  const auto* const found =
      std::ranges::find_if(kTools, [&](const Tool& tool) { return name == tool.name; });
  return found == kTools.end() ? nullptr : found;
}

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

// "row_kernel" of "ns::row_kernel<float, 4>".
std::string function_name(const std::string& expression) {
  const std::string name = expression.substr(0, expression.find('<'));
  const std::size_t colon = name.rfind(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
}

// Kernels are loaded after the program has started, so a breakpoint must wait for them.
std::vector<std::string> debugger_arguments(const ToolRun& run) {
  std::vector<std::string> words = {"-q", "-ex", "set breakpoint pending on"};
  // The cpu device uses this signal to end endless loops.
  append(words, {"-ex", "handle SIG35 nostop noprint pass"});
  if (!run.source_folder.empty()) append(words, {"-ex", "directory " + run.source_folder});
  return words;
}

std::vector<std::string> profiler_arguments(const ToolRun& run) {
  std::string names;
  for (const std::string& kernel : run.kernels) {
    names += (names.empty() ? "" : "|") + function_name(kernel);
  }
  return {"--set", "full", "--kernel-name", "regex:^(" + names + ")$"};
}

}  // namespace

const std::vector<std::string>& debug_tools() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    all.reserve(kTools.size());
    for (const Tool& tool : kTools) all.emplace_back(tool.name);
    return all;
  }();
  return names;
}

DebugInfo debug_info_under(const std::string& tool, DeviceKind device) {
  const Tool* const found = find(tool);
  if (found != nullptr) return found->debug;
  return device == DeviceKind::cpu ? DebugInfo::full : DebugInfo::lines;
}

std::string find_tool(const std::string& name) {
  std::istringstream folders(environment_variable("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path path = fs::path(folder) / name;
    if (path.is_absolute() && is_program(path)) return path.string();
  }
  for (const std::string& toolkit : cuda_toolkit_folders()) {
    const fs::path path = fs::path(toolkit) / "bin" / name;
    if (is_program(path)) return path.string();
  }
  return "";
}

Result<std::vector<std::string>> tool_command(const ToolRun& run, DeviceKind device) {
  const Tool* const tool = find(run.tool);
  if (tool == nullptr) {
    std::string names;
    for (const std::string& name : debug_tools()) names += (names.empty() ? "" : ", ") + name;
    return invalid_argument("--under: no tool is called '" + run.tool + "'; there are " + names +
                            did_you_mean(run.tool, debug_tools()));
  }
  const bool is_gpu = device == DeviceKind::cuda;
  if (tool->for_gpu && !is_gpu) {
    return invalid_argument("--under " + run.tool +
                            " watches the kernels of a GPU, and this device is cpu: use --under "
                            "gdb, or name a GPU with --gpu");
  }
  if (!tool->for_gpu && is_gpu) {
    return invalid_argument("--under " + run.tool +
                            " cannot stop in a kernel on a GPU: use --under cuda-gdb, or --gpu "
                            "cpu");
  }
  const std::string path = find_tool(run.tool);
  if (path.empty()) {
    return not_found("--under " + run.tool +
                     ": the program is neither in PATH nor in the CUDA Toolkit; install " +
                     tool->package);
  }
  std::vector<std::string> command = {path};
  const bool is_debugger = tool->debug == DebugInfo::full;
  if (is_debugger) append(command, debugger_arguments(run));
  if (run.tool == "ncu") append(command, profiler_arguments(run));
  append(command, run.arguments);
  if (is_debugger) command.emplace_back("--args");
  append(command, run.program);
  return command;
}

}  // namespace mgtune
