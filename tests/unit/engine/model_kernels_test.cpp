// The kernels of a model, and how often a token launches each.

#include "tune/model_kernels.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "generate/session.h"
#include "system/file_system.h"
#include "tests/helpers/engine_models.h"

namespace mgtune::engine {
namespace {

// A token runs the attention of one bucket of positions. All other kernels are the same everywhere.
TEST(ModelKernels, CountWhatATokenLaunchesOnAverage) {
  ModelConfig config;
  config.layers = 3;
  config.width = 128;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 64;
  config.inner = 72;
  config.vocabulary = 40;
  config.positions = 2048;
  SessionOptions options;
  options.precision = {DType::bf16, DType::bf16, DType::f32, DType::bf16};
  const std::vector<Program> programs = must(make_programs(config, options)).programs;
  ASSERT_EQ(programs.size(), 3U);  // 256, 1,024 and 2,048 positions
  const std::vector<std::uint32_t> positions = {0, 255, 256, 2047};
  const std::vector<Program> wanted = programs_at(programs, positions);
  ASSERT_EQ(wanted.size(), 4U);
  EXPECT_EQ(wanted[1].positions, 256U);
  EXPECT_EQ(wanted[2].positions, 1024U);
  EXPECT_EQ(wanted[3].positions, 2048U);
  Catalog catalog(FileSystem::real());
  std::multimap<std::string, double> means;
  for (const ModelKernel& kernel : must(model_kernels(wanted, catalog))) {
    means.emplace(kernel.problem.op->full_name(), kernel.mean_count);
  }
  std::multiset<double> attention;
  for (auto [one, end] = means.equal_range("attention.decode"); one != end; ++one) {
    attention.insert(one->second);
  }
  EXPECT_EQ(attention, (std::multiset<double>{0.75, 0.75, 1.5}));
  EXPECT_EQ(means.find("linear.qkv")->second, 3);
  EXPECT_EQ(means.find("argmax.forward")->second, 1);
}

}  // namespace
}  // namespace mgtune::engine
