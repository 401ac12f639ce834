// Random kernels of shipped operators, compiled by NVRTC several at a time and one by one:
// binaries, registers, spills and shared memory are the same. scripts/test.sh does it for RMSNorm
// and SwiGLU on two architectures, scripts/test.sh --all for all families on four.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "build/builder.h"
#include "compiler/ptxas_report.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "plan/problem_set.h"
#include "search/search.h"
#include "space/space.h"
#include "system/file_system.h"
#include "tests/helpers/long_lane.h"

namespace mgtune {
namespace {

struct Gpu {
  const char* arch;
  DeviceLimits limits;
  bool is_in_short_lane = false;
};

// What tells apart requests that cannot be one program: architecture, source, and dynamic memory.
using Place = std::tuple<std::string, std::string, bool>;
using Requests = std::map<Place, std::vector<BuildRequest>>;

// The kernels of random variants, each once.
Requests random_kernels(const Problem& problem, const Gpu& gpu, std::size_t variants) {
  Requests requests;
  const Space space(problem, gpu.limits);
  const auto search = make_search("random", space, 7).value();
  std::set<std::string> seen;
  for (std::size_t i = 0; i < space.ladder().size() + variants; ++i) {
    const auto variant = search->next();
    if (!variant) break;
    if (i < space.ladder().size()) continue;
    const auto slots = compile_slots(problem.binding(), *variant, gpu.limits).value();
    BuildRequest request = variant_build_request(*problem.op, *variant, slots, gpu.arch).value();
    const std::vector<std::string> kernels = request.kernels;
    const std::vector<bool> dynamic = request.dynamic_shared;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      if (!request.kernels_apart || !seen.insert(kernels[k]).second) continue;
      request.kernels = {kernels[k]};
      request.dynamic_shared = {dynamic[k]};
      requests[{request.arch, request.source, dynamic[k]}].push_back(request);
    }
  }
  return requests;
}

class KernelsTogether : public testing::TestWithParam<Gpu> {
 protected:
  void compare(const std::vector<BuildRequest>& requests, Compiler& compiler) {
    const auto builds = compiler.compile_together(requests);
    ASSERT_EQ(builds.size(), requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (!builds[i].has_value()) continue;  // it is compiled alone in any case
      const Result<Build> alone = compiler.compile(requests[i]);
      ASSERT_TRUE(alone.ok()) << alone.status().message();
      const std::string& name = requests[i].kernels.front();
      EXPECT_EQ(builds[i]->sha256, alone->sha256) << name;
      EXPECT_TRUE(builds[i]->binary == alone->binary) << name;
      EXPECT_EQ(builds[i]->key, alone->key);
      EXPECT_EQ(builds[i]->arch, alone->arch);
      EXPECT_EQ(builds[i]->ptx_bytes, alone->ptx_bytes) << name;
      EXPECT_EQ(ptxas_objections(builds[i]->log), ptxas_objections(alone->log)) << name;
      ASSERT_EQ(builds[i]->kernels.size(), 1U);
      const BuildKernel &together = builds[i]->kernels.front(), &one = alone->kernels.front();
      EXPECT_EQ(together.name, one.name);
      EXPECT_EQ(together.symbol, one.symbol);
      EXPECT_EQ(together.registers, one.registers) << name;
      EXPECT_EQ(together.spill_bytes, one.spill_bytes) << name;
      EXPECT_EQ(together.static_shared_bytes, one.static_shared_bytes) << name;
      ++compared_;
    }
  }

  std::size_t compared_ = 0;
};

TEST_P(KernelsTogether, GiveTheBuildsOfEachAlone) {
  if (kUnderSanitizer) GTEST_SKIP() << "NVRTC is not instrumented, and takes ten times as long";
  const Gpu& gpu = GetParam();
  if (!in_long_lane(true, gpu.is_in_short_lane)) {
    GTEST_SKIP() << "scripts/test.sh --all compiles for " << gpu.arch;
  }
  constexpr std::size_t kAtOnce = 4;
  Catalog catalog(FileSystem::real());
  const std::vector<std::string> light = {"rmsnorm", "swiglu.forward"};
  for (const std::string& family : in_long_lane(Catalog::shipped_families(), light)) {
    const auto operators = catalog.find(family).value();
    for (const Operator* op : operators) {
      const auto problems = make_problems({op}, ProblemRequest{}, DeviceKind::cuda).value();
      for (auto& [place, requests] : random_kernels(problems.front(), gpu, 2 * kAtOnce)) {
        const auto compiler = make_nvrtc_compiler(std::get<0>(place));
        ASSERT_TRUE(compiler.ok()) << compiler.status().message();
        for (std::size_t i = 0; i + 1 < requests.size(); i += kAtOnce) {
          const auto end = std::min(i + kAtOnce, requests.size());
          compare({requests.begin() + static_cast<std::ptrdiff_t>(i),
                   requests.begin() + static_cast<std::ptrdiff_t>(end)},
                  **compiler);
        }
      }
    }
  }
  const bool has_second_code = gpu.limits.compute_capability >= 100;
  EXPECT_EQ(compared_ >= 20, !has_second_code) << compared_;
  RecordProperty("kernels", static_cast<int>(compared_));
}

INSTANTIATE_TEST_SUITE_P(Targets, KernelsTogether,
                         testing::Values(Gpu{"sm_75", {75, 40, 64 << 10, 4 << 20}},
                                         Gpu{"sm_80", {80, 108, 163 << 10, 40 << 20}, true},
                                         Gpu{"sm_90", {90, 132, 227 << 10, 50 << 20}, true},
                                         Gpu{"sm_100", {100, 148, 227 << 10, 126 << 20}}),
                         [](const auto& gpu) { return std::string(gpu.param.arch); });

}  // namespace
}  // namespace mgtune
