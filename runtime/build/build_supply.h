// BuildSupply: builds that were made beforehand, for example those of a pack. A Builder asks it
// before its cache, and before it looks for a compiler. Thread-safe.

#pragma once

#include <optional>

#include "build/build.h"
#include "compiler/compiler.h"

namespace mgtune {

class BuildSupply {
 public:
  virtual ~BuildSupply() = default;

  // The build of exactly this request: the same sources, kernels and architecture.
  virtual std::optional<Build> find(const BuildRequest& request) const = 0;

 protected:
  BuildSupply() = default;
  BuildSupply(const BuildSupply&) = default;
  BuildSupply& operator=(const BuildSupply&) = default;
};

}  // namespace mgtune
