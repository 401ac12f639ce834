#include "debug/printed_build.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "build/build_cache.h"
#include "build/builder.h"
#include "build/kernel_binaries.h"
#include "compiler/debug_build.h"
#include "compiler/include_scan.h"
#include "core/text.h"
#include "debug/debug_tool.h"
#include "system/file_system.h"
#include "system/process.h"
#include "system/temporary_folder.h"

namespace mgtune {
namespace {

namespace fs = std::filesystem;

Result<BuildRequest> request_of(const Problem& problem, const Variant& variant,
                                const DeviceInfo& device) {
  MGTUNE_ASSIGN(const Slots slots, compile_slots(problem.binding(), variant, device.limits));
  return variant_build_request(*problem.op, variant, slots, device.arch);
}

Result<Build> build_of(const BuildRequest& request) {
  Builder builder(BuildCache(FileSystem::real(), BuildCache::default_directory()));
  return builder.build(request);
}

Result<std::string> cuda_text(const Problem& problem, const Variant& variant,
                              const DeviceInfo& device) {
  MGTUNE_ASSIGN(const BuildRequest request, request_of(problem, variant, device));
  MGTUNE_ASSIGN(const BuildRecipe recipe, build_recipe(request, "."));
  const auto source = request.sources->files.find(request.source);
  if (source == request.sources->files.end()) {
    return not_found(request.sources->folder + " has no file " + request.source);
  }
  std::string text = fmt::format("// {} {} on {}: {}\n// architecture  {}\n// compiler      {}\n",
                                 problem.op->full_name(), problem.text(), device.name,
                                 variant_text(*problem.op, variant), request.arch, recipe.compiler);
  text += fmt::format("// options       {}\n", fmt::join(recipe.options, " "));
  text +=
      fmt::format("// includes      {}\n", fmt::join(scan_includes(source->second).files, ", "));
  for (const std::string& kernel : request.kernels) text += "// kernel        " + kernel + "\n";
  text += "\n// What is compiled\n" + recipe.unit;
  text += fmt::format("\n// {}/{}\n{}", request.sources->folder, request.source, source->second);
  return text;
}

Status refuse_cpu(const std::string& form, const DeviceInfo& device) {
  if (device.kind != DeviceKind::cpu) return {};
  return invalid_argument("--print " + form +
                          ": the cpu device runs host code, which has none; name a GPU, which need "
                          "not be in this machine: --gpu H200");
}

Result<std::string> sass_text(const Problem& problem, const Variant& variant,
                              const DeviceInfo& device) {
  MGTUNE_ASSIGN(const BuildRequest request, request_of(problem, variant, device));
  std::vector<std::string> command = {find_tool("nvdisasm"), "--print-code"};
  if (command.front().empty()) command = {find_tool("cuobjdump"), "--dump-sass"};
  if (command.front().empty()) {
    return environment_error(
        "--print sass needs nvdisasm or cuobjdump, which are neither in PATH nor in the CUDA "
        "Toolkit: install the package cuda-nvdisasm-13-0 or cuda-cuobjdump-13-0 of NVIDIA's CUDA "
        "repository");
  }
  MGTUNE_ASSIGN(const Build build, build_of(request));
  MGTUNE_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
  MGTUNE_ASSIGN(const std::vector<std::string> cubins, split_binaries(build.binary));
  std::string text;
  for (const std::string& cubin : cubins) {
    MGTUNE_TRY(folder.write("variant.cubin", cubin));
    Subprocess disassembler;
    disassembler.arguments = command;
    disassembler.arguments.push_back(folder.path() + "/variant.cubin");
    MGTUNE_ASSIGN(const SubprocessOutcome outcome, run_subprocess(disassembler));
    if (outcome.exit_code != 0) {
      return environment_error(command.front() + " fails: " + outcome.output);
    }
    text += outcome.output;
  }
  return text;
}

Status write_file(const std::string& path, const std::string& content) {
  std::error_code failure;
  fs::create_directories(fs::path(path).parent_path(), failure);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (file.good()) return {};
  return io_error("cannot write " + path);
}

std::string shell_text(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

Result<std::string> command_text(const Problem& problem, const Variant& variant,
                                 const DeviceInfo& device) {
  MGTUNE_ASSIGN(const BuildRequest request, request_of(problem, variant, device));
  std::error_code failure;
  const fs::path temporary = fs::temp_directory_path(failure);
  if (failure) return io_error("TMPDIR names no folder: " + failure.message());
  const std::string folder =
      (temporary / fmt::format("mgtune-source-{}", build_key(request, "").substr(0, 16))).string();
  MGTUNE_ASSIGN(const BuildRecipe recipe, build_recipe(request, folder));
  for (const auto& [path, content] : recipe.files) {
    MGTUNE_TRY(write_file(fmt::format("{}/{}", folder, path), content));
  }
  std::string text = fmt::format("cd {}", shell_word(folder + "/" + recipe.directory));
  for (const std::vector<std::string>& command : recipe.commands) {
    text += " &&\n  " + shell_text(command);
  }
  return text + "\n";
}

}  // namespace

const std::vector<std::string>& printed_forms() {
  static const std::vector<std::string> forms = {"cuda", "ptx", "sass", "command"};
  return forms;
}

Result<std::string> printed_build(const std::string& form, const Problem& problem,
                                  const Variant& variant, const DeviceInfo& device) {
  if (form == "cuda") return cuda_text(problem, variant, device);
  if (form == "command") return command_text(problem, variant, device);
  if (form == "ptx") {
    MGTUNE_TRY(refuse_cpu(form, device));
    MGTUNE_ASSIGN(const BuildRequest request, request_of(problem, variant, device));
    return compile_to_ptx(request);
  }
  if (form == "sass") {
    MGTUNE_TRY(refuse_cpu(form, device));
    return sass_text(problem, variant, device);
  }
  return invalid_argument(fmt::format("--print: '{}' is none of {}{}", form,
                                      fmt::join(printed_forms(), ", "),
                                      did_you_mean(form, printed_forms())));
}

Result<std::vector<std::string>> kernels_to_run(const Problem& problem, const Variant& variant,
                                                const DeviceInfo& device) {
  MGTUNE_ASSIGN(const BuildRequest request, request_of(problem, variant, device));
  return request.kernels;
}

}  // namespace mgtune
