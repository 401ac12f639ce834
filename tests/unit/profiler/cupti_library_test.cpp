#include "cupti/cupti_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "compiler/cuda_toolkit.h"
#include "tests/helpers/fakes/fake_gpu.h"

namespace mgtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class CuptiLibraryTest : public testing::Test {
 protected:
  void SetUp() override { gpu_.loader.asked_for.clear(); }
  void TearDown() override {
    ::unsetenv("MGTUNE_CUPTI_PATH");
    ::unsetenv("CUDA_HOME");
  }

  Status failure() {
    const Status status = open_cupti(gpu_.loader).status();
    EXPECT_EQ(status.code(), StatusCode::environment);
    return status;
  }

  FakeGpu gpu_;
  const std::string file_ = FakeCupti::file_name();
};

TEST_F(CuptiLibraryTest, Opens) {
  const Result<CuptiLibrary> cupti = open_cupti(gpu_.loader);
  ASSERT_TRUE(cupti.ok()) << cupti.status().message();
  EXPECT_EQ(cupti->path, file_);
  EXPECT_EQ(cupti->version, static_cast<std::uint32_t>(CUPTI_API_VERSION));
}

TEST_F(CuptiLibraryTest, LooksInOrder) {
  ::setenv("CUDA_HOME", "/opt/cuda", 1);
  gpu_.loader.libraries.erase(file_);
  EXPECT_THAT(failure().message(),
              StartsWith("no CUPTI: not found: /opt/cuda/extras/CUPTI/lib64/" + file_));
  std::vector<std::string> expected;
  for (const std::string& toolkit : cuda_toolkit_folders()) {
    for (const char* folder : {"/extras/CUPTI/lib64/", "/lib64/", "/lib/"}) {
      expected.push_back(toolkit + folder + file_);
    }
    if (toolkit == "/opt/cuda") expected.push_back(file_);
  }
  EXPECT_EQ(expected.back(), "/usr/local/cuda/lib/" + file_);
  EXPECT_EQ(gpu_.loader.asked_for, expected);
  EXPECT_THAT(failure().message(), HasSubstr("install it (package cuda-cupti)"));
}

TEST_F(CuptiLibraryTest, ANamedFileIsTheOnlyOne) {
  ::setenv("MGTUNE_CUPTI_PATH", "/my/libcupti.so", 1);
  EXPECT_THAT(failure().message(), StartsWith("no CUPTI: not found: /my/libcupti.so; "));
  gpu_.loader.libraries["/my/libcupti.so"] = gpu_.cupti.symbols();
  EXPECT_EQ(open_cupti(gpu_.loader)->path, "/my/libcupti.so");
}

TEST_F(CuptiLibraryTest, AnotherReleaseIsRefused) {
  gpu_.cupti.version = CUPTI_API_VERSION + 200;
  EXPECT_EQ(failure().message(),
            "CUPTI at " + file_ + " has API version " + std::to_string(CUPTI_API_VERSION + 200) +
                "; this mgtune reads the records of version " + std::to_string(CUPTI_API_VERSION) +
                ": set MGTUNE_CUPTI_PATH to that one");
}

TEST_F(CuptiLibraryTest, AnUpdateOfTheSameReleaseIsTaken) {
  if (CUPTI_API_VERSION < 130000) return;  // those versions have no updates
  gpu_.cupti.version = CUPTI_API_VERSION / 100 * 100 + 9;
  EXPECT_TRUE(open_cupti(gpu_.loader).ok());
}

TEST_F(CuptiLibraryTest, TheReleaseThatHangsIsRefused) {
  if (CUPTI_API_VERSION / 100 != 1300) return;  // another one is refused as another release
  gpu_.cupti.version = 130000;
  EXPECT_THAT(failure().message(), HasSubstr("can hang; install CUDA 13.0 Update 1 or newer"));
}

TEST_F(CuptiLibraryTest, NamesAMissingFunction) {
  gpu_.loader.libraries[file_].erase("cuptiSubscribe");
  EXPECT_EQ(failure().message(), file_ + " has no cuptiSubscribe");
}

TEST_F(CuptiLibraryTest, SaysThatAnotherToolHoldsIt) {
  const CuptiLibrary cupti = open_cupti(gpu_.loader).value();
  gpu_.cupti.subscribe_result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  const Status status = subscribe_to_cupti(cupti).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_EQ(
      status.message(),
      "another tool holds CUPTI (a debugger, Nsight or a framework's profiler): subscribing to "
      "CUPTI: CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED");
}

TEST_F(CuptiLibraryTest, ASubscriberGivesItsPlaceBackOnce) {
  const CuptiLibrary cupti = open_cupti(gpu_.loader).value();
  {
    Result<CuptiSubscriber> first = subscribe_to_cupti(cupti);
    ASSERT_TRUE(first.ok());
    const CuptiSubscriber moved = std::move(*first);
    EXPECT_TRUE(gpu_.cupti.subscribed);
    EXPECT_FALSE(subscribe_to_cupti(cupti).ok());
  }
  EXPECT_FALSE(gpu_.cupti.subscribed);
  EXPECT_TRUE(subscribe_to_cupti(cupti).ok());
}

}  // namespace
}  // namespace mgtune
