#include "tests/helpers/memory_ceiling_fixture.h"

namespace mgtune {
namespace {

class CopyCeiling : public MemoryCeilingTest {
 protected:
  CopyCeiling() : MemoryCeilingTest("copy") {}
};

TEST_F(CopyCeiling, IsTheFastestShapesTime) { expect_the_fastest_shapes_time(); }

TEST_F(CopyCeiling, EveryShapeCopiesEverySizeWhole) {
  // 16 bytes a buffer, and numbers of vectors that no tile divides.
  expect_every_shape_moves({1, 32, 100'000, 2 * 16 * 4099}, 3);
}

TEST_F(CopyCeiling, AFailureOfTheTimerIsItsOwn) { expect_the_timers_failure(); }

}  // namespace
}  // namespace mgtune
