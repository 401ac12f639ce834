#include "build/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>

#include "build/kernel_binaries.h"
#include "build/source_closure.h"
#include "core/sha256.h"

namespace mgtune {
namespace {

// Held while an entry of a cache is made. Another thread that wants the same entry waits.
class EntryLock {
 public:
  explicit EntryLock(std::string entry) : entry_(std::move(entry)) {
    std::unique_lock lock(shared().mutex);
    shared().released.wait(lock, [this] { return shared().held.insert(entry_).second; });
  }
  EntryLock(const EntryLock&) = delete;
  EntryLock& operator=(const EntryLock&) = delete;
  ~EntryLock() {
    {
      const std::lock_guard lock(shared().mutex);
      shared().held.erase(entry_);
    }
    shared().released.notify_all();
  }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable released;
    std::set<std::string> held;
  };
  static Shared& shared() {
    static Shared all;
    return all;
  }

  std::string entry_;
};

// One request for each different kernel.
std::vector<BuildRequest> requests_of_kernels(const BuildRequest& request) {
  std::vector<BuildRequest> requests;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < request.kernels.size(); ++i) {
    if (!seen.insert(request.kernels[i]).second) continue;
    BuildRequest& own = requests.emplace_back(request);
    own.kernels = {request.kernels[i]};
    own.key.clear();
    if (!request.dynamic_shared.empty()) own.dynamic_shared = {request.dynamic_shared[i]};
  }
  return requests;
}

// The most kernels in one program. With more, a kernel would hardly take less time. Labels in the
// PTX have the number of their kernel, and the length of this number must not change.
constexpr std::ptrdiff_t kMostKernels = 8;

// Whether the kernels of both requests may be compiled as one program.
bool go_together(const BuildRequest& one, const BuildRequest& other) {
  return one.sources == other.sources && group_text(one) == group_text(other);
}

// The build of a request from the builds of its kernels.
Build join_builds(const BuildRequest& request, const std::vector<Build>& builds) {
  Build joined;
  joined.key = request.key;
  joined.arch = request.arch;
  joined.ptx_bytes = 0;
  std::vector<std::string> binaries;
  for (const Build& build : builds) {
    binaries.push_back(build.binary);
    joined.kernels.insert(joined.kernels.end(), build.kernels.begin(), build.kernels.end());
    joined.log += build.log;
    const bool known = joined.ptx_bytes >= 0 && build.ptx_bytes >= 0;
    joined.ptx_bytes = known ? joined.ptx_bytes + build.ptx_bytes : -1;
  }
  joined.binary = join_binaries(binaries);
  joined.sha256 = sha256_hex(joined.binary);
  return joined;
}

}  // namespace

Result<BuildRequest> variant_build_request(const Operator& op, const Variant& variant,
                                           const Slots& slots, const std::string& device_arch) {
  const Design& design = op.designs[static_cast<std::size_t>(variant.design)];
  const bool own_arch = !design.arch.empty() && !device_arch.starts_with("cpu");
  MGTUNE_ASSIGN(std::vector<std::string> kernels, kernel_names(op, variant, slots));
  MGTUNE_ASSIGN(std::vector<MacroDefinition> macros, macro_definitions(op, variant, slots));
  std::vector<std::string> variables, options;
  for (const Constant& constant : design.constants) variables.push_back(constant.symbol);
  // The compiler of the cpu device keeps to IEEE arithmetic, whatever the options allow.
  if (!device_arch.starts_with("cpu")) {
    MGTUNE_ASSIGN(options, compile_options(op, variant, slots));
  }
  for (const MacroDefinition& macro : macros) {
    const std::string header = header_with_name(*op.sources, design.source, macro.name);
    if (header.empty()) continue;
    return invalid_argument(
        fmt::format("{}: {}, which {} includes, uses the name '{}' itself; give the macro another "
                    "name",
                    op.place("/designs/" + design.name + "/defines/" + macro.name), header,
                    design.source, macro.name));
  }
  std::vector<bool> dynamic_shared;
  for (const Launch& launch : design.launches) {
    const Result<std::int64_t> bytes = launch.shared.evaluate(slots);
    dynamic_shared.push_back(!bytes.ok() || *bytes != 0);
  }
  // A launch writes a variable that several kernels may read.
  const bool kernels_apart = variables.empty();
  return BuildRequest{.sources = op.sources.get(),
                      .source = design.source,
                      .kernels = std::move(kernels),
                      .arch = own_arch ? design.arch : device_arch,
                      .macros = std::move(macros),
                      .variables = std::move(variables),
                      .options = std::move(options),
                      .kernels_apart = kernels_apart,
                      .dynamic_shared = std::move(dynamic_shared)};
}

std::string program_text(const BuildRequest& request) {
  std::string text = request.source + " for " + request.arch;
  for (const MacroDefinition& macro : request.macros) {
    text.append(" ").append(macro.name).append("=").append(macro.text);
  }
  for (const std::string& option : request.options) text.append(" ").append(option);
  return text;
}

std::string group_text(const BuildRequest& request) {
  std::string text = program_text(request) + ", dynamic shared memory:";
  for (const bool dynamic : request.dynamic_shared) text += dynamic ? " yes" : " no";
  return text;
}

Result<Compiler*> Builder::compiler(const std::string& arch) {
  const auto found = compilers_.find(arch);
  if (found != compilers_.end()) return found->second.get();
  MGTUNE_ASSIGN(std::unique_ptr<Compiler> made, make_(arch));
  return compilers_.emplace(arch, std::move(made)).first->second.get();
}

Result<std::string> Builder::key(const BuildRequest& request) {
  MGTUNE_ASSIGN(const Compiler* made, compiler(request.arch));
  return known_build_key(request, made->identity());
}

Result<std::optional<Build>> Builder::find(const BuildRequest& request) {
  if (supply_ != nullptr) {
    if (std::optional<Build> supplied = supply_->find(request)) return supplied;
  }
  if (!request.key.empty()) return cache_.load(request.key);
  MGTUNE_ASSIGN(const std::string made, key(request));
  return cache_.load(made);
}

Result<Build> Builder::build(const BuildRequest& request) {
  kept_ = {};
  if (supply_ != nullptr) {
    if (std::optional<Build> supplied = supply_->find(request)) return *std::move(supplied);
  }
  MGTUNE_ASSIGN(Compiler* const made, compiler(request.arch));
  BuildRequest keyed = request;
  keyed.key = known_build_key(request, made->identity());
  if (std::optional<Build> cached = cache_.load(keyed.key)) return *std::move(cached);
  std::optional<EntryLock> lock;
  if (!cache_.directory().empty()) {
    lock.emplace(cache_.directory() + "/" + keyed.key);
    if (std::optional<Build> cached = cache_.load(keyed.key)) return *std::move(cached);
  }
  MGTUNE_ASSIGN(Build build, compile(*made, keyed));
  build.key = keyed.key;
  // The build is good whether or not it could be kept: the next process compiles again.
  kept_ = cache_.store(build);
  return build;
}

Result<Build> Builder::compile(Compiler& compiler, const BuildRequest& request) {
  std::vector<BuildRequest> kernels;
  if (request.kernels_apart && compiler.compiles_kernels_apart()) {
    kernels = requests_of_kernels(request);
  }
  if (kernels.size() < 2) {
    ++compiled_;
    return compiler.compile(request);
  }
  std::vector<Build> builds;
  for (const BuildRequest& kernel : kernels) {
    MGTUNE_ASSIGN(Build build, this->build(kernel));
    builds.push_back(std::move(build));
  }
  return join_builds(request, builds);
}

void Builder::build_together(const std::vector<BuildRequest>& requests) {
  if (cache_.directory().empty()) return;
  std::vector<BuildRequest> missing;  // kernels
  for (const BuildRequest& request : requests) {
    const Result<Compiler*> made = compiler(request.arch);
    if (!made.ok() || !request.kernels_apart || !(*made)->compiles_kernels_apart()) continue;
    for (BuildRequest& kernel : requests_of_kernels(request)) {
      kernel.key = build_key(kernel, (*made)->identity());
      const bool is_known =
          std::ranges::find(missing, kernel.key, &BuildRequest::key) != missing.end() ||
          cache_.load(kernel.key).has_value();
      if (!is_known) missing.push_back(std::move(kernel));
    }
  }
  while (!missing.empty()) {
    const BuildRequest first = missing.front();
    auto rest = std::stable_partition(missing.begin(), missing.end(),
                                      [&](const auto& other) { return go_together(first, other); });
    rest = std::min(rest, missing.begin() + kMostKernels);
    const std::vector<BuildRequest> group(missing.begin(), rest);
    missing.erase(missing.begin(), rest);
    if (group.size() < 2) continue;
    bool any = false;
    for (const std::optional<Build>& build : compilers_.at(first.arch)->compile_together(group)) {
      if (!build.has_value()) continue;
      any = true;
      // If the build could not be kept, build() compiles it alone, and reports this.
      static_cast<void>(cache_.store(*build));
    }
    compiled_ += any ? 1 : 0;
  }
}

Status Builder::check_compiler(const std::string& arch) {
  if (compilers_.empty()) MGTUNE_TRY(compiler(arch).status());
  const SourceTree sources = embedded_source_tree("kernels/common");
  for (const auto& [own_arch, made] : compilers_) {
    const Status status =
        made->compile({&sources, "known_good.cu", {"known_good"}, own_arch}).status();
    if (status.ok()) continue;
    return environment_error("a source that is known to be good does not compile for " + own_arch +
                             ": " + status.message());
  }
  return {};
}

}  // namespace mgtune
