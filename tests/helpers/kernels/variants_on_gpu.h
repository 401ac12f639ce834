// VariantsOnGpu: a real GPU and a builder; builds and loads single variants and reads what a launch
// wrote.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "build/build_cache.h"
#include "build/builder.h"
#include "family/problem.h"
#include "launch/loaded_variant.h"
#include "system/file_system.h"
#include "tensors/tensor_layout.h"
#include "tests/helpers/real_gpu.h"

namespace mgtune {

class VariantsOnGpu : public RealGpuTest {
 protected:
  Result<std::unique_ptr<LoadedVariant>> load(const Problem& problem, const Variant& variant) {
    const Binding binding = problem.binding();
    MGTUNE_ASSIGN(const Slots slots, compile_slots(binding, variant, device().info().limits));
    MGTUNE_ASSIGN(const BuildRequest request,
                  variant_build_request(*binding.op, variant, slots, device().info().arch));
    MGTUNE_ASSIGN(const Build build, builder_.build(request));
    return LoadedVariant::load(device(), binding, variant, build);
  }

  // Every output's bytes after one launch.
  Result<std::vector<std::vector<unsigned char>>> outputs(const LoadedVariant& loaded,
                                                          const LaunchArguments& arguments,
                                                          const Problem& problem) {
    MGTUNE_TRY(loaded.launch(arguments));
    MGTUNE_TRY(device().synchronize(nullptr));
    MGTUNE_ASSIGN(const auto layouts, tensor_layouts(problem));
    std::vector<std::vector<unsigned char>> all;
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      if (!layouts[i].is_output() || !layouts[i].present) continue;
      std::vector<unsigned char> bytes(layouts[i].bytes());
      MGTUNE_TRY(device().copy_to_host(bytes.data(), arguments.tensors[i], bytes.size()));
      all.push_back(std::move(bytes));
    }
    return all;
  }

  Builder builder_{BuildCache(FileSystem::real(), BuildCache::default_directory())};
};

}  // namespace mgtune
