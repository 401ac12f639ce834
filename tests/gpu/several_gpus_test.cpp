// A sweep on all GPUs of this machine, by the mgtune program, and how many variants a second it
// does. With one GPU it shows the pace of one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/real_gpu.h"

namespace mgtune {
namespace {

class SeveralGpus : public RealGpuTest {
 protected:
  nlohmann::json sweep(const std::string& gpu) {
    const Ended ended =
        mgtune_.run({"sweep", "--kernel", "rmsnorm.forward", "--gpu", gpu, "--dtype", "bf16",
                     "--problem", "rows=4096,hidden=4096", "--budget", "100", "--json"});
    EXPECT_EQ(ended.exit_code & ~3, 0) << ended;
    return ended.json()["sweeps"];
  }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
};

TEST_F(SeveralGpus, GpusOfOneModelShareTheVariants) {
  for (const char* gpu : {"all", "0"}) {
    const TestFolder cache;
    MgtuneProgram mgtune(cache.path());
    const Ended ended =
        mgtune.run({"sweep", "--kernel", "rmsnorm.forward", "--gpu", gpu, "--dtype", "bf16",
                    "--problem", "rows=4096,hidden=4096", "--budget", "100", "--json"});
    ASSERT_EQ(ended.exit_code & ~3, 0) << ended;
    for (const nlohmann::json& sweep : ended.json()["sweeps"]) {
      EXPECT_EQ(sweep["failed"], 0) << ended;
      EXPECT_EQ(sweep["picks"].size(), 1U);
      EXPECT_EQ(sweep["compiled"], 100);
      const double seconds = sweep["seconds"];
      std::cout << sweep["devices"].size() << " x " << sweep["name"] << ": " << sweep["evaluated"]
                << " variants in " << seconds << " s, " << double(sweep["evaluated"]) / seconds
                << " a second, skipped " << sweep["skipped"] << std::endl;
    }
  }
}

TEST_F(SeveralGpus, ASecondSweepCompilesAndMeasuresNothing) {
  sweep("0");
  for (const nlohmann::json& again : sweep("0")) {
    EXPECT_EQ(again["compiled"], 0);
    EXPECT_EQ(again["evaluated"], 0);
  }
}

}  // namespace
}  // namespace mgtune
