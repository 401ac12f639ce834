// The real compile worker, driven as a sweep drives it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <string>

#include "build/build_cache.h"
#include "compile/compile_pool.h"
#include "core/file_system.h"
#include "tests/helpers/temporary_folder.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;

class CompileWorkerTest : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("MGTUNE_CACHE_DIR", cache_.path().c_str(), 1); }

  WorkReply compile(const std::string& variant, const std::string& device = "cpu") {
    WorkRequest request;
    request.kind = WorkRequest::Kind::compile;
    request.id = 1;
    request.kernel = MGTUNE_SOURCE_DIR "/tests/families/vector_add";
    request.op = "vector_add.add";
    request.problem = "n=1000 T=f32";
    request.variant = variant;
    request.device = device;
    pool_.submit(request);
    Result<std::optional<WorkReply>> reply = pool_.next();
    EXPECT_TRUE(reply.ok()) << reply.status().message();
    return reply.ok() && reply->has_value() ? **reply : WorkReply();
  }

  const TemporaryFolder cache_;
  CompilePool pool_{{MGTUNE_PROGRAM, "worker", "compile"}, 1, std::chrono::seconds(60)};
};

TEST_F(CompileWorkerTest, TheArtifactIsInTheCache) {
  const WorkReply reply = compile("flat THREADS=64 MODE=good");
  ASSERT_EQ(reply.outcome, Outcome::ok) << reply.message;
  ASSERT_TRUE(reply.build.has_value());
  EXPECT_EQ(reply.build->key.size(), 64U);
  EXPECT_EQ(reply.build->sha256.size(), 64U);
  EXPECT_EQ(reply.build->arch, "cpu");
  EXPECT_EQ(reply.build->registers, -1);
  const std::optional<Build> build =
      BuildCache(FileSystem::real(), cache_.path()).load(reply.build->key);
  ASSERT_TRUE(build.has_value());
  EXPECT_EQ(build->sha256, reply.build->sha256);
}

TEST_F(CompileWorkerTest, WhatDoesNotCompileSaysWhere) {
  const WorkReply reply = compile("flat THREADS=64 MODE=broken");
  EXPECT_EQ(reply.outcome, Outcome::compile_failed);
  EXPECT_THAT(reply.message, HasSubstr("add.cu:17"));
  EXPECT_THAT(reply.message, HasSubstr("this variant is broken on purpose"));
  ASSERT_TRUE(reply.build.has_value());
  EXPECT_EQ(reply.build->key.size(), 64U);
  EXPECT_EQ(reply.build->sha256, "");
  EXPECT_EQ(reply.build->message, reply.message);
  EXPECT_EQ(compile("flat THREADS=64 MODE=good").outcome, Outcome::ok);
}

TEST_F(CompileWorkerTest, AWrongWordIsAFailureOfThatVariant) {
  EXPECT_THAT(compile("flat THREADS=63 MODE=good").message, HasSubstr("63"));
  const WorkReply reply = compile("flat THREADS=64 MODE=good", "GPU-0");
  EXPECT_EQ(reply.outcome, Outcome::compile_failed);
  EXPECT_EQ(reply.message, "no device GPU-0");
}

}  // namespace
}  // namespace mgtune
