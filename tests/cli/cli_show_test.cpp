// What mgtune show says of a store that another process filled.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/store_fixture.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CliShowTest : public StoreTest {
 protected:
  void SetUp() override {
    Store store = open();
    ASSERT_TRUE(store.record(outcome_in(store)).ok());  // of rmsnorm.forward
  }

  Ended show(const MgtuneProgram::Words& more) {
    MgtuneProgram::Words words = {"show", "variants", "--db", path_};
    words.insert(words.end(), more.begin(), more.end());
    return mgtune_.run(words);
  }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
};

TEST_F(CliShowTest, AMisspeltKernelGetsASuggestion) {
  for (const char* typo : {"rmsnrm", "rmsnorm.foward"}) {
    for (const bool json : {false, true}) {
      const Ended ended = show(json ? MgtuneProgram::Words{"--kernel", typo, "--json"}
                                    : MgtuneProgram::Words{"--kernel", typo});
      EXPECT_EQ(ended.exit_code, 2) << ended;
      EXPECT_THAT(ended.err, HasSubstr("did you mean 'rmsnorm")) << ended;
      EXPECT_THAT(ended.out, IsEmpty());
    }
  }
}

TEST_F(CliShowTest, AKernelWithoutResultsIsToldFromAnUnknownOne) {
  for (const std::string& kernel :
       {source_path("tests/families/vector_add"), std::string("swiglu")}) {
    const Ended ended = show({"--kernel", kernel});
    EXPECT_EQ(ended.exit_code, 2) << ended;
    EXPECT_THAT(ended.err, HasSubstr("it has those of rmsnorm.forward"));
    EXPECT_THAT(ended.out, IsEmpty());
  }
}

TEST_F(CliShowTest, AKernelThatNobodyKnowsIsRefused) {
  const Ended ended = show({"--kernel", "quite_other"});
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_THAT(ended.err, HasSubstr("it has those of rmsnorm.forward"));
  EXPECT_THAT(ended.out, IsEmpty());
}

}  // namespace
}  // namespace mgtune
