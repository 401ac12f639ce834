#include "measure/build_ahead.h"

#include <gtest/gtest.h>

#include <string>

#include "device/registry.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

class BuildAheadTest : public ::testing::Test {
 protected:
  static VariantRequest request(const std::string& mode) {
    return {{source_path("tests/families/vector_add"), "vector_add.add", "n=1000 T=f32"},
            "flat THREADS=64 MODE=" + mode};
  }

  // As a compile worker does it.
  BuildRecord build(const std::string& mode) {
    BuildRecord record;
    Builder builder(BuildCache(FileSystem::real(), cache_.path()));
    const WorkItem item = ahead_.bind(request(mode), request(mode).variant).value();
    static_cast<void>(build_item(builder, item, device_, record));
    return record;
  }

  const TestFolder cache_;
  const Variable cache_variable_{"MGTUNE_CACHE_DIR", cache_.path()};
  const DeviceInfo device_ = open_device("cpu").value()->info();
  BuildAhead ahead_{device_};
};

TEST_F(BuildAheadTest, FindsABuildOfTheCacheOnce) {
  const BuildRecord made = build("good");
  ahead_.look(7, request("good"));
  EXPECT_FALSE(ahead_.take(6).has_value());
  const std::optional<BuildAhead::Found> found = ahead_.take(7);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->build.sha256, made.sha256);
  EXPECT_EQ(found->record.key, made.key);
  EXPECT_EQ(found->record.sha256, made.sha256);
  EXPECT_EQ(found->record.message, made.message);
  EXPECT_EQ(variant_text(*found->item.problem.op, found->item.variant), request("good").variant);
  EXPECT_FALSE(ahead_.take(7).has_value());
}

TEST_F(BuildAheadTest, CompilesNothing) {
  ahead_.look(1, request("good"));
  EXPECT_FALSE(ahead_.take(1).has_value());
}

TEST_F(BuildAheadTest, LeavesToItsTurnWhatFails) {
  ahead_.look(1, request("no such mode"));
  EXPECT_FALSE(ahead_.take(1).has_value());
}

TEST_F(BuildAheadTest, ForgetsWhatNobodyTook) {
  build("good");
  const std::int64_t last = kMostRequests + 1;
  for (std::int64_t id = 1; id <= last; ++id) ahead_.look(id, request("good"));
  EXPECT_FALSE(ahead_.take(1).has_value());
  for (std::int64_t id = 2; id <= last; ++id) EXPECT_TRUE(ahead_.take(id).has_value()) << id;
}

}  // namespace
}  // namespace mgtune
