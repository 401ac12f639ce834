// What a build of arch "cpu-race" says about accesses out of bounds and reads of what nothing has
// written. race_checker_test.cpp has the races.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "tests/helpers/kernels/kernel_text_fixture.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

// Messages name lines of this text.
constexpr char kAccesses[] = R"(
#include <mg/shared.cuh>
#include <mg/vec.cuh>

__global__ void copies(float* out, const float* in, int first) {
  out[threadIdx.x] = in[first + (int)threadIdx.x];  // line 6
}

__global__ void copies_vectors(float* out, const float* in, int first) {
  mg::store<4>(out, mg::load<4>(in + first));  // line 10
}

__global__ void writes_static(float* out, int index) {
  MG_SHARED(float, left, [8]);
  MG_SHARED(float, right, [8]);
  if (threadIdx.x < 8) left[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) right[index] = 2;  // line 18
  out[threadIdx.x] = left[threadIdx.x % 8];
}

__global__ void writes_dynamic(float* out, int index) {
  float* const values = mg::dynamic_shared<float>();
  if (threadIdx.x == 0) values[index] = 2;  // line 24
  out[threadIdx.x] = 1;
}

__global__ void reads_unwritten(float* out, int writers) {
  MG_SHARED(float, values, [32]);
  if (threadIdx.x < writers) values[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = values[31 - threadIdx.x];  // line 32
}

__global__ void adds_to(float* out) {
  out[threadIdx.x] += 1;  // line 36
}
)";

class AccessChecker : public KernelTextTest<> {
 protected:
  static void SetUpTestSuite() {
    if (kIsThreadSanitized) return;
    build_kernels(kAccesses,
                  {"copies", "copies_vectors", "writes_static", "writes_dynamic", "reads_unwritten",
                   "adds_to"},
                  "cpu-race");
  }

  void SetUp() override {
    if (kIsThreadSanitized) GTEST_SKIP() << "libtsan has the hooks' names";
  }

  // 64 floats, of which the middle 32 are labelled.
  struct Labelled {
    HostArray<float> array{kernels->device(), 64};
    explicit Labelled(const char* name) {
      kernels->device().label_memory(data(), 32 * sizeof(float), {name, sizeof(float)});
    }
    float* data() const { return array.data() + 16; }
  };

  template <class... Args>
  static std::string failure(const std::string& kernel, std::uint32_t shared_bytes, Args... args) {
    const Status status = kernels->launch(kernel, {{1, 1, 1}, {32, 1, 1}, shared_bytes}, args...);
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::launch_failed);
    return status.message();
  }

  static constexpr bool kIsThreadSanitized =
      std::string_view(MGTUNE_SANITIZE).find("thread") != std::string_view::npos;
};

TEST_F(AccessChecker, NamesTheBufferAndTheElementOnBothSides) {
  const Labelled x("x"), y("y");
  const auto copy = [&](int first) {
    return failure("copies", 0, y.data(), static_cast<const float*>(x.data()), first);
  };
  EXPECT_EQ(copy(0), "");
  EXPECT_EQ(copy(1),
            "block (0,0,0): thread (31,0,0) reads element 32 of x, which has 32 elements, at "
            "test.cu:6");
  EXPECT_EQ(copy(-1),
            "block (0,0,0): thread (0,0,0) reads element -1 of x, which has 32 elements, at "
            "test.cu:6");
}

TEST_F(AccessChecker, JudgesEachByteOfAVector) {
  const Labelled x("x"), y("y");
  const auto copy = [&](int first) {
    return failure("copies_vectors", 0, y.data(), static_cast<const float*>(x.data()), first);
  };
  EXPECT_EQ(copy(28), "");
  EXPECT_THAT(copy(32), HasSubstr("reads element 32 of x"));
}

TEST_F(AccessChecker, SeesTheGapsBetweenSharedArrays) {
  const HostArray<float> out(kernels->device(), 32);
  EXPECT_EQ(failure("writes_static", 0, out.data(), 7), "");
  EXPECT_EQ(failure("writes_static", 0, out.data(), 8),
            "block (0,0,0): thread (0,0,0) writes element 8 of shared array right, which has 8 "
            "elements, at test.cu:18");
  EXPECT_THAT(failure("writes_static", 0, out.data(), -1), HasSubstr("element -1 of shared array"));
  EXPECT_EQ(failure("writes_dynamic", 128, out.data(), 31), "");
  EXPECT_EQ(failure("writes_dynamic", 128, out.data(), 32),
            "block (0,0,0): thread (0,0,0) writes byte 128 of dynamic shared memory, which "
            "has 128 bytes, at test.cu:24");
}

TEST_F(AccessChecker, RefusesUnwrittenReadsOnlyWhenAsked) {
  const HostArray<float> out(kernels->device(), 32);
  EXPECT_EQ(failure("reads_unwritten", 0, out.data(), 31), "");
  kernels->device().refuse_unwritten_reads(true);
  EXPECT_EQ(failure("reads_unwritten", 0, out.data(), 32), "");
  EXPECT_EQ(failure("reads_unwritten", 0, out.data(), 31),
            "block (0,0,0): thread (0,0,0) reads element 31 of shared array values, which nothing "
            "has written, at test.cu:32");
  kernels->device().refuse_unwritten_reads(false);
}

TEST_F(AccessChecker, KnowsWhatOfABufferWasWritten) {
  Device& device = kernels->device();
  const Labelled y("y");
  device.refuse_unwritten_reads(true);
  EXPECT_EQ(failure("adds_to", 0, y.data()), "");
  ASSERT_TRUE(device.fill_bytes(y.data(), 0xff, 128, nullptr).ok());
  device.mark_unwritten(y.data(), 128);
  EXPECT_EQ(failure("adds_to", 0, y.data()),
            "block (0,0,0): thread (0,0,0) reads element 0 of y, which nothing has written, at "
            "test.cu:36");
  ASSERT_TRUE(device.fill_bytes(y.data(), 0, 128, nullptr).ok());
  EXPECT_EQ(failure("adds_to", 0, y.data()), "");
  device.refuse_unwritten_reads(false);
}

}  // namespace
}  // namespace mgtune
