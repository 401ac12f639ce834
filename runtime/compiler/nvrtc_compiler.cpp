// The compiler of the architectures "sm_...": it makes cubins with NVRTC.

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/compiler.h"
#include "compiler/cuda_toolkit.h"
#include "compiler/debug_build.h"
#include "compiler/kernel_cubin.h"
#include "compiler/nvrtc.h"
#include "compiler/ptx_entries.h"
#include "compiler/ptxas_report.h"
#include "core/embedded.h"
#include "core/sha256.h"
#include "core/text.h"

namespace mgtune {
namespace {

constexpr std::string_view kCommonFamily = "kernels/common/";

// -modify-stack-limit=false: otherwise NVRTC changes the stack limit of the whole process during a
// compile.
constexpr std::array<const char*, 3> kOptions = {"--std=c++20", "--modify-stack-limit=false",
                                                 "--ptxas-options=-v"};

// From CUDA 12.9 on, NVRTC has a cache of its own, where there is a driver. A cubin from this cache
// comes without ptxas's report, so registers and spills would be unknown. mgtune's own cache keeps
// the report.
constexpr int kFirstWithCache = 1209;
constexpr const char* kNoCache = "--no-cache";

// From CUDA 12.4 on, NVRTC can leave out textures, launches from the device, and the types of the
// runtime's and driver's interfaces. That saves 3 ms per program.
constexpr int kFirstWithMinimal = 1204;
constexpr const char* kMinimal = "--minimal";

// Lets mg/half_types.cuh include CUDA's own headers.
constexpr const char* kCudaHeaders = "--define-macro=MG_CUDA_HEADERS";

// Part of the identity, because earlier builds of the same sources still have the parts that
// kernel_cubin() leaves out.
constexpr const char* kOneKernel = ", cubins of one kernel";

// Only NVRTC_ERROR_OUT_OF_MEMORY says nothing about the source.
StatusCode failure_code(nvrtcResult result) {
  return result == NVRTC_ERROR_OUT_OF_MEMORY ? StatusCode::environment : StatusCode::compile_failed;
}

// How NVRTC takes the name of a variable.
std::string address_expression(const std::string& variable) { return "&" + variable; }

// An nvrtcProgram with a destructor.
class Program {
 public:
  explicit Program(const Nvrtc& nvrtc) : nvrtc_(nvrtc) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (program_ != nullptr) nvrtc_.nvrtcDestroyProgram(&program_);
  }

  nvrtcProgram* out() { return &program_; }
  nvrtcProgram get() const { return program_; }

  std::string ptx() const {
    std::size_t size = 0;
    if (nvrtc_.nvrtcGetPTXSize(program_, &size) != NVRTC_SUCCESS) return "";
    std::string ptx(size, '\0');
    if (nvrtc_.nvrtcGetPTX(program_, ptx.data()) != NVRTC_SUCCESS) return "";
    while (!ptx.empty() && ptx.back() == '\0') ptx.pop_back();
    return ptx;
  }

  std::string log() const {
    std::size_t size = 0;
    if (nvrtc_.nvrtcGetProgramLogSize(program_, &size) != NVRTC_SUCCESS || size <= 1) return "";
    std::string log(size, '\0');
    if (nvrtc_.nvrtcGetProgramLog(program_, log.data()) != NVRTC_SUCCESS) return "";
    while (!log.empty() && log.back() == '\0') log.pop_back();
    return log;
  }

 private:
  const Nvrtc& nvrtc_;
  nvrtcProgram program_ = nullptr;
};

// The files that `#include` may name, for nvrtcCreateProgram: the family's own, then <mg/...>.
struct Headers {
  explicit Headers(const SourceTree& sources) : files(sources.files) {
    for (const EmbeddedFile& file : embedded_files()) {
      if (!file.path.starts_with(kCommonFamily)) continue;
      files.emplace(file.path.substr(kCommonFamily.size()), file.content);
    }
    for (const auto& [path, content] : files) {
      names.push_back(path.c_str());
      contents.push_back(content.c_str());
    }
  }

  std::map<std::string, std::string> files;
  std::vector<const char*> names, contents;
};

// The options and macros of the request's design.
std::vector<std::string> design_options(const BuildRequest& request) {
  std::vector<std::string> options = request.options;
  for (const MacroDefinition& macro : request.macros) {
    options.push_back("--define-macro=" + macro.name + "=" + macro.text);
  }
  return options;
}

std::vector<std::string> kernels_once(const BuildRequest& request) {
  std::vector<std::string> kernels;
  for (const std::string& kernel : request.kernels) {
    if (std::ranges::find(kernels, kernel) == kernels.end()) kernels.push_back(kernel);
  }
  return kernels;
}

// The name of the request's only kernel. It may stand in a cast that chooses one of several
// overloads: "static_cast<void (&)(int*)>(k<1>)".
std::string_view kernel_of(const BuildRequest& request) {
  constexpr std::string_view kCast = "static_cast<";
  std::string_view kernel = request.kernels.front();
  if (kernel.starts_with(kCast)) kernel.remove_prefix(kernel.rfind(">(") + 2);
  return kernel;
}

bool is_of_template(const BuildRequest& request) {
  return kernel_of(request).find('<') != std::string_view::npos;
}

// The source, and the name of the request's only kernel without the template's arguments.
std::string template_of(const BuildRequest& request) {
  const std::string_view kernel = kernel_of(request);
  return request.sources->folder + "/" + request.source + ": " +
         std::string(kernel.substr(0, kernel.find('<')));
}

// Whether the source may compile with all of CUDA's headers. An error of ptxas does not depend on
// them, and another try may take long.
bool may_need_all(const Status& failure) {
  return failure.code() == StatusCode::compile_failed &&
         failure.message().find("ptxas ") == std::string::npos;
}

// How much of CUDA's headers, and of the declarations that NVRTC itself predefines, a program gets.
enum class CudaPart : std::uint8_t { small, all };

class NvrtcCompiler final : public Compiler {
 public:
  NvrtcCompiler(std::string nvrtc_path, std::string cuda_include, std::string identity,
                std::vector<std::string> options, LibraryLoader& loader)
      : nvrtc_path_(std::move(nvrtc_path)),
        cuda_include_(std::move(cuda_include)),
        identity_(std::move(identity)),
        options_(std::move(options)),
        loader_(loader) {}

  const std::string& identity() const override { return identity_; }
  bool compiles_kernels_apart() const override { return true; }

  Result<Build> compile(const BuildRequest& request) override {
    MGTUNE_ASSIGN(const std::unique_ptr<Program> program, compiled(request));
    return build(*program, request);
  }

  std::vector<std::optional<Build>> compile_together(
      const std::vector<BuildRequest>& requests) override {
    std::vector<std::optional<Build>> builds(requests.size());
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (!compiles_together(requests[i].arch)) return builds;
      if (!is_of_template(requests[i])) continue;  // it is in every program of its source
      if (!dependent_.contains(template_of(requests[i]))) places.push_back(i);
    }
    compile_together(requests, places, builds);
    return builds;
  }

  Result<std::string> ptx(const BuildRequest& request) {
    MGTUNE_ASSIGN(const std::unique_ptr<Program> program, compiled(request));
    return program->ptx();
  }

 private:
  Status open() {
    if (nvrtc_.has_value()) return {};
    MGTUNE_ASSIGN(nvrtc_, open_nvrtc(nvrtc_path_, loader_));
    return {};
  }

  // First tries with the small part of CUDA that the kernels of this repository need. It is faster
  // to read and gives the same machine code. If a source needs more, it is compiled with all of
  // CUDA, and its later compiles start with that.
  Result<std::unique_ptr<Program>> compiled(const BuildRequest& request) {
    MGTUNE_TRY(open());
    const std::pair<std::string, std::string> source(request.sources->folder, request.source);
    if (!needs_all_.contains(source)) {
      Result<std::unique_ptr<Program>> program = compiled(request, CudaPart::small);
      if (program.ok() || !may_need_all(program.status())) return program;
    }
    MGTUNE_ASSIGN(std::unique_ptr<Program> program, compiled(request, CudaPart::all));
    needs_all_.insert(source);
    return program;
  }

  Result<std::unique_ptr<Program>> compiled(const BuildRequest& request, CudaPart part) const {
    const auto source = request.sources->files.find(request.source);
    if (source == request.sources->files.end()) {
      return not_found(request.sources->folder + " has no file " + request.source);
    }
    const Headers headers(*request.sources);
    auto program = std::make_unique<Program>(*nvrtc_);
    MGTUNE_TRY(expect(nvrtc_->nvrtcCreateProgram(
        program->out(), source->second.c_str(), request.source.c_str(),
        static_cast<int>(headers.names.size()), headers.contents.data(), headers.names.data())));

    for (const std::string& kernel : kernels_once(request)) {
      MGTUNE_TRY(expect(nvrtc_->nvrtcAddNameExpression(program->get(), kernel.c_str())));
    }
    for (const std::string& variable : request.variables) {
      MGTUNE_TRY(expect(
          nvrtc_->nvrtcAddNameExpression(program->get(), address_expression(variable).c_str())));
    }
    MGTUNE_TRY(run(*program, request, part));
    return program;
  }

  Status expect(nvrtcResult result) const {
    if (result == NVRTC_SUCCESS) return {};
    return {failure_code(result), std::string("NVRTC: ") + nvrtc_->nvrtcGetErrorString(result)};
  }

  Status run(const Program& program, const BuildRequest& request, CudaPart part) const {
    const int version = nvrtc_->major * 100 + nvrtc_->minor;
    std::vector<std::string> options = options_;
    options.push_back("--gpu-architecture=" + request.arch);
    options.push_back("--include-path=" + cuda_include_);
    if (version >= kFirstWithCache) options.emplace_back(kNoCache);
    if (part == CudaPart::all) options.emplace_back(kCudaHeaders);
    if (part == CudaPart::small && version >= kFirstWithMinimal) options.emplace_back(kMinimal);
    for (std::string& option : design_options(request)) {
      // A debug build may have the option already; NVRTC refuses it twice.
      if (std::ranges::find(options, option) == options.end()) options.push_back(std::move(option));
    }
    std::vector<const char*> pointers;
    pointers.reserve(options.size());
    for (const std::string& option : options) pointers.push_back(option.c_str());
    const nvrtcResult result = nvrtc_->nvrtcCompileProgram(
        program.get(), static_cast<int>(pointers.size()), pointers.data());
    if (result == NVRTC_SUCCESS) return {};
    const std::string log = program.log();
    return {failure_code(result), log.empty() ? nvrtc_->nvrtcGetErrorString(result) : log};
  }

  Result<std::string> cubin(const Program& program) const {
    std::size_t size = 0;
    MGTUNE_TRY(expect(nvrtc_->nvrtcGetCUBINSize(program.get(), &size)));
    std::string cubin(size, '\0');
    MGTUNE_TRY(expect(nvrtc_->nvrtcGetCUBIN(program.get(), cubin.data())));
    return cubin;
  }

  Result<std::string> symbol(const Program& program, const std::string& name) const {
    const char* symbol = nullptr;
    MGTUNE_TRY(expect(nvrtc_->nvrtcGetLoweredName(program.get(), name.c_str(), &symbol)));
    return std::string(symbol);
  }

  Result<Build> build(const Program& program, const BuildRequest& request) const {
    Build build;
    build.key = known_build_key(request, identity_);
    build.arch = request.arch;
    build.log = program.log();
    MGTUNE_ASSIGN(build.binary, cubin(program));
    const std::string ptx = program.ptx();
    const std::vector<PtxEntry> entries = parse_ptx(ptx);
    build.ptx_bytes = 0;
    for (const PtxEntry& entry : entries) build.ptx_bytes += entry.bytes;
    if (entries.empty()) build.ptx_bytes = -1;

    const std::vector<BuildKernel> report = parse_ptxas_report(build.log);
    for (const std::string& kernel : kernels_once(request)) {
      MGTUNE_ASSIGN(const std::string symbol, this->symbol(program, kernel));
      const auto found = std::ranges::find(report, symbol, &BuildKernel::symbol);
      BuildKernel& entry = build.kernels.emplace_back();
      if (found != report.end()) entry = *found;
      entry.name = kernel;
      entry.symbol = symbol;
    }
    for (const std::string& variable : request.variables) {
      MGTUNE_ASSIGN(const std::string symbol, this->symbol(program, address_expression(variable)));
      build.variables.push_back({variable, symbol});
    }
    // So the build is the same as one of compile_together().
    if (entries.size() == 1 && build.kernels.size() == 1 && request.variables.empty() &&
        entries.front().stands_alone) {
      auto cut = kernel_cubin(build.binary, build.kernels.front().symbol);
      if (cut.has_value()) build.binary = *std::move(cut);
    }
    build.sha256 = sha256_hex(build.binary);
    return build;
  }

  // Adds builds of the requests at these places. If they do not compile together, each half is
  // tried alone. Kernels that depend on others in the program, for example on kernels with bulk
  // copies, are compiled again without the others.
  void compile_together(const std::vector<BuildRequest>& requests,
                        const std::vector<std::size_t>& places,
                        std::vector<std::optional<Build>>& builds) {
    if (places.size() < 2) return;
    if (!add_builds(requests, places, builds)) {
      const auto middle = places.begin() + std::ssize(places) / 2;
      compile_together(requests, {places.begin(), middle}, builds);
      compile_together(requests, {middle, places.end()}, builds);
      return;
    }
    std::vector<std::size_t> left = places;
    std::erase_if(left, [&](std::size_t i) { return builds[i].has_value(); });
    if (left.size() < places.size()) return compile_together(requests, left, builds);
    for (const std::size_t i : left) dependent_.insert(template_of(requests[i]));
  }

  // Compiles the requests at these places as one program, and adds those builds that are the same
  // as if their requests were compiled alone. False if the program does not compile.
  bool add_builds(const std::vector<BuildRequest>& requests, const std::vector<std::size_t>& places,
                  std::vector<std::optional<Build>>& builds) {
    BuildRequest all = requests[places.front()];
    all.key.clear();
    all.kernels.clear();
    for (const std::size_t i : places) all.kernels.push_back(requests[i].kernels.front());
    const Result<std::unique_ptr<Program>> program = compiled(all);
    if (!program.ok()) return false;
    const Result<std::string> cubin = this->cubin(**program);
    const std::string log = (*program)->log(), ptx = (*program)->ptx();
    const std::vector<PtxEntry> entries = parse_ptx(ptx);
    // If the source also has a kernel that is not a template, this kernel is in every program. Then
    // a request that is compiled alone has two kernels, and its cubin is not cut.
    if (!cubin.ok() || entries.size() != kernels_once(all).size()) return true;
    for (const std::size_t i : places) {
      const Result<std::string> symbol = this->symbol(**program, requests[i].kernels.front());
      if (!symbol.ok()) continue;
      const auto entry = std::ranges::find(entries, *symbol, &PtxEntry::symbol);
      if (entry == entries.end() || !entry->stands_alone || !entry->is_independent) continue;
      Build build;
      build.log = report_of_kernel(log, *symbol);
      auto cut = kernel_cubin(*cubin, *symbol);
      if (build.log.empty() || !cut.has_value()) continue;
      build.key = known_build_key(requests[i], identity_);
      build.arch = requests[i].arch;
      build.binary = *std::move(cut);
      build.sha256 = sha256_hex(build.binary);
      build.ptx_bytes = entry->bytes;
      build.kernels = parse_ptxas_report(build.log);
      build.kernels.front().name = requests[i].kernels.front();
      builds[i] = std::move(build);
    }
    return true;
  }

  std::string nvrtc_path_;
  std::string cuda_include_;
  std::string identity_;
  std::vector<std::string> options_;
  LibraryLoader& loader_;
  std::optional<Nvrtc> nvrtc_;
  std::set<std::pair<std::string, std::string>> needs_all_;  // folders and sources
  std::set<std::string> dependent_;  // templates whose kernels did not go together
};

// Identifies NVRTC's build without opening it: the name that its links lead to
// ("libnvrtc.so.13.0.88"), and its size.
std::string file_identity(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  const auto bytes = std::filesystem::file_size(real, error);
  return real.filename().string() + " of " + std::to_string(error ? 0 : bytes) + " bytes";
}

Result<std::unique_ptr<NvrtcCompiler>> make_compiler_with(std::vector<std::string> options,
                                                          const std::string& arch,
                                                          FileSystem& file_system,
                                                          LibraryLoader& loader) {
  if (!arch.starts_with("sm_")) return unsupported("NVRTC does not build for '" + arch + "'");
  MGTUNE_ASSIGN(std::string path, find_nvrtc(file_system));
  MGTUNE_ASSIGN(std::string include, find_cuda_include(file_system));
  std::string identity =
      "nvrtc " + file_identity(path) + ", headers " + cuda_headers_sha256(file_system, include);
  for (const std::string& option : options) identity += " " + option;
  identity += kOneKernel;
  return std::make_unique<NvrtcCompiler>(std::move(path), std::move(include), std::move(identity),
                                         std::move(options), loader);
}

std::vector<std::string> options_with(DebugInfo debug) {
  std::vector<std::string> options(kOptions.begin(), kOptions.end());
  if (debug == DebugInfo::lines) options.emplace_back("--generate-line-info");
  if (debug == DebugInfo::full) options.emplace_back("--device-debug");
  return options;
}

// nvcc compiles the kernels whose addresses the host's code takes.
std::string nvcc_unit(const BuildRequest& request) {
  std::string text = "#include \"" + request.source + "\"\n";
  int number = 0;
  for (const std::string& kernel : request.kernels) {
    text += "__attribute__((used)) const void* const mgtune_kernel_" + std::to_string(number++) +
            " = reinterpret_cast<const void*>(&" + kernel + ");\n";
  }
  return text;
}

}  // namespace

Result<std::unique_ptr<Compiler>> make_nvrtc_compiler(const std::string& arch,
                                                      FileSystem& file_system,
                                                      LibraryLoader& loader) {
  MGTUNE_ASSIGN(std::unique_ptr<NvrtcCompiler> compiler,
                make_compiler_with(options_with(DebugInfo::none), arch, file_system, loader));
  return std::unique_ptr<Compiler>(std::move(compiler));
}

bool compiles_together(std::string_view arch) {
  constexpr std::string_view kPrefix = "sm_";
  constexpr int kFirstWithSecondForm = 100;
  if (!arch.starts_with(kPrefix)) return false;
  arch.remove_prefix(kPrefix.size());
  const auto number = parse_number<int>(arch.substr(0, arch.find_first_not_of("0123456789")));
  return number.has_value() && *number < kFirstWithSecondForm;
}

Result<std::unique_ptr<Compiler>> make_nvrtc_compiler(const std::string& arch, DebugInfo debug) {
  MGTUNE_ASSIGN(
      std::unique_ptr<NvrtcCompiler> compiler,
      make_compiler_with(options_with(debug), arch, FileSystem::real(), LibraryLoader::real()));
  return std::unique_ptr<Compiler>(std::move(compiler));
}

Result<std::string> compile_to_ptx(const BuildRequest& request) {
  MGTUNE_ASSIGN(const std::unique_ptr<NvrtcCompiler> compiler,
                make_compiler_with(options_with(DebugInfo::none), request.arch, FileSystem::real(),
                                   LibraryLoader::real()));
  return compiler->ptx(request);
}

Result<BuildRecipe> nvrtc_recipe(const BuildRequest& request, const std::string& folder) {
  MGTUNE_ASSIGN(const std::string nvrtc, find_nvrtc(FileSystem::real()));
  MGTUNE_ASSIGN(const std::string include, find_cuda_include(FileSystem::real()));
  BuildRecipe recipe;
  recipe.compiler = "nvrtc " + file_identity(nvrtc);
  recipe.unit = nvcc_unit(request);
  recipe.options = options_with(DebugInfo::none);
  recipe.options.push_back("--gpu-architecture=" + request.arch);
  recipe.options.push_back("--include-path=" + include);
  const std::vector<std::string> own = design_options(request);
  recipe.options.insert(recipe.options.end(), own.begin(), own.end());
  recipe.directory = "family";
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(kCommonFamily)) continue;
    recipe.files.emplace("common/" + std::string(file.path.substr(kCommonFamily.size())),
                         file.content);
  }
  for (const auto& [path, content] : request.sources->files) {
    recipe.files.emplace(recipe.directory + "/" + path, content);
  }
  recipe.files.emplace(recipe.directory + "/mgtune_unit.cu", recipe.unit);
  recipe.commands = {{"nvcc", "--cubin", "--std=c++20", "--ptxas-options=-v",
                      "--gpu-architecture=" + request.arch, "-I" + folder + "/common",
                      "-I" + include, "mgtune_unit.cu", "-o", "mgtune_unit.cubin"}};
  recipe.commands.front().insert(recipe.commands.front().end(), own.begin(), own.end());
  return recipe;
}

}  // namespace mgtune
