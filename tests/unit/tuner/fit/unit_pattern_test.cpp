// Unit patterns: what a measured variant is in terms of its problem, and what that is elsewhere.

#include "fit/unit_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "family/catalog.h"
#include "system/file_system.h"
#include "tests/helpers/gpu_limits.h"

namespace mgtune {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;

class UnitPatternTest : public testing::Test {
 protected:
  const Operator& op_ = **catalog_.find_operator("rmsnorm.forward");

  Problem problem(const std::string& words) const {
    return *bind_problem(op_, *parse_assignments(words));
  }

  std::vector<VariantPattern> patterns(const std::string& more, const DeviceLimits& gpu) const {
    const std::string text =
        "row THREADS_PER_ROW=256 ROWS_PER_BLOCK=1 ROWS_PER_THREAD=1 VEC=8 LOAD=normal STORE=normal "
        "WEIGHT=early " +
        more;
    return unit_patterns(*parse_variant(op_, text), problem("rows=64,hidden=4096,T=bf16").binding(),
                         gpu);
  }

  std::vector<std::string> texts(const std::vector<VariantPattern>& patterns) const {
    std::vector<std::string> texts;
    for (const VariantPattern& pattern : patterns) texts.push_back(pattern_text(op_, pattern));
    return texts;
  }

 private:
  static inline Catalog catalog_{FileSystem::real()};
};

TEST_F(UnitPatternTest, NumbersAreUnitsTimesPowersOfTwo) {
  EXPECT_THAT(texts(patterns("PDL=true", kH200)),
              Contains(HasSubstr("THREADS_PER_ROW=hidden/VEC/2 ")));
  EXPECT_THAT(texts(patterns("PDL=true", kH200)), Contains(HasSubstr("THREADS_PER_ROW=256 ")));
}

TEST_F(UnitPatternTest, ATrueBooleanIsItsUnitAndSoFalseOnAnotherGpu) {
  const std::vector<VariantPattern> found = patterns("PDL=true", kH200);
  EXPECT_THAT(texts(found), Each(HasSubstr(" PDL=device.cc>=90")));
  const Problem wide = problem("rows=64,hidden=8192,T=bf16");
  std::vector<std::string> on_l4;
  for (const VariantPattern& pattern : found) {
    EXPECT_THAT(variant_text(op_, *variant_of(pattern, wide.binding(), kH200)),
                HasSubstr(" PDL=true"));
    on_l4.push_back(variant_text(op_, *variant_of(pattern, wide.binding(), kL4)));
  }
  EXPECT_THAT(on_l4, Each(HasSubstr(" PDL=false")));
}

TEST_F(UnitPatternTest, AFalseBooleanStaysFalse) {
  EXPECT_THAT(texts(patterns("PDL=false", kH200)), Each(HasSubstr(" PDL=false")));
  EXPECT_THAT(texts(patterns("PDL=false", kA100)), Each(HasSubstr(" PDL=false")));
}

}  // namespace
}  // namespace mgtune
