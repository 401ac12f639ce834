#include "compiler/host_compiler.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string_view>
#include <utility>

#include "compiler/compiler_failure.h"
#include "core/embedded.h"
#include "core/sha256.h"
#include "system/file_system.h"
#include "system/subprocess.h"

namespace mgtune {
namespace {

constexpr std::chrono::minutes kDeadline{2};
constexpr std::string_view kDeviceHeaders = "runtime/device/cpu/include/";
constexpr std::string_view kCommonHeaders = "kernels/common/";
// The whole prelude, under its own name so that it can be precompiled.
constexpr const char* kPrelude = "../cpu/mgtune_prelude.h";
constexpr const char* kUnit = "mgtune_unit.cpp";
constexpr const char* kLibrary = "mgtune_unit.so";
constexpr std::size_t kMaxLogBytes = 4000;
// From here on precompiling pays: it costs as much as it saves in two or three compiles.
constexpr int kPrecompileBefore = 3;

std::string device_headers_hash() {
  Sha256 hash;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path.starts_with(kDeviceHeaders)) {
      hash.update_field(file.path).update_field(file.content);
    }
  }
  return hash.hex();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string string_literal(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return "\"" + result + "\"";
}

std::vector<BuildKernel> kernels_of(const BuildRequest& request) {
  std::vector<BuildKernel> kernels;
  for (const std::string& name : request.kernels) {
    if (std::ranges::find(kernels, name, &BuildKernel::name) != kernels.end()) continue;
    BuildKernel kernel;
    kernel.name = name;
    kernel.symbol = "mgtune_kernel_" + std::to_string(kernels.size());
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

// With this, errors in a name expression are reported as "kernel NAME:1".
std::string unit_text(const std::string& source, const std::vector<BuildKernel>& kernels) {
  std::string text = "#include " + string_literal(source) + "\n";
  for (const BuildKernel& kernel : kernels) {
    text += "#line 1 " + string_literal("kernel " + kernel.name) + "\nMGTUNE_CPU_ENTRY(" +
            kernel.symbol + ", " + kernel.name + ")\n";
  }
  return text;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// Puts the family's folder in front of "forward.cu:12:5: error" and "In file included from
// forward.cu:12".
void name_folder(std::string& line, const SourceTree& sources) {
  for (const auto& [path, content] : sources.files) {
    for (const std::string_view before : {"", "In file included from ", "                 from "}) {
      const std::string start = std::string(before) + path + ":";
      if (!line.starts_with(start)) continue;
      line.insert(before.size(), sources.folder + "/");
      return;
    }
  }
}

}  // namespace

Result<std::unique_ptr<Compiler>> make_host_compiler(const std::string& arch) {
  MGTUNE_ASSIGN(HostToolchain toolchain, find_host_toolchain(arch));
  MGTUNE_ASSIGN(TemporaryFolder folder, TemporaryFolder::create());
  auto compiler = std::make_unique<HostCompiler>(arch, std::move(toolchain), std::move(folder));
  MGTUNE_TRY(compiler->write_headers());
  return std::unique_ptr<Compiler>(std::move(compiler));
}

HostCompiler::HostCompiler(std::string arch, HostToolchain toolchain, TemporaryFolder folder)
    : arch_(std::move(arch)), toolchain_(std::move(toolchain)), folder_(std::move(folder)) {
  std::vector<std::string> options(toolchain_.command.begin() + 1, toolchain_.command.end());
  options.insert(options.end(), toolchain_.compile_flags.begin(), toolchain_.compile_flags.end());
  options.insert(options.end(), toolchain_.link_flags.begin(), toolchain_.link_flags.end());
  identity_ = toolchain_.version + ", " + joined(options) + ", headers " + device_headers_hash();
}

Status HostCompiler::write_headers() {
  for (const EmbeddedFile& file : embedded_files()) {
    const std::string path(file.path);
    if (path.starts_with(kDeviceHeaders)) {
      MGTUNE_TRY(folder_.write("cpu/" + path.substr(kDeviceHeaders.size()), file.content));
    } else if (path.starts_with(kCommonHeaders)) {
      MGTUNE_TRY(folder_.write("common/" + path.substr(kCommonHeaders.size()), file.content));
    }
  }
  return folder_.write("cpu/mgtune_prelude.h", "#include \"mgcpu/prelude.h\"\n");
}

// The content distinguishes trees, because two families may each have a forward.cu.
Result<std::string> HostCompiler::write_sources(const SourceTree& sources) {
  Sha256 hash;
  for (const auto& [path, content] : sources.files) hash.update_field(path).update_field(content);
  const std::string directory = "family-" + hash.hex().substr(0, 16);
  if (!written_trees_.contains(directory)) {
    for (const auto& [path, content] : sources.files) {
      MGTUNE_TRY(folder_.write(std::string(directory).append("/").append(path), content));
    }
    written_trees_.insert(directory);
  }
  return directory;
}

// All paths are relative to a folder beside the headers, because UBSan writes them into the binary
// unchanged.
std::vector<std::string> HostCompiler::compile_arguments() const {
  std::vector<std::string> arguments = toolchain_.command;
  arguments.insert(arguments.end(), toolchain_.compile_flags.begin(),
                   toolchain_.compile_flags.end());
  arguments.insert(
      arguments.end(),
      {"-ffile-prefix-map=../cpu/=", "-ffile-prefix-map=../common/=", "-I../cpu", "-I../common"});
  arguments.push_back("-ffile-prefix-map=" + toolchain_.cuda_include + "=cuda");
  arguments.insert(arguments.end(), {"-isystem", toolchain_.cuda_include});
  return arguments;
}

// Without it every compile takes longer, but none fails.
void HostCompiler::precompile_header() {
  const std::string header = kPrelude;
  Subprocess call;
  call.directory = folder_.path() + "/cpu";
  call.temporary_folder = folder_.path();
  call.arguments = compile_arguments();
  for (const std::string& argument : {std::string("-x"), std::string("c++-header"), header,
                                      std::string("-o"), header + toolchain_.precompiled_suffix}) {
    call.arguments.push_back(argument);
  }
  call.deadline = kDeadline;
  static_cast<void>(run_subprocess(call).ok());
}

Status HostCompiler::run(std::vector<std::string> arguments, const std::string& directory,
                         const BuildRequest& request, std::string& log) const {
  Subprocess call;
  call.arguments = std::move(arguments);
  call.directory = folder_.path() + "/" + directory;
  call.temporary_folder = folder_.path();  // one that is killed leaves files there
  call.deadline = kDeadline;
  MGTUNE_ASSIGN(const SubprocessOutcome outcome, run_subprocess(call));
  if (outcome.exit_code != 0) MGTUNE_TRY(machine_failure(outcome));
  log += readable(outcome.output, *request.sources);
  if (outcome.exit_code == 0) return Status();
  if (log.empty()) log = "the compiler ended with code " + std::to_string(outcome.exit_code);
  return Status(StatusCode::compile_failed, std::exchange(log, std::string()));
}

// The compiler's message. Files have the names of the family's files, our own unit is left out, and
// the text is not too long.
std::string HostCompiler::readable(const std::string& output, const SourceTree& sources) const {
  std::string text;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(kUnit) != std::string::npos || line.starts_with("compilation terminated"))
      continue;
    replace_all(line, "../common/", kCommonHeaders);
    replace_all(line, "../cpu/", kDeviceHeaders);
    name_folder(line, sources);
    if (text.size() + line.size() > kMaxLogBytes) return text + "...";
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

Result<Build> HostCompiler::compile(const BuildRequest& request) {
  if (request.arch != arch_) {
    return internal_error("asked for " + request.arch + ", but this compiler builds " + arch_);
  }
  if (!request.sources->files.contains(request.source)) {
    return invalid_argument(request.sources->folder + " has no file " + request.source);
  }
  Build build;
  build.arch = arch_;
  build.key = known_build_key(request, identity_);
  build.kernels = kernels_of(request);
  MGTUNE_ASSIGN(const std::string directory, write_sources(*request.sources));
  const std::string unit = unit_text(request.source, build.kernels);
  MGTUNE_TRY(folder_.write(directory + "/" + kUnit, unit));
  if (++compiles_ == kPrecompileBefore) precompile_header();

  const std::string object = std::string(kUnit) + ".o";
  std::vector<std::string> compile = compile_arguments();
  for (const std::string& argument :
       {"-ffile-prefix-map=" + folder_.path() + "/" + directory + "=.", std::string("-include"),
        std::string(kPrelude), std::string("-c"), std::string(kUnit), std::string("-o"), object}) {
    compile.push_back(argument);
  }
  MGTUNE_TRY(run(std::move(compile), directory, request, build.log));

  std::vector<std::string> link = toolchain_.command;
  link.insert(link.end(), toolchain_.link_flags.begin(), toolchain_.link_flags.end());
  for (const std::string& argument : {object, std::string("-o"), std::string(kLibrary)}) {
    link.push_back(argument);
  }
  MGTUNE_TRY(run(std::move(link), directory, request, build.log));
  Result<std::string> library =
      FileSystem::real().read_file(folder_.path() + "/" + directory + "/" + kLibrary);
  if (!library.ok()) return io_error(library.status().message());  // the linker said it is there
  build.binary = *std::move(library);
  build.sha256 = sha256_hex(build.binary);
  return build;
}

}  // namespace mgtune
