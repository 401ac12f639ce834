// mgtune peers: times of other implementations, from a file to what show best says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CliPeersTest : public ::testing::Test {
 protected:
  std::string file(const std::string& text) {
    std::ofstream(mgtune_.folder().file("peers.json")) << text;
    return mgtune_.folder().file("peers.json");
  }

  TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
  const std::string published_ = source_path("results/h200/nvidia-h200.peers.json");
};

TEST_F(CliPeersTest, ShowBestLeadsWithThePublishedPeersOfThePublishedPicks) {
  const std::string table = source_path("results/h200/nvidia-h200.rmsnorm.backward.tuned.json");
  ASSERT_EQ(mgtune_.run({"import", table}).exit_code, 0);
  const Ended first = mgtune_.run({"peers", "import", published_});
  EXPECT_EQ(first.exit_code, 0) << first;
  EXPECT_THAT(first.out,
              StartsWith("imported 85 times of F.rms_norm, eager PyTorch, torch.compile"));
  const Ended second = mgtune_.run({"peers", "import", published_, "--json"});
  EXPECT_EQ(second.json()["added"], 0);
  EXPECT_EQ(second.json()["known"], 85);
  const Ended best = mgtune_.run({"show", "best"});
  EXPECT_THAT(best.out, StartsWith("rmsnorm.backward rows="));
  EXPECT_THAT(best.out, HasSubstr("; torch.compile 2.11.0 240.9 us (2.4"));
  EXPECT_THAT(best.out,
              HasSubstr("The dates differ: torch.compile 2.11.0 was timed on 2026-11-23"));
  const Ended list =
      mgtune_.run({"peers", "list", "--kernel", "swiglu", "--gpu", "H200", "--json"});
  EXPECT_EQ(list.json()["peers"].size(), 14U) << list;
}

TEST_F(CliPeersTest, AMistakeIsRefusedWithItsPlaceAndNothingIsImported) {
  const Ended unknown = mgtune_.run({"peers", "import", file("{\"a\": \"b\"}")});
  EXPECT_EQ(unknown.exit_code, 5) << unknown;
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("peers.json: "), HasSubstr("nvbench")));
  const std::string bench = file("{\"a/rmsnorm.forward/rows:1/hidden:8/T:f32\": 0.01}");
  const Ended no_gpu = mgtune_.run({"peers", "import", bench});
  EXPECT_EQ(no_gpu.exit_code, 2) << no_gpu;
  EXPECT_THAT(no_gpu.err, HasSubstr("--gpu"));
  EXPECT_EQ(mgtune_.run({"peers", "import", bench, "--gpu", "cpu"}).exit_code, 2);
  EXPECT_EQ(mgtune_.run({"peers", "import"}).exit_code, 2);
  EXPECT_EQ(mgtune_.run({"peers", "list", bench}).exit_code, 2);
  EXPECT_THAT(mgtune_.run({"peers", "list"}).out, StartsWith("No times of other implementations"));
}

}  // namespace
}  // namespace mgtune
