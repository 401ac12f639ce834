// Which way `auto` is.

#include "ways/ways.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/registry.h"
#include "tests/helpers/engine_models.h"

namespace mgtune::engine {
namespace {

using ::testing::HasSubstr;

TEST(Ways, AutoIsTheFastestWayOfTheDevice) {
  EXPECT_EQ(must(resolve_way("auto", "cpu")), "steps");
  EXPECT_EQ(resolve_way("auto", "63").status().code(), StatusCode::environment);
  EXPECT_THAT(resolve_way("auto", "nonsense").status().message(),
              HasSubstr("no GPU is called 'nonsense'"));
  const bool has_gpu = must(select_devices("auto")).front().kind == DeviceKind::cuda;
  for (const char* const none : {"", "auto"}) {
    EXPECT_EQ(must(resolve_way("auto", none)), has_gpu ? "graph" : "reference");
  }
  if (has_gpu) {
    EXPECT_EQ(must(resolve_way("auto", "0")), "graph");
  }
}

TEST(Ways, AWayThatIsNamedStays) {
  EXPECT_EQ(must(resolve_way("steps", "auto")), "steps");
  EXPECT_EQ(must(resolve_way("graph", "cpu")), "graph");
  EXPECT_EQ(must(resolve_way("reference", "auto")), "reference");
  EXPECT_THAT(resolve_way("reference", "H200").status().message(),
              HasSubstr("uses no device, but the device 'H200' is named"));
  EXPECT_THAT(resolve_way("magic", "").status().message(), HasSubstr("way is 'magic'"));
}

}  // namespace
}  // namespace mgtune::engine
