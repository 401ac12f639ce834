// VariantsOnGpu: a real GPU and a builder; builds, loads and checks variants and reads what a
// launch wrote.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <random>
#include <vector>

#include "build/build_cache.h"
#include "build/builder.h"
#include "check/checker.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "launch/loaded_variant.h"
#include "space/space.h"
#include "system/file_system.h"
#include "tensors/tensor_layout.h"
#include "tests/helpers/all_variants.h"
#include "tests/helpers/real_gpu.h"

namespace mgtune {

struct ProblemOnGpu {
  const char* op;
  const char* problem;
};

class VariantsOnGpu : public RealGpuTest {
 protected:
  // All variants of the problem, always in the same random order.
  std::vector<Variant> shuffled_variants(const Problem& problem) {
    std::vector<Variant> variants = all_variants(Space(problem, device().info().limits));
    EXPECT_FALSE(variants.empty());
    std::mt19937 random(1);
    std::ranges::shuffle(variants, random);
    return variants;
  }

  // Every `step`-th variant of the whole space spills at most so many bytes and passes its check;
  // then visit(checker, variant, record) is called.
  template <typename Visit>
  void check_every(std::size_t step, const ProblemOnGpu& one, std::int64_t max_spill_bytes,
                   const Visit& visit) {
    Catalog catalog(FileSystem::real());
    const Operator& op = *catalog.find_operator(one.op).value();
    const Problem problem = bind_problem(op, parse_assignments(one.problem).value()).value();
    const auto checker = Checker::make(device(), builder_, problem);
    ASSERT_TRUE(checker.ok()) << checker.status().message();
    const DeviceLimits& limits = device().info().limits;
    const std::vector<Variant> variants = all_variants(Space(problem, limits));
    ASSERT_FALSE(variants.empty());
    for (std::size_t v = 0; v < variants.size(); v += step) {
      SCOPED_TRACE(variant_text(op, variants[v]));
      const Slots slots = compile_slots(problem.binding(), variants[v], limits).value();
      const auto request = variant_build_request(op, variants[v], slots, device().info().arch);
      ASSERT_TRUE(request.ok()) << request.status().message();
      const auto build = builder_.build(*request);
      ASSERT_TRUE(build.ok()) << build.status().message();
      for (const BuildKernel& kernel : build->kernels) {
        EXPECT_GE(kernel.spill_bytes, 0);
        EXPECT_LE(kernel.spill_bytes, max_spill_bytes);
      }
      const auto loaded = LoadedVariant::load(device(), problem.binding(), variants[v], *build);
      ASSERT_TRUE(loaded.ok()) << loaded.status().message();
      const auto record = (*checker)->check(**loaded);
      ASSERT_TRUE(record.ok()) << record.status().message();
      EXPECT_EQ(record->outcome, Outcome::ok) << record->message;
      visit(**checker, **loaded, *record);
    }
    std::cout << one.op << " " << one.problem << ": every " << step << ". of " << variants.size()
              << " variants on " << device().info().name << std::endl;
  }

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
