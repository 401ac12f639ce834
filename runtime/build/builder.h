// Builder: makes the build of a variant, or takes it from the cache. The compile processes of the
// tuner and the plans of the runtime use the same Builder and the same keys, so each finds the
// builds of the other. NVRTC compiles each kernel separately, and the binary of a variant with
// several kernels is a list (kernel_binaries.h). So a kernel that several variants launch, for
// example one that adds up partial sums, is compiled once. Not thread-safe: one per thread or
// process. When threads whose builders share a cache want the same key, one of them compiles it and
// the others wait.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "build/build_cache.h"
#include "build/build_supply.h"
#include "compiler/compiler.h"
#include "core/status.h"
#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// The request for a variant whose compile-stage slots are `slots` (compile_slots()), on a device of
// `device_arch`. A design's own arch has precedence, except on the cpu device. invalid_argument if
// the source includes a header of mgtune that uses the name of one of the design's macros.
Result<BuildRequest> variant_build_request(const Operator& op, const Variant& variant,
                                           const Slots& slots, const std::string& device_arch);

// The source, the architecture, the macros and the options of a request. Kernels are compiled as
// one program only if this text is the same for all of them.
std::string program_text(const BuildRequest& request);

// program_text(), and which kernels have dynamic shared memory. build_together() saves most time if
// the requests have the same text.
std::string group_text(const BuildRequest& request);

class Builder {
 public:
  using CompilerFactory = std::function<Result<std::unique_ptr<Compiler>>(const std::string& arch)>;

  // `make` is called once per architecture.
  explicit Builder(BuildCache cache, CompilerFactory make = make_compiler)
      : cache_(std::move(cache)), make_(std::move(make)) {}

  // build() asks the supply first.
  void take_from(std::shared_ptr<const BuildSupply> supply) { supply_ = std::move(supply); }

  // Computes the key without building. It starts the compiler at most once, to learn its identity.
  // A caller that builds the request afterwards should set BuildRequest::key to the result, so that
  // the key is not computed again.
  Result<std::string> key(const BuildRequest& request);

  // The build, if the supply or the cache has it. No compiler runs.
  Result<std::optional<Build>> find(const BuildRequest& request);

  // Takes the build from the supply or from the cache. If neither has it, compiles it and adds it
  // to the cache. It is not a failure if the cache cannot be written.
  Result<Build> build(const BuildRequest& request);

  // Call it before build() for each of these requests. It compiles kernels of several requests as
  // one program, which takes less time, and adds their builds to the cache. If a build is then not
  // in the cache, for whatever reason, build() compiles it alone. Does nothing without a cache, or
  // with a compiler that makes one build of all kernels of a request.
  void build_together(const std::vector<BuildRequest>& requests);

  // Compiles a source that is known to be good, for each architecture that this object has compiled
  // for (for `arch` if there was none). The cache is not used. environment if the source does not
  // compile. Then the machine is at fault, and the failure of another source proves nothing about
  // that source.
  Status check_compiler(const std::string& arch);

  // Why the cache could not keep the last build that was compiled; ok if it did.
  const Status& kept() const { return kept_; }

  // How many programs were compiled, including failures. A variant with several kernels may need
  // several programs, or none. A group of build_together() counts as one, and as none if it made no
  // build.
  std::int64_t compiled() const { return compiled_; }

 private:
  Result<Compiler*> compiler(const std::string& arch);
  Result<Build> compile(Compiler& compiler, const BuildRequest& request);

  BuildCache cache_;
  CompilerFactory make_;
  std::shared_ptr<const BuildSupply> supply_;
  std::map<std::string, std::unique_ptr<Compiler>> compilers_;
  Status kept_;
  std::int64_t compiled_ = 0;
};

}  // namespace mgtune
