// The real compile worker, driven as a sweep drives it.

#include "compile/compile_worker.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "build/build_cache.h"
#include "compile/compile_pool.h"
#include "system/file_system.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kTarget[] = R"({"id": "cpu", "arch": "cpu", "compute_capability": 90,
    "sm_count": 1, "max_shared_bytes": 232448, "l2_bytes": 1000000})";

class CompileWorkerTest : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("MGTUNE_CACHE_DIR", cache_.path().c_str(), 1); }

  WorkReply compile(const std::string& variant, const std::vector<std::string>& others = {}) {
    const Result<std::optional<WorkReply>> reply = submit(variant, "cpu", others);
    EXPECT_TRUE(reply.ok()) << reply.status().message();
    return reply.ok() && reply->has_value() ? **reply : WorkReply();
  }

  Status failure(const std::string& variant, const std::string& device = "cpu") {
    return submit(variant, device).status();
  }

  // A compiler that says its version and otherwise does `action`.
  std::string script(const std::string& action) const {
    const std::string path = cache_.file("compiler");
    std::ofstream(path)
        << "#!/bin/sh\nfor word; do [ \"$word\" = --version ] && exec c++ --version; "
           "done\n"
        << action << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  Result<std::optional<WorkReply>> submit(const std::string& variant, const std::string& device,
                                          const std::vector<std::string>& others = {}) {
    const NamedProblem problem{source_path("tests/families/vector_add"), "vector_add.add",
                               "n=1000 T=f32"};
    pool_->submit({1, CompileRequest{{problem, variant}, device, others}});
    return wait_for_next(*pool_);
  }

  const TestFolder cache_;
  std::optional<CompilePool> pool_{
      std::in_place, std::vector<std::string>{mgtune_path(), "worker", "compile", kTarget}, 1,
      std::chrono::seconds(60)};
};

// The worker's own warning goes nowhere.
TEST_F(CompileWorkerTest, ABuildThatTheCacheCannotKeepIsReported) {
  std::filesystem::permissions(cache_.path(), std::filesystem::perms::all);
  const WorkReply reply = compile("flat THREADS=64 MODE=good");
  EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
  EXPECT_EQ(reply.not_cached, cache_.path() + " can be written by other users");
  std::filesystem::permissions(cache_.path(), std::filesystem::perms::owner_all);
  EXPECT_EQ(compile("flat THREADS=32 MODE=good").not_cached, "");
}

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
  EXPECT_GT(reply.compile_seconds.value_or(0), 0);
  EXPECT_EQ(compile("flat THREADS=64 MODE=good").compile_seconds, std::nullopt)
      << "no compiler ran";
}

// The reply is about the first one alone, whatever the others are.
TEST_F(CompileWorkerTest, OthersThatCannotBeBuiltAreTheirOwnConcern) {
  const WorkReply reply = compile("flat THREADS=64 MODE=good",
                                  {"flat THREADS=63 MODE=good", "no such design",
                                   "flat THREADS=64 MODE=broken", "flat THREADS=32 MODE=good"});
  EXPECT_EQ(reply.outcome, Outcome::ok) << reply.message;
  EXPECT_GT(reply.compile_seconds.value_or(0), 0);
  EXPECT_EQ(compile("flat THREADS=64 MODE=broken").outcome, Outcome::compile_failed);
  EXPECT_EQ(compile("flat THREADS=32 MODE=good").outcome, Outcome::ok);
}

// NVRTC makes one program of the kernels of all variants. The cpu device's compiler does not.
TEST_F(CompileWorkerTest, OthersOfAGpuAreCompiledWithTheFirst) {
  constexpr char kGpu[] = R"({"id": "cpu", "arch": "sm_90", "compute_capability": 90,
      "sm_count": 132, "max_shared_bytes": 232448, "l2_bytes": 50000000})";
  pool_.emplace(std::vector<std::string>{mgtune_path(), "worker", "compile", kGpu}, 1,
                std::chrono::seconds(60));
  const std::string good = "flat THREADS=64 MODE=good", other = "flat THREADS=32 MODE=good";
  const WorkReply together = compile(good, {other});
  EXPECT_EQ(together.outcome, Outcome::ok) << together.message;
  EXPECT_GT(together.compile_seconds.value_or(0), 0);
  const WorkReply from_cache = compile(other);
  EXPECT_EQ(from_cache.outcome, Outcome::ok) << from_cache.message;
  EXPECT_EQ(from_cache.compile_seconds, std::nullopt) << "no compiler ran";
  ASSERT_TRUE(together.build && from_cache.build);
  EXPECT_NE(together.build->sha256, from_cache.build->sha256);

  // One that does not compile keeps no other from compiling.
  const WorkReply beside = compile("flat THREADS=128 MODE=good", {"flat THREADS=128 MODE=broken"});
  EXPECT_EQ(beside.outcome, Outcome::ok) << beside.message;
  EXPECT_EQ(compile("flat THREADS=128 MODE=broken").outcome, Outcome::compile_failed);
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

TEST_F(CompileWorkerTest, AWrongWordIsNoVariantsFailure) {
  EXPECT_EQ(failure("flat THREADS=63 MODE=good").code(), StatusCode::invalid_argument);
  const Status status = failure("flat THREADS=64 MODE=good", "GPU-0");
  EXPECT_EQ(status.code(), StatusCode::internal);
  EXPECT_THAT(status.message(), StartsWith("no device GPU-0\n"));
  EXPECT_EQ(compile("flat THREADS=64 MODE=good").outcome, Outcome::ok);
}

// As many compilers as cores run, and a measure worker must not wait for one of these.
TEST_F(CompileWorkerTest, CompilersGiveWay) {
  const std::string niceness = cache_.file("niceness");
  const Variable cxx("CXX", script("nice > " + niceness + "\nexec c++ \"$@\""));
  EXPECT_EQ(compile("flat THREADS=64 MODE=good").outcome, Outcome::ok);
  int of_compiler = 0;
  std::ifstream(niceness) >> of_compiler;
  EXPECT_EQ(of_compiler, std::min(19, ::getpriority(PRIO_PROCESS, 0) + 10));
}

TEST_F(CompileWorkerTest, ACompilerThatIsKilledSaysNothingOfTheVariant) {
  const Variable cxx("CXX", script("kill -9 $$"));
  const Status status = failure("flat THREADS=64 MODE=good");
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("the compiler was ended by signal 9 (Killed)"));
}

TEST_F(CompileWorkerTest, AFullDiskSaysNothingOfTheVariant) {
  const Variable cxx("CXX", script("echo 'cc1plus: fatal error: error writing to /tmp/x.s: "
                                   "No space left on device' >&2; exit 1"));
  const Status status = failure("flat THREADS=64 MODE=good");
  EXPECT_EQ(status.code(), StatusCode::io);
  EXPECT_THAT(status.message(), HasSubstr("No space left on device"));
}

TEST_F(CompileWorkerTest, ATemporaryFolderThatIsNotThereSaysNothingOfTheVariant) {
  const Variable folder("TMPDIR", "/nowhere");
  const Status status = failure("flat THREADS=64 MODE=good");
  EXPECT_EQ(status.code(), StatusCode::io);
  EXPECT_THAT(status.message(), HasSubstr("/nowhere"));
}

TEST_F(CompileWorkerTest, AMissingCompilerSaysNothingOfTheVariant) {
  const Variable cxx("CXX", "/nowhere/g++");
  EXPECT_EQ(failure("flat THREADS=64 MODE=good").code(), StatusCode::environment);
}

TEST_F(CompileWorkerTest, WhatTheMachineDidOnceIsNotSeen) {
  const std::string mark = cache_.file("killed-once");
  const Variable cxx("CXX", script("[ -e " + mark + " ] || { touch " + mark + "; kill -9 $$; }\n" +
                                   "exec c++ \"$@\""));
  EXPECT_EQ(compile("flat THREADS=64 MODE=good").outcome, Outcome::ok);
  EXPECT_TRUE(FileSystem::real().exists(mark));
}

// NVRTC opens the driver by this name, and would start it in every process.
TEST(AbsentDriver, WhoOpensTheDriverIsToldThatThereIsNoGpu) {
  const auto says_no_device = [] {
    keep_driver_out();
    void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == nullptr) return false;
    const auto init = reinterpret_cast<int (*)(unsigned int)>(::dlsym(driver, "cuInit"));
    return init != nullptr && init(0) == 100;
  };
  // In a process of its own, which then has no driver.
  EXPECT_EXIT(::_exit(says_no_device() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mgtune
