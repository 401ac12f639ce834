#include "cli/output/profile_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "family/catalog.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProfileOutput : public testing::Test {
 protected:
  ProfileOutput() {
    device_.id = "GPU-1";
    device_.name = "NVIDIA H200";
    profile_.sweep = 7;
    profile_.variant = "row VEC=8";
    profile_.cost_bytes = 12000;
    profile_.counters = {"GH100",
                         16,
                         2,
                         "problem too small to rotate",
                         {{"elapsed_ns", 10},
                          {"dram_read_bytes", 6000},
                          {"dram_write_bytes", 6120},
                          {"l2_hit_percent", 12.3456},
                          {"of_a_newer_mgtune", 3}},
                         {"wgmma_instructions: TU102 has no metric for it"}};
  }

  ProfileReport report() const { return {device_, problem_, profile_, "pick", 1}; }

  DeviceInfo device_;
  Catalog catalog_{FileSystem::real()};
  const Problem problem_ = bind_problem(*catalog_.find_operator("rmsnorm.forward").value(),
                                        {{"rows", "4"}, {"hidden", "64"}, {"T", "f32"}})
                               .value();
  Profile profile_;
};

TEST_F(ProfileOutput, TheTableSaysWhatEachCounterMeans) {
  const std::string text = profile_table(report());
  EXPECT_THAT(text, HasSubstr("dram_read_bytes     6000  bytes  read from device memory\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("12.35"), HasSubstr("of_a_newer_mgtune")));
  EXPECT_THAT(text, HasSubstr("dram_of_cost_percent    101  %"));
  EXPECT_THAT(text,
              HasSubstr("Per launch, the mean of 16 launches on NVIDIA H200 (GH100), counted in 2 "
                        "passes.\nproblem too small to rotate\nNot counted: wgmma_"));
  profile_.counters.values.clear();
  EXPECT_THAT(profile_table(report()), Not(HasSubstr("derived")));
}

TEST_F(ProfileOutput, JsonHasTheSame) {
  const auto json = nlohmann::json::parse(profile_json(report()));
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["operator"], "rmsnorm.forward");
  EXPECT_EQ(json["problem"], "rows=4 hidden=64 T=f32");
  EXPECT_EQ(json["variant"], "row VEC=8");
  EXPECT_EQ(json["source"], "pick");
  EXPECT_EQ(json["sweep"], 7);
  EXPECT_EQ(json["counters"][1]["name"], "dram_read_bytes");
  EXPECT_EQ(json["counters"][1]["value"], 6000);
  EXPECT_EQ(json["counters"][1]["unit"], "bytes");
  EXPECT_EQ(json["derived"][0]["value"], 101);
  EXPECT_EQ(json["left_out"].size(), 1U);
}

TEST_F(ProfileOutput, TheAnnouncementSaysWhyThisVariant) {
  EXPECT_EQ(profile_announcement(device_, problem_, "row VEC=8", "default"),
            "Counting rmsnorm.forward rows=4 hidden=64 T=f32 on NVIDIA H200: row VEC=8 (the "
            "default, because the store has no pick of this problem).\n");
  EXPECT_THAT(profile_announcement(device_, problem_, "row VEC=8", "pick"),
              HasSubstr("(the problem's pick)"));
}

}  // namespace
}  // namespace mgtune
