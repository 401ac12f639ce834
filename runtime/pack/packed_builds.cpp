#include "pack/packed_builds.h"

#include <algorithm>
#include <utility>

namespace mgtune {

PackedBuilds::PackedBuilds(std::vector<PackedBuild> builds) {
  for (PackedBuild& packed : builds) {
    builds_.emplace(std::move(packed.request), std::move(packed.build));
  }
}

std::optional<Build> PackedBuilds::find(const BuildRequest& request) const {
  const auto found = builds_.find(build_key(request, ""));
  if (found == builds_.end() || found->second.arch != request.arch) return std::nullopt;
  const std::vector<BuildKernel>& kernels = found->second.kernels;
  const bool has_all = std::ranges::all_of(request.kernels, [&](const std::string& name) {
    return std::ranges::find(kernels, name, &BuildKernel::name) != kernels.end();
  });
  if (!has_all) return std::nullopt;
  return found->second;
}

}  // namespace mgtune
