#include "tests/helpers/memory_ceiling_fixture.h"

namespace mgtune {
namespace {

class ReadCeiling : public MemoryCeilingTest {
 protected:
  ReadCeiling() : MemoryCeilingTest("read") {}
};

TEST_F(ReadCeiling, IsTheFastestShapesTime) { expect_the_fastest_shapes_time(); }

TEST_F(ReadCeiling, EveryShapeReadsEverySizeWhole) {
  // The last is more than all strided blocks read in one turn.
  expect_every_shape_moves({1, 16, 100'000, 16 * 4099, 16 * 140'001}, 1);
}

TEST_F(ReadCeiling, AFailureOfTheTimerIsItsOwn) { expect_the_timers_failure(); }

}  // namespace
}  // namespace mgtune
