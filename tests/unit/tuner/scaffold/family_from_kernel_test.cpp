// What `mgtune new --from` writes for a kernel, and what it says of it.

#include "scaffold/family_from_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

Result<NewFamily> family_of(const std::string& text, const std::string& kernel = "") {
  return family_from_kernel(read_cuda_source("dir/kernel.cu", text), kernel, "family");
}

constexpr const char* kVectorAdd = R"(
#include <stdio.h>
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 192
#endif
#define UNUSED 4
extern "C" __global__ void vector_add(float* c, float* a, float* b, int n) {
  int i = blockIdx.x * BLOCK_SIZE + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
int main() { vector_add<<<4, BLOCK_SIZE>>>(0, 0, 0, 4); }
)";

TEST(FamilyFromKernelTest, GuardedMacrosAreTunablesAndHostCodeIsLeftOut) {
  const Result<NewFamily> family = family_of(kVectorAdd);
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_EQ(family->operator_name, "vector_add");
  ASSERT_EQ(family->files.size(), 3U);
  EXPECT_EQ(family->files[0].name, "vector_add.json");
  EXPECT_THAT(
      family->files[0].content,
      AllOf(HasSubstr(R"("BLOCK_SIZE": [64, 128, 192, 256])"),
            HasSubstr(R"("defines": {"BLOCK_SIZE": "BLOCK_SIZE"})"),
            HasSubstr(R"("kernel": "vector_add")"), HasSubstr(R"x(["ceil_div(n, BLOCK_SIZE)"])x"),
            HasSubstr(R"("args": ["c", "a", "b", "n:i32"])"), HasSubstr(R"("c": {"role": "out")"),
            HasSubstr(R"("a": {"role": "in")"), HasSubstr(R"([{"BLOCK_SIZE": 192}])"),
            Not(HasSubstr("UNUSED"))));
  EXPECT_EQ(family->files[1].name, "kernel.cu");
  EXPECT_THAT(family->files[1].content, AllOf(HasSubstr("vector_add(float* c"),
                                              Not(HasSubstr("main")), Not(HasSubstr("stdio"))));
  EXPECT_THAT(family->files[2].content,
              HasSubstr("vector_add_reference(double* c, const float* a"));
  EXPECT_THAT(family->guesses, Contains(HasSubstr("main() (line 11)")));
  EXPECT_THAT(family->to_decide.front(), HasSubstr("reference.cu"));
}

TEST(FamilyFromKernelTest, NamesThatNothingDefinesAreTunablesOrStaticDims) {
  const Result<NewFamily> family = family_of(R"(
__global__ void blur(const float* in, float* out) {
  const int x = blockIdx.x * block_size_x + threadIdx.x, y = blockIdx.y * block_size_y + threadIdx.y;
  float sum = 0.0f;
  for (int i = 0; i < filter_width; i++) sum += in[y * image_width + x + i];
  if (y < image_height) out[y * image_width + x] = sum;
})");
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_THAT(
      family->files[0].content,
      AllOf(HasSubstr(R"("image_width": "static")"), HasSubstr(R"("filter_width": "static")"),
            HasSubstr(R"("params": {"block_size_x": [16, 32, 64], "block_size_y": [2, 4, 8]})"),
            HasSubstr("\"ceil_div(image_height, block_size_y)\""),
            HasSubstr(R"("block": ["block_size_x", "block_size_y"])")));
}

// As in Kernel Tuner's convolution: the input is larger than the image by the filter.
TEST(FamilyFromKernelTest, ATensorHasTheSizeThatItsMacrosSay) {
  const Result<NewFamily> family = family_of(R"(
#ifndef image_height
#define image_height 4096
#endif
#ifndef image_width
#define image_width 4096
#endif
#ifndef filter_height
#define filter_height 17
#endif
#ifndef filter_width
#define filter_width 17
#endif
#define border_height ((filter_height/2)*2)
#define border_width ((filter_width/2)*2)
#define input_height (image_height + border_height)
#define input_width (image_width + border_width)
__global__ void convolution(float* output, const float* input, const float* filter) {
  const int x = blockIdx.x * block_size_x + threadIdx.x, y = blockIdx.y * block_size_y + threadIdx.y;
  float sum = 0.0f;
  for (int i = 0; i < filter_height; i++)
    for (int j = 0; j < filter_width; j++)
      sum += input[(y + i) * input_width + x + j] * filter[i * filter_width + j];
  if (y < image_height && x < image_width) output[y * image_width + x] = sum;
})");
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_THAT(
      family->files[0].content,
      AllOf(
          HasSubstr(R"("filter_height": "static")"),
          HasSubstr(
              R"x("input": {"role": "in", "dtype": "f32", "shape": )x"
              R"x(["(image_height + ((filter_height/2)*2))", "(image_width + ((filter_width/2)*2))"])x"),
          HasSubstr(
              R"("filter": {"role": "in", "dtype": "f32", "shape": ["filter_height", "filter_width"])"),
          HasSubstr(
              R"("output": {"role": "out", "dtype": "f32", "shape": ["image_height", "image_width"])")));
}

// A header might define any name, but without its sizes a tensor has no shape.
TEST(FamilyFromKernelTest, SizesOfConstantMemoryAreDimsBesideHeadersToo) {
  const Result<NewFamily> family = family_of(R"(
#include "detail/tile.h"
__constant__ float d_filter[filter_height * 3];
extern "C" __global__ void blur(float* out, const float* in) {
  out[threadIdx.x] = in[threadIdx.x] * d_filter[threadIdx.x % filter_height] + OTHER;
})");
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_THAT(family->files[0].content,
              AllOf(HasSubstr(R"("filter_height": "static")"),
                    HasSubstr(R"("shape": ["filter_height*3"])"), Not(HasSubstr(R"("OTHER")"))));
}

// Macros that name each other in a circle, or something that is no dim, say nothing.
TEST(FamilyFromKernelTest, MacrosThatAreNoSizesAreNotUsed) {
  for (const char* const height : {"input_width", "(image_height + unknown)", "sizeof(float)"}) {
    const Result<NewFamily> family = family_of(std::string("#define input_height ") + height + R"(
#define input_width input_height
__global__ void copy(float* output, const float* input) {
  const int x = blockIdx.x * block_size_x + threadIdx.x, y = blockIdx.y * block_size_y + threadIdx.y;
  if (y < image_height && x < image_width) output[y * image_width + x] = input[y * image_width + x];
})");
    ASSERT_TRUE(family.ok()) << family.status().message();
    EXPECT_THAT(
        family->files[0].content,
        HasSubstr(
            R"("input": {"role": "in", "dtype": "f32", "shape": ["image_height", "image_width"])"))
        << height;
  }
}

// As in Kernel Tuner's convolution: sizes are macros, and the filter is in constant memory.
TEST(FamilyFromKernelTest, ConstantMemoryIsATensorAndSizesWithoutParametersAreStaticDims) {
  const Result<NewFamily> family = family_of(R"(
#define image_width 4096
#define filter_width 17
#define WARP_SIZE 32
__constant__ float d_filter[filter_width * WARP_SIZE];
__global__ void convolution(float* output, float* filter) {
  const int x = blockIdx.x * block_size_x + threadIdx.x;
  if (x < image_width) output[x] = d_filter[x % filter_width] + WARP_SIZE;
})");
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_THAT(
      family->files[0].content,
      AllOf(HasSubstr(R"("dims": {"image_width": "static", "filter_width": "static"})"),
            HasSubstr(R"("d_filter": {"role": "in", "dtype": "f32", "shape": ["filter_width*32"])"),
            HasSubstr(R"("constants": {"d_filter": "d_filter"})"),
            HasSubstr(R"("filter": {"role": "in", "dtype": "f32", "shape": ["filter_width"])"),
            HasSubstr(R"("args": ["output", "filter"])"),
            HasSubstr(R"("default": [{"image_width": 4096, "filter_width": 17}])"),
            Not(HasSubstr(R"("WARP_SIZE": )"))));
  // The compiler gets the sizes by -D, so the copy must not define them again.
  EXPECT_THAT(family->files[1].content,
              AllOf(HasSubstr("#define WARP_SIZE 32"), Not(HasSubstr("#define image_width"))));
}

// NVRTC has no <math.h>. The include takes the line of one that is left out, so lines stay.
TEST(FamilyFromKernelTest, NamesOfLimitsComeFromAHeaderForDevices) {
  const std::string kernel = "__global__ void f(float* y, int n) { y[0] = -INFINITY; }\n";
  const auto text_of = [](const std::string& source) {
    const Result<NewFamily> family = family_of(source);
    EXPECT_TRUE(family.ok()) << family.status().message();
    return family->files[1].content;
  };
  EXPECT_EQ(text_of("#include <math.h>\n#include <stdio.h>\n" + kernel),
            "#include <mg/limits.cuh>\n\n" + kernel);
  EXPECT_EQ(text_of(kernel), "#include <mg/limits.cuh>\n" + kernel);
  const std::string without = "__global__ void f(float* y, int n) { y[0] = 1; }\n";
  EXPECT_EQ(text_of("#include <math.h>\n" + without), "\n" + without);
}

TEST(FamilyFromKernelTest, ASwitchHasTheValuesThatTheSourceComparesItWith) {
  const Result<NewFamily> family = family_of(R"(
#ifndef METHOD
#define METHOD 0
#endif
#ifndef use_trick
#define use_trick 0
#endif
template <int MODE>
__global__ void f(const float* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if METHOD == 0
  if (i < n) y[i] = x[i] > 1;
#elif METHOD == 1
  if (i < n) y[i] = x[i] > 2;
#else
  if (i < n) y[i] = x[i] > 3;
#endif
#if use_trick == 2
  y[i] += 1;
#endif
  if constexpr (MODE == 7) y[i] = 7;
}
)");
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_THAT(family->files[0].content,
              AllOf(HasSubstr("\"METHOD\": [0, 1, 2]"), HasSubstr("\"use_trick\": [0, 1, 2]"),
                    HasSubstr("\"MODE\": [1, 7]")));
  EXPECT_THAT(family->to_decide, Contains(HasSubstr("y: integers. If comparisons")));
}

TEST(FamilyFromKernelTest, DynamicSharedMemoryIsThatOfTheHeader) {
  const Result<NewFamily> family = family_of(R"(#include <cmath>
#include <cfloat>
template <class T>
__global__ void f(const T* x, T* y, int n) {
  extern __shared__ __align__(16) unsigned char bytes[];
  y[threadIdx.x] = FLT_MAX;
}
)");
  ASSERT_TRUE(family.ok()) << family.status().message();
  EXPECT_THAT(family->files[1].content,
              AllOf(HasSubstr("#include <mg/limits.cuh>\n#include <mg/shared.cuh>\ntemplate"),
                    HasSubstr("  unsigned char* bytes = mg::dynamic_shared<unsigned char>();\n"),
                    Not(HasSubstr("extern"))));
  EXPECT_THAT(family->files[0].content, HasSubstr("\"shared\": \"THREADS * 1\""));
  EXPECT_THAT(family->to_decide, Contains(HasSubstr("shared: THREADS * 1 bytes")));

  const Result<NewFamily> outside = family_of(
      "extern __shared__ float all[];\n__global__ void f(float* y, int n) { y[0] = all[0]; }\n");
  ASSERT_TRUE(outside.ok()) << outside.status().message();
  EXPECT_THAT(outside->files[1].content, HasSubstr("extern __shared__ float all[];"));
  EXPECT_THAT(outside->to_decide, Contains(HasSubstr("line 1: extern __shared__. Replace it")));
}

TEST(FamilyFromKernelTest, APointerThatIsReadFirstIsInout) {
  const auto role = [](const std::string& body) {
    const Result<NewFamily> family = family_of("__global__ void f(float* y, int n) {" + body + "}");
    EXPECT_TRUE(family.ok()) << family.status().message();
    const std::string& text = family->files[0].content;
    return text.find("\"y\": {\"role\": \"inout\"") != std::string::npos ? "inout" : "out";
  };
  EXPECT_STREQ(role("y[0] += 1;"), "inout");
  EXPECT_STREQ(role("float a = y[0]; y[1] = a;"), "inout");
  EXPECT_STREQ(role("atomicAdd(&y[0], 1.0f);"), "inout");
  EXPECT_STREQ(role("y[0] = 1; float a = y[0];"), "out");
}

TEST(FamilyFromKernelTest, WhatIsNoKernelIsRefused) {
  const auto refused = [](const std::string& text, const std::string& kernel,
                          const std::string& why) {
    const Result<NewFamily> family = family_of(text, kernel);
    ASSERT_FALSE(family.ok()) << text;
    EXPECT_THAT(family.status().message(), AllOf(HasSubstr("dir/kernel.cu"), HasSubstr(why)));
  };
  refused("int main() {}", "", "there is no __global__ function");
  const std::string two =
      "__global__ void one(int* x) { x[0] = 1; }\n__global__ void two(int* x) {}";
  refused(two, "",
          "there are 2 kernels in this file. Choose one with --kernel: one (line 1), two (line 2)");
  refused(two, "twoo", "did you mean 'two'?");
  refused("__global__ void f(const float* x, int n) {}", "", "no pointer of f is written");
  EXPECT_TRUE(family_of(two, "one").ok());
}

}  // namespace
}  // namespace mgtune
