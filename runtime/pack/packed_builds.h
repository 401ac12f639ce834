// PackedBuilds: the builds of a pack as a Builder's supply. Immutable: any number of threads may
// call find().

#pragma once

#include <map>
#include <string>
#include <vector>

#include "build/build_supply.h"
#include "pack/pack.h"

namespace mgtune {

class PackedBuilds final : public BuildSupply {
 public:
  explicit PackedBuilds(std::vector<PackedBuild> builds);

  std::optional<Build> find(const BuildRequest& request) const override;

 private:
  std::map<std::string, Build> builds_;  // by request
};

}  // namespace mgtune
