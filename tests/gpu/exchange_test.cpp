// A GPU's own results out and in again: what leaves a store comes back as it was.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/real_gpu.h"

namespace mgtune {
namespace {

class ExchangeOnGpu : public RealGpuTest {
 protected:
  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
};

TEST_F(ExchangeOnGpu, ImportedAndExportedAgainEveryFormatIsTheSame) {
  const std::string swept = mgtune_.folder().file("swept.db");
  const Ended sweep =
      mgtune_.run({"sweep", "--gpu", "0", "--kernel", "rmsnorm.forward", "--dtype", "bf16",
                   "--problem", "rows=4096,hidden=4096", "--budget", "8", "--db", swept});
  ASSERT_EQ(sweep.exit_code, 0) << sweep;
  for (const std::string format : {"tuned", "kernel-tuner", "t4"}) {
    const std::string file = mgtune_.folder().file(format + ".json");
    const std::string database = mgtune_.folder().file(format + ".db");
    const Ended exported = mgtune_.run({"export", "--format", format, "--db", swept, "-o", file});
    ASSERT_EQ(exported.exit_code, 0) << exported;
    const Ended imported = mgtune_.run({"import", file, "--db", database});
    ASSERT_EQ(imported.exit_code, 0) << imported;
    std::string expected = file_content(file);
    EXPECT_THAT(expected, ::testing::Not(::testing::HasSubstr("\"emulation\": true")));
    if (format == "tuned") {  // what a copy takes is measured on each machine
      const std::regex of_copy("\"of_copy\": [0-9.e-]+, ");
      EXPECT_TRUE(std::regex_search(expected, of_copy)) << expected;
      expected = std::regex_replace(expected, of_copy, "");
    }
    EXPECT_EQ(mgtune_.run({"export", "--format", format, "--db", database}).out, expected);
  }
  const nlohmann::json best =
      mgtune_.run({"show", "best", "--json", "--db", mgtune_.folder().file("tuned.db")}).json();
  ASSERT_EQ(best["picks"].size(), 1U);
  EXPECT_TRUE(best["picks"][0]["imported"]);
}

}  // namespace
}  // namespace mgtune
