#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sweep/profile.h"

namespace mgtune {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(DerivedFigures, AreThoseThatTheCountersAllow) {
  VariantCounters counters;
  counters.values = {{"elapsed_ns", 10}, {"dram_read_bytes", 6000}, {"dram_write_bytes", 6120}};
  const auto figures = derived_figures(counters, 12000);
  ASSERT_THAT(figures, SizeIs(2));
  EXPECT_EQ(figures[0].name, "dram_of_cost_percent");
  EXPECT_DOUBLE_EQ(figures[0].value, 101);
  EXPECT_EQ(figures[1].name, "dram_gbps");
  EXPECT_DOUBLE_EQ(figures[1].value, 1212);
  EXPECT_THAT(derived_figures(counters, 0), SizeIs(1));
  counters.values.erase(counters.values.begin() + 1);
  EXPECT_THAT(derived_figures(counters, 12000), IsEmpty());
}

}  // namespace
}  // namespace mgtune
