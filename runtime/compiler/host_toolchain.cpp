#include "compiler/host_toolchain.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "compiler/cuda_toolkit.h"
#include "system/file_system.h"
#include "system/user_folders.h"

namespace mgtune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSanitize = MGTUNE_SANITIZE;
constexpr bool kAddressSanitizer = kSanitize.find("address") != std::string_view::npos;
constexpr bool kThreadSanitizer = kSanitize.find("thread") != std::string_view::npos;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(std::move(word));
  return words;
}

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

// "" if it is not found.
std::string find_program(const std::string& name) {
  std::error_code ignored;
  if (name.find('/') != std::string::npos) {
    return is_program(name) ? fs::absolute(name, ignored).string() : "";
  }
  std::istringstream folders(environment_variable("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path path = fs::path(folder) / name;
    if (path.is_absolute() && is_program(path)) return path.string();
  }
  return "";
}

Result<std::vector<std::string>> find_compiler() {
  std::vector<std::string> wanted = words_of(environment_variable("CXX"));
  if (!wanted.empty()) {
    const std::string path = find_program(wanted[0]);
    if (path.empty()) return environment_error("$CXX names no program: '" + wanted[0] + "'");
    wanted[0] = path;
    return wanted;
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    std::string path = find_program(name);
    if (!path.empty()) return std::vector<std::string>{std::move(path)};
  }
  return environment_error(
      "the cpu device needs a C++ compiler: $CXX is not set, and PATH has no c++, g++ or clang++");
}

// "CUDA_VERSION 13000". The version matters because kernels use the arithmetic of the headers.
std::string cuda_version(const std::string& include) {
  constexpr std::string_view kDefine = "#define CUDA_VERSION ";
  const Result<std::string> header = FileSystem::real().read_file(include + "/cuda.h");
  if (!header.ok()) return "CUDA_VERSION unknown";
  const std::size_t begin = header.value().find(kDefine);
  if (begin == std::string::npos) return "CUDA_VERSION unknown";
  std::istringstream line(header.value().substr(begin + 8));
  std::string name, number;
  line >> name >> number;
  return name + " " + number;
}

Result<std::string> first_version_line(std::vector<std::string> command) {
  command.emplace_back("--version");
  Subprocess call;
  call.arguments = std::move(command);
  MGTUNE_ASSIGN(const SubprocessOutcome outcome, run_subprocess(call));
  if (outcome.exit_code != 0) {
    return environment_error("'" + call.arguments[0] + " --version' fails: " + outcome.output);
  }
  return outcome.output.substr(0, outcome.output.find('\n'));
}

void add_flags(std::vector<std::string>& flags, std::initializer_list<const char*> more) {
  flags.insert(flags.end(), more.begin(), more.end());
}

void set_flags(HostToolchain& toolchain, bool is_clang, bool check_races) {
  std::vector<std::string>& flags = toolchain.compile_flags;
  // -ffp-contract=off gives the same bits at every optimisation level and on every machine. DWARF
  // 4, because the assembler writes its own folder into DWARF 5, and no option changes that. No
  // exceptions, because CUDA has none either. Calls do not go through stubs (-fno-plt), because the
  // watchdog may interrupt a thread anywhere, and a stub belongs to no line of the source.
  add_flags(flags, {"-std=gnu++20", "-g", "-gdwarf-4", "-fPIC", "-fno-plt", "-fvisibility=hidden",
                    "-fno-exceptions", "-fno-strict-aliasing", "-ffp-contract=off",
                    "-fstack-clash-protection", "-fno-omit-frame-pointer", "-Wno-unknown-pragmas",
                    "-fdiagnostics-color=never"});
  add_flags(toolchain.link_flags, {"-shared", "-Wl,--as-needed"});
  if (is_clang) {
    add_flags(flags, {"-ferror-limit=3"});
  } else {
    // Unique symbols would make builds with equal instantiations share their static storage.
    // Messages need only the lines. Tracking where variables are as well would take a sixth of the
    // compile time, and half of it with sanitizers.
    add_flags(flags, {"-fno-gnu-unique", "-fmax-errors=3", "-gno-record-gcc-switches",
                      "-frandom-seed=mgtune", "-fno-var-tracking"});
  }
  if (check_races) {
    add_flags(flags, {"-O1", "-fsanitize=thread", "-Wuninitialized"});
    if (!is_clang)
      add_flags(flags, {"--param=tsan-instrument-func-entry-exit=0", "-Wno-tsan",
                        "-Wmaybe-uninitialized"});
  } else if (kAddressSanitizer) {
    // Tests launch a kernel a few times, so most of their time goes into compiling it: for one of
    // attention's kernels 2.2 s with -Og and 3.7 s with -O1. The checks of UBSan that are switched
    // off report a bad address before it is used, and take a third of the compile time.
    // AddressSanitizer reports the access itself.
    add_flags(flags,
              {is_clang ? "-O1" : "-Og", "-fsanitize=address,undefined",
               "-fno-sanitize=null,object-size,pointer-overflow", "-fno-sanitize-recover=all"});
    add_flags(toolchain.link_flags, {"-fsanitize=address,undefined"});
  } else {
    add_flags(flags, {"-O2"});
  }
}

constexpr int kSignalled = 128;

// The texts of strerror, with which compilers and linkers end their last line.
constexpr std::array<std::string_view, 5> kNoRoom = {"No space left on device",
                                                     "Disk quota exceeded", "Read-only file system",
                                                     "Input/output error", "File too large"};
constexpr std::array<std::string_view, 7> kNotTheSource = {
    "signal terminated program",  // g++, of cc1plus and as
    "terminated with signal",     // collect2, of ld
    "unable to execute command",  // clang
    "cannot execute",             // g++ without its cc1plus
    "out of memory allocating",
    "Cannot allocate memory",
    "Too many open files"};

// A diagnostic of the source quotes the source ("error: static assertion failed: ..."), so its
// words prove nothing.
bool is_of_the_source(std::string_view line) {
  return line.find(": error: ") != std::string_view::npos ||
         line.find(": warning: ") != std::string_view::npos ||
         line.find(": note: ") != std::string_view::npos ||
         line.find(" | ") != std::string_view::npos;
}

}  // namespace

Result<HostToolchain> find_host_toolchain(const std::string& arch) {
  const bool check_races = arch == "cpu-race";
  if (check_races && kThreadSanitizer) {
    return unsupported("the race checker is not part of a build with ThreadSanitizer");
  }
  HostToolchain toolchain;
  MGTUNE_ASSIGN(toolchain.command, find_compiler());
  MGTUNE_ASSIGN(toolchain.cuda_include, find_cuda_include(FileSystem::real()));
  MGTUNE_ASSIGN(const std::string version, first_version_line(toolchain.command));
  const bool is_clang = version.find("clang") != std::string::npos;
  toolchain.version = version + ", " + cuda_version(toolchain.cuda_include);
  toolchain.precompiled_suffix = is_clang ? ".pch" : ".gch";
  set_flags(toolchain, is_clang, check_races);
  return toolchain;
}

Status machine_failure(const SubprocessOutcome& outcome) {
  if (outcome.exit_code > kSignalled) {
    const char* const name = ::sigdescr_np(outcome.exit_code - kSignalled);
    return environment_error("the compiler was ended by signal " +
                             std::to_string(outcome.exit_code - kSignalled) + " (" +
                             (name == nullptr ? "unknown" : name) + ")");
  }
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);) {
    const auto says = [&line](std::string_view words) {
      return line.find(words) != std::string::npos;
    };
    if (is_of_the_source(line) && !says("clang: error: ")) continue;
    if (std::ranges::any_of(kNoRoom, says) || says("Cannot create temporary file")) {
      return io_error("the compiler cannot write: " + line);
    }
    if (std::ranges::any_of(kNotTheSource, says)) return environment_error(line);
  }
  if (!outcome.output.empty()) return {};
  return environment_error("the compiler ended with code " + std::to_string(outcome.exit_code) +
                           " and gave no reason");
}

}  // namespace mgtune
