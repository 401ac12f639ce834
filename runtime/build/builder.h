// Builder: from a variant to its build, through the cache. The tuner's compile processes and the
// runtime's planning both use it, so they find each other's builds. Not thread-safe: use one per
// thread or process. If the builders of several threads share a cache, a key is compiled once and
// the other threads wait.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "build/build_cache.h"
#include "build/build_supply.h"
#include "compiler/compiler.h"
#include "core/status.h"
#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// The request for a variant whose compile-stage slots are `slots` (compile_slots()), on a device of
// `device_arch`. A design's own arch has precedence, except on the cpu device.
Result<BuildRequest> variant_build_request(const Operator& op, const Variant& variant,
                                           const Slots& slots, const std::string& device_arch);

class Builder {
 public:
  using CompilerFactory = std::function<Result<std::unique_ptr<Compiler>>(const std::string& arch)>;

  // `make` is called once per architecture.
  explicit Builder(BuildCache cache, CompilerFactory make = make_compiler)
      : cache_(std::move(cache)), make_(std::move(make)) {}

  // The supply that build() asks first.
  void take_from(std::shared_ptr<const BuildSupply> supply) { supply_ = std::move(supply); }

  // A lock that the caller of build() holds. build() releases it while it works, so that others can
  // go on. Null for none.
  void release_while_building(std::unique_lock<std::mutex>* lock) { released_ = lock; }

  // The key without a build. Starts the compiler at most once, to learn its identity.
  Result<std::string> key(const BuildRequest& request);

  // Takes the build from the supply or the cache, or compiles it and stores it in the cache. A
  // cache that cannot be written is not a failure.
  Result<Build> build(const BuildRequest& request);

  // How often build() had to compile, including failures.
  std::int64_t compiled() const { return compiled_; }

 private:
  Result<Build> obtain(const BuildRequest& request);
  Result<Compiler*> compiler(const std::string& arch);

  BuildCache cache_;
  CompilerFactory make_;
  std::shared_ptr<const BuildSupply> supply_;
  std::unique_lock<std::mutex>* released_ = nullptr;
  std::map<std::string, std::unique_ptr<Compiler>> compilers_;
  std::int64_t compiled_ = 0;
};

}  // namespace mgtune
