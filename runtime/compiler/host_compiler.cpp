// The compiler of the cpu device. It runs the machine's C++ compiler over the same sources
// that NVRTC gets, with the headers of runtime/device/cpu/include in front.
//
// Sources and headers are in a private temporary folder while the object lives. A file is written
// before the first compile that may read it: new files cost ext4 up to a millisecond each if many
// others were deleted a moment ago, and many compilers live for one build or none. The paths of
// that folder never reach the binary: equal requests give equal bytes, wherever and however often
// they are built. The headers are precompiled before the third compile, or the first with ccache;
// tests/bench/cpu_device_benchmark measures what that costs and saves. The compiler is run with an
// argument vector and a deadline of two minutes. Not thread-safe.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "build/source_closure.h"
#include "compiler/compiler.h"
#include "compiler/debug_build.h"
#include "compiler/host_toolchain.h"
#include "core/embedded.h"
#include "core/sha256.h"
#include "system/file_system.h"
#include "system/process.h"
#include "system/temporary_folder.h"

namespace mgtune {
namespace {

constexpr std::chrono::minutes kDeadline{2};
constexpr std::string_view kDeviceHeaders = "runtime/device/cpu/include/";
constexpr std::string_view kCommonHeaders = "kernels/common/";
// How a source closure begins the names of its files.
constexpr std::string_view kCommonFile = "common ";
constexpr std::string_view kFamilyFile = "family ";
// The whole prelude, under its own name so that it can be precompiled.
constexpr const char* kPrelude = "../cpu/mgtune_prelude.h";
constexpr const char* kUnit = "mgtune_unit.cpp";
constexpr const char* kObject = "mgtune_unit.cpp.o";
constexpr const char* kLibrary = "mgtune_unit.so";
constexpr std::size_t kMaxLogBytes = 4000;
// From here on precompiling pays: it costs as much as it saves in two or three compiles. With
// ccache it pays at once, because a process before this one has precompiled the same headers.
constexpr int kPrecompileBefore = 3;
constexpr int kPrecompileBeforeWithCcache = 1;

std::string device_headers_hash() {
  Sha256 hash;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path.starts_with(kDeviceHeaders)) {
      hash.update_field(file.path).update_field(file.content);
    }
  }
  return hash.hex();
}

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
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
    kernels.push_back({.name = name, .symbol = fmt::format("mgtune_kernel_{}", kernels.size())});
  }
  return kernels;
}

std::vector<BuildVariable> variables_of(const BuildRequest& request) {
  std::vector<BuildVariable> variables;
  for (const std::string& name : request.variables) {
    variables.push_back({name, fmt::format("mgtune_variable_{}", variables.size())});
  }
  return variables;
}

// The macros come after the prelude, which they must not change, and before the source. Errors in a
// name expression are reported as "<kernel NAME>:1". Without the brackets ccache would look for a
// file of that name, and preprocess every unit because there is none.
std::string unit_text(const BuildRequest& request) {
  std::string text;
  for (const MacroDefinition& macro : request.macros) {
    text += "#define " + macro.name + " " + macro.text + "\n";
  }
  text += "#include " + string_literal(request.source) + "\n";
  for (const BuildKernel& kernel : kernels_of(request)) {
    text += "#line 1 " + string_literal("<kernel " + kernel.name + ">") + "\nMGTUNE_CPU_ENTRY(" +
            kernel.symbol + ", " + kernel.name + ")\n";
  }
  for (const BuildVariable& variable : variables_of(request)) {
    text += fmt::format(
        "#line 1 {2}\n"
        "extern \"C\" MGCPU_API void* const {0};\nvoid* const {0} = (void*)&{1};\n"
        "extern \"C\" MGCPU_API const decltype(sizeof 0) {0}_bytes;\n"
        "const decltype(sizeof 0) {0}_bytes = sizeof({1});\n",
        variable.symbol, variable.name, string_literal("<variable " + variable.name + ">"));
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

// All paths are relative to a folder beside the headers, because UBSan writes them into the binary
// unchanged.
std::vector<std::string> compile_arguments(const HostToolchain& toolchain) {
  std::vector<std::string> arguments = toolchain.command;
  append(arguments, toolchain.compile_flags);
  append(arguments, {"-ffile-prefix-map=../cpu/=", "-ffile-prefix-map=../common/=", "-I../cpu",
                     "-I../common", "-ffile-prefix-map=" + toolchain.cuda_include + "=cuda",
                     "-isystem", toolchain.cuda_include});
  return arguments;
}

// The two commands of a build. They run in `directory`, an absolute path.
std::vector<std::string> compile_command(const HostToolchain& toolchain,
                                         const std::string& directory) {
  std::vector<std::string> command = compile_arguments(toolchain);
  append(command, {"-ffile-prefix-map=" + directory + "=.", "-include", kPrelude, "-c", kUnit, "-o",
                   kObject});
  return command;
}
std::vector<std::string> link_command(const HostToolchain& toolchain) {
  std::vector<std::string> command = toolchain.command;
  append(command, toolchain.link_flags);
  append(command, {kObject, "-o", kLibrary});
  return command;
}

// The headers of the cpu device, by their paths in the temporary folder.
std::map<std::string, std::string_view> device_headers() {
  std::map<std::string, std::string_view> files;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(kDeviceHeaders)) continue;
    files.emplace("cpu/" + std::string(file.path.substr(kDeviceHeaders.size())), file.content);
  }
  files.emplace("cpu/mgtune_prelude.h", "#include \"mgcpu/prelude.h\"\n");
  return files;
}

class HostCompiler final : public Compiler {
 public:
  HostCompiler(std::string arch, HostToolchain toolchain, TemporaryFolder folder)
      : arch_(std::move(arch)), toolchain_(std::move(toolchain)), folder_(std::move(folder)) {
    std::vector<std::string> options(toolchain_.command.begin() + 1, toolchain_.command.end());
    append(options, toolchain_.compile_flags);
    append(options, toolchain_.link_flags);
    precompile_before_ = toolchain_.command[0].find("ccache") == std::string::npos
                             ? kPrecompileBefore
                             : kPrecompileBeforeWithCcache;
    identity_ = toolchain_.version + ", " + fmt::format("{}", fmt::join(options, " ")) +
                ", headers " + device_headers_hash();
  }

  const std::string& identity() const override { return identity_; }

  Result<Build> compile(const BuildRequest& request) override {
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
    build.variables = variables_of(request);
    const std::string directory = directory_of(*request.sources);
    MGTUNE_TRY(write_inputs(request, directory));
    if (++compiles_ == precompile_before_) precompile_header();

    MGTUNE_TRY(run(compile_command(toolchain_, folder_.path() + "/" + directory), directory,
                   request, build.log));
    MGTUNE_TRY(run(link_command(toolchain_), directory, request, build.log));
    Result<std::string> library =
        FileSystem::real().read_file(folder_.path() + "/" + directory + "/" + kLibrary);
    if (!library.ok()) return io_error(library.status().message());  // the linker said it is there
    build.binary = *std::move(library);
    build.sha256 = sha256_hex(build.binary);
    return build;
  }

 private:
  // The name is a hash of the files, because two families may each have a forward.cu.
  static std::string directory_of(const SourceTree& sources) {
    Sha256 hash;
    for (const auto& [path, content] : sources.files) hash.update_field(path).update_field(content);
    return "family-" + hash.hex().substr(0, 16);
  }

  // What this compile may read: the device's headers, the source, what it includes, and the unit.
  Status write_inputs(const BuildRequest& request, const std::string& directory) {
    for (const auto& [path, content] : device_headers()) MGTUNE_TRY(write_once(path, content));
    for (const auto& [name, content] : source_closure(*request.sources, request.source).files) {
      const bool is_common = name.starts_with(kCommonFile);
      std::string path = is_common ? "common/" : directory + "/";
      path.append(name, is_common ? kCommonFile.size() : kFamilyFile.size());
      MGTUNE_TRY(write_once(path, content));
    }
    return folder_.write(directory + "/" + kUnit, unit_text(request));
  }

  Status write_once(const std::string& path, std::string_view content) {
    if (written_.contains(path)) return {};
    MGTUNE_TRY(folder_.write(path, content));
    written_.insert(path);
    return {};
  }

  // Without the precompiled header every compile takes longer, but none fails.
  void precompile_header() const {
    std::vector<std::string> arguments = compile_arguments(toolchain_);
    append(arguments,
           {"-x", "c++-header", kPrelude, "-o", kPrelude + toolchain_.precompiled_suffix});
    static_cast<void>(run_subprocess(command(std::move(arguments), "cpu")).ok());
  }

  Subprocess command(std::vector<std::string> arguments, const std::string& directory) const {
    Subprocess command;
    command.arguments = std::move(arguments);
    command.directory = folder_.path() + "/" + directory;
    command.temporary_folder = folder_.path();  // a compiler that is killed leaves files there
    command.deadline = kDeadline;
    return command;
  }

  Status run(std::vector<std::string> arguments, const std::string& directory,
             const BuildRequest& request, std::string& log) const {
    MGTUNE_ASSIGN(const SubprocessOutcome outcome,
                  run_subprocess(command(std::move(arguments), directory)));
    if (outcome.exit_code != 0) MGTUNE_TRY(machine_failure(outcome));
    log += readable(outcome.output, *request.sources);
    if (outcome.exit_code == 0) return Status();
    if (log.empty()) log = "the compiler ended with code " + std::to_string(outcome.exit_code);
    return Status(StatusCode::compile_failed, std::exchange(log, std::string()));
  }

  // The compiler's message, cut off if it is too long. It names files as the family does, and lines
  // about our own unit are left out.
  std::string readable(const std::string& output, const SourceTree& sources) const {
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

  std::string arch_;
  HostToolchain toolchain_;
  TemporaryFolder folder_;
  std::string identity_;
  std::set<std::string> written_;  // paths in the folder
  int precompile_before_;
  int compiles_ = 0;
};

}  // namespace

Result<std::unique_ptr<Compiler>> make_host_compiler(const std::string& arch) {
  return make_host_compiler(arch, DebugInfo::none);
}

Result<std::unique_ptr<Compiler>> make_host_compiler(const std::string& arch, DebugInfo debug) {
  MGTUNE_ASSIGN(HostToolchain toolchain, find_host_toolchain(arch));
  // The compiler uses the last -O option.
  if (debug == DebugInfo::full) toolchain.compile_flags.emplace_back("-O0");
  MGTUNE_ASSIGN(TemporaryFolder folder, TemporaryFolder::create());
  return std::unique_ptr<Compiler>(
      std::make_unique<HostCompiler>(arch, std::move(toolchain), std::move(folder)));
}

Result<BuildRecipe> host_recipe(const BuildRequest& request, const std::string& folder) {
  MGTUNE_ASSIGN(const HostToolchain toolchain, find_host_toolchain(request.arch));
  BuildRecipe recipe;
  recipe.compiler = toolchain.version;
  recipe.unit = unit_text(request);
  recipe.options = compile_arguments(toolchain);
  recipe.options.erase(recipe.options.begin());  // the compiler
  recipe.directory = "family";
  for (const auto& [path, content] : device_headers()) recipe.files.emplace(path, content);
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(kCommonHeaders)) continue;
    recipe.files.emplace("common/" + std::string(file.path.substr(kCommonHeaders.size())),
                         file.content);
  }
  for (const auto& [path, content] : request.sources->files) {
    recipe.files.emplace(recipe.directory + "/" + path, content);
  }
  recipe.files.emplace(recipe.directory + "/" + kUnit, recipe.unit);
  recipe.commands = {compile_command(toolchain, folder + "/" + recipe.directory),
                     link_command(toolchain)};
  return recipe;
}

}  // namespace mgtune
