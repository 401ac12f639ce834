// Under which key a pick is stored, and which one a plan asks for.

#include "selection/pick_key.h"

#include <gtest/gtest.h>

#include "selection/gpu_similarity.h"
#include "tests/helpers/operators/toy_operators.h"

namespace mgtune {
namespace {

class PickKeyTest : public testing::Test {
 protected:
  PickKey of(const std::string& words) {
    return key_of(must(bind_problem(op_, must(parse_assignments(words)))));
  }
  const Operator op_ = toy_norm();
};

TEST_F(PickKeyTest, TheKindIsWhatAPlanFixes) {
  EXPECT_EQ(of("rows=4096,hidden=64,T=f32").kind, "toy.norm hidden=64 T=f32");
  EXPECT_EQ(of("rows=1,hidden=64,T=f32").kind, of("rows=4096,hidden=64,T=f32").kind);
  EXPECT_EQ(of("rows=1,hidden=64,T=f32,rstd=true").kind, of("rows=1,hidden=64,T=f32").kind)
      << "picks with other optional tensors may serve too";
  EXPECT_NE(of("rows=1,hidden=128,T=f32").kind, of("rows=1,hidden=64,T=f32").kind);
}

TEST_F(PickKeyTest, TheSizeIsThatOfTheDimsOfALaunch) {
  EXPECT_EQ(of("rows=4096,hidden=64,T=f32").size, 12);
  EXPECT_EQ(of("rows=4096,hidden=128,T=f32").size, 12);
  EXPECT_EQ(of("rows=0,hidden=64,T=f32").size, 0);
}

TEST_F(PickKeyTest, APlanAsksForTheMiddleOfItsRanges) {
  const Binding binding = bound(op_, {{"hidden", "64"}, {"T", "f32"}});
  EXPECT_EQ(key_of(binding, {{256, 256}, {1, 0}}), of("rows=256,hidden=64,T=f32"));
  EXPECT_EQ(key_of(binding, {{1, 65536}, {1, 0}}), of("rows=256,hidden=64,T=f32"));
  EXPECT_EQ(key_of(binding, {{1, 65536}, {64, 128}}), of("rows=256,hidden=64,T=f32"))
      << "a dim with a default does not count";
}

TEST_F(PickKeyTest, TheMiddleIsGeometricAndInTheRange) {
  EXPECT_EQ(middle_of({1, 65536}), 256);
  EXPECT_EQ(middle_of({0, 0}), 0);
  EXPECT_EQ(middle_of({7, 8}), 7);
}

}  // namespace
}  // namespace mgtune
