// mgtune peers: times of other implementations, from a file to what show best says.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"
#include "text/units.h"

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
  const auto document = nlohmann::json::parse(file_content(published_));
  const nlohmann::json& peers = document["peers"];
  ASSERT_EQ(mgtune_.run({"import", table}).exit_code, 0);
  const Ended first = mgtune_.run({"peers", "import", published_});
  EXPECT_EQ(first.exit_code, 0) << first;
  EXPECT_THAT(first.out, StartsWith(fmt::format("imported {} times of ", peers.size())));
  EXPECT_THAT(first.out, AllOf(HasSubstr("F.rms_norm"), HasSubstr("torch.compile")));
  const Ended second = mgtune_.run({"peers", "import", published_, "--json"});
  EXPECT_EQ(second.json()["added"], 0);
  EXPECT_EQ(second.json()["known"], peers.size());
  const Ended best = mgtune_.run({"show", "best"});
  EXPECT_THAT(best.out, StartsWith("rmsnorm.backward rows="));
  const std::string day = document["measured_at"].get<std::string>().substr(0, 10);
  EXPECT_THAT(best.out, HasSubstr("The dates differ: torch.compile 2.11.0 was timed on " + day));
  const Ended report = mgtune_.run({"report", "--format", "json"});
  EXPECT_EQ(report.json()["title"], "mgtune report: rmsnorm.backward on NVIDIA H200");
  std::size_t swiglu = 0;
  for (const nlohmann::json& peer : peers) {
    swiglu += peer["operator"].get<std::string>().starts_with("swiglu.") ? 1 : 0;
    const std::string problem = R"({"T":"bf16","dw":true,"hidden":8192,"rows":8192})";
    if (peer["operator"] != "rmsnorm.backward" || peer["name"] != "torch.compile" ||
        peer["problem"].dump() != problem) {
      continue;
    }
    const std::string time = time_text(peer["median_ns"].get<double>());
    EXPECT_THAT(best.out, HasSubstr("; torch.compile 2.11.0 " + time + " (2."));
  }
  const Ended list =
      mgtune_.run({"peers", "list", "--kernel", "swiglu", "--gpu", "H200", "--json"});
  EXPECT_EQ(list.json()["peers"].size(), swiglu) << list;
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
