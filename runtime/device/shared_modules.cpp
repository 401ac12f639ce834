#include "device/shared_modules.h"

#include <utility>

namespace mgtune {
namespace {

// The binary and the names of its kernels. Two spellings of one template argument give equal
// binaries, but a module knows only the names of its own build.
std::string key_of(const Build& build) {
  std::string key = build.sha256 + '\n' + build.arch;
  for (const BuildKernel& kernel : build.kernels) key += '\n' + kernel.name + '\n' + kernel.symbol;
  return key;
}

}  // namespace

Result<std::shared_ptr<const Module>> SharedModules::load(const Build& build) {
  std::string key = key_of(build);
  const std::scoped_lock lock(mutex_);
  if (const auto known = modules_.find(key); known != modules_.end()) {
    if (std::shared_ptr<const Module> module = known->second.lock()) return module;
  }
  MGTUNE_ASSIGN(std::shared_ptr<const Module> module, load_locked(build));
  std::erase_if(modules_, [](const auto& entry) { return entry.second.expired(); });
  modules_.emplace(std::move(key), module);
  return module;
}

Result<std::shared_ptr<const Module>> SharedModules::load_unshared(const Build& build) {
  const std::scoped_lock lock(mutex_);
  return load_locked(build);
}

Result<std::shared_ptr<const Module>> SharedModules::load_locked(const Build& build) {
  MGTUNE_ASSIGN(std::unique_ptr<Module> loaded, device_.load(build));
  return std::shared_ptr<const Module>(loaded.release(), [this](const Module* unloaded) {
    const std::scoped_lock unloading(mutex_);
    delete unloaded;
  });
}

}  // namespace mgtune
