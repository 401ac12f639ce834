// The signatures that `mgtune new --from` reads, and the parameters that it refuses.

#include "scaffold/kernel_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mgtune {
namespace {

using ::testing::HasSubstr;

Result<KernelSignature> signature_of(const std::string& text) {
  const CudaSource source = read_cuda_source("kernel.cu", text);
  const std::vector<KernelPlace> kernels = find_kernels(source);
  if (kernels.size() != 1) return invalid_argument(std::to_string(kernels.size()) + " kernels");
  return read_signature(source, kernels.front());
}

TEST(KernelSignatureTest, QualifiersCommentsAndAttributesDoNotMatter) {
  const Result<KernelSignature> read = signature_of(R"(
    // __global__ void not_this_one(int n) {}
    __global__ void declared_only(int n);
    extern "C" __global__ void __launch_bounds__(256, 2) /* a comment, with a comma */
    scale(const float* __restrict__ x, float *y /* the output */, unsigned long long n = 4,
          __nv_bfloat16 const * const w, const double factor, std::int32_t values[]) { if (n) {} }
  )");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->name, "scale");
  ASSERT_EQ(read->parameters.size(), 6U);
  const std::vector<KernelParameter>& parameters = read->parameters;
  EXPECT_EQ(parameters[0].name, "x");
  EXPECT_TRUE(parameters[0].pointer && parameters[0].constant);
  EXPECT_TRUE(parameters[1].pointer && !parameters[1].constant);
  EXPECT_EQ(parameters[2].name, "n");
  EXPECT_EQ(parameters[2].dtype, DType::u64);
  EXPECT_EQ(parameters[3].dtype, DType::bf16);
  EXPECT_TRUE(parameters[3].pointer && parameters[3].constant);
  EXPECT_EQ(parameters[4].dtype, DType::f64);
  EXPECT_FALSE(parameters[4].pointer);
  EXPECT_EQ(parameters[5].dtype, DType::i32);
  EXPECT_TRUE(parameters[5].pointer);
}

TEST(KernelSignatureTest, TemplatesHaveTypesIntegersAndBools) {
  const Result<KernelSignature> read = signature_of(
      "template <typename T, int BLOCK = (1 > 0 ? 128 : 64), bool FAST = false>\n"
      "__global__ void add(const T* x, float4* y, int n) {}");
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->template_parameters.size(), 3U);
  EXPECT_EQ(read->template_parameters[0].kind, TemplateParameter::Kind::type);
  EXPECT_EQ(read->template_parameters[1].name, "BLOCK");
  EXPECT_EQ(read->template_parameters[2].kind, TemplateParameter::Kind::boolean);
  EXPECT_EQ(read->template_parameters[2].fallback, "false");
  EXPECT_EQ(read->parameters[0].type_variable, "T");
  EXPECT_EQ(read->parameters[1].lanes, 4);
}

TEST(KernelSignatureTest, ARefusalNamesFileLineAndParameter) {
  const auto refused = [](const std::string& parameter, const std::string& why) {
    const Result<KernelSignature> read =
        signature_of("__global__ void f(float* y,\n" + parameter + ") {}");
    ASSERT_FALSE(read.ok()) << parameter;
    EXPECT_EQ(read.status().code(), StatusCode::unsupported);
    EXPECT_THAT(read.status().message(), HasSubstr("kernel.cu:2: parameter 2 of f, '"));
    EXPECT_THAT(read.status().message(), HasSubstr(why)) << parameter;
  };
  refused("float** x", "is a pointer to pointers");
  refused("const int& n", "is a reference");
  refused("Params p", "A struct cannot be passed");
  refused("cudaTextureObject_t t", "is a texture");
  refused("short* x", "16-bit integers");
  refused("float4 v", "a vector by value");
}

TEST(KernelSignatureTest, KernelsAreFoundWithTheirLines) {
  const CudaSource source = read_cuda_source("k.cu",
                                             "__global__ void a(int* x) {}\nvoid __global__ b(int* "
                                             "x) { { } }\nstatic __device__ int c();\n");
  const std::vector<KernelPlace> kernels = find_kernels(source);
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[1].name, "b");
  EXPECT_EQ(kernels[1].line, 2);
}

}  // namespace
}  // namespace mgtune
