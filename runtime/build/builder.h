// Builder: from a variant to its build, through the cache. The tuner's compile processes and the
// runtime's planning build through it, so both find each other's builds.
// Not thread-safe: one per thread or process. Threads whose builders share a cache compile a key
// once: the others wait for it.

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

// What to compile for a variant whose compile-stage slots are `slots` (compile_slots()), on a
// device of `device_arch`; a design's own arch goes before it, except on the cpu device.
Result<BuildRequest> variant_build_request(const Operator& op, const Variant& variant,
                                           const Slots& slots, const std::string& device_arch);

class Builder {
 public:
  using CompilerFactory = std::function<Result<std::unique_ptr<Compiler>>(const std::string& arch)>;

  // `make` is asked once for each architecture.
  explicit Builder(BuildCache cache, CompilerFactory make = make_compiler)
      : cache_(std::move(cache)), make_(std::move(make)) {}

  // What build() asks first.
  void take_from(std::shared_ptr<const BuildSupply> supply) { supply_ = std::move(supply); }

  // A lock that the caller of build() holds, and that is not held for as long as it runs: others
  // can go on meanwhile. Null for none.
  void release_while_building(std::unique_lock<std::mutex>* lock) { released_ = lock; }

  // The key alone: starts the compiler at most once, for its identity.
  Result<std::string> key(const BuildRequest& request);

  // From the supply, the cache, or compiled and put there (a cache that cannot be written is no
  // failure).
  Result<Build> build(const BuildRequest& request);

  // How often build() had to compile, failures included.
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
