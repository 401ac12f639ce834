#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compiler.h"
#include "compiler/debug_build.h"
#include "compiler/ptx_entries.h"
#include "compiler/ptxas_report.h"

namespace mgtune {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr char kSource[] = R"(
#include <mg/vec.cuh>
#include "scale.cuh"
template <typename T, int N>
__global__ void __launch_bounds__(64) scaled(T* out, const T* in, float by) {
  __shared__ float held[100];
  held[threadIdx.x] = mg::to_float(in[threadIdx.x]);
  __syncthreads();
  const float value = held[(threadIdx.x * 7) % 64];
  if (threadIdx.x < N) out[threadIdx.x] = mg::from_float<T>(scale(value, by));
}
)";
constexpr char kScale[] = "__device__ inline float scale(float x, float by) { return x * by; }\n";

SourceTree tree(const std::string& source = kSource) {
  return {"kernels/test", {{"scaled.cu", source}, {"scale.cuh", kScale}}};
}

Result<Build> compile(const SourceTree& sources, const std::string& arch,
                      std::vector<std::string> kernels = {"scaled<__nv_bfloat16, 32>"}) {
  MGTUNE_ASSIGN(const std::unique_ptr<Compiler> compiler, make_nvrtc_compiler(arch));
  return compiler->compile({&sources, "scaled.cu", std::move(kernels), arch});
}

class NvrtcEveryArch : public testing::TestWithParam<const char*> {};

TEST_P(NvrtcEveryArch, CompilesToACubin) {
  const SourceTree sources = tree();
  const Result<Build> build = compile(sources, GetParam());
  ASSERT_TRUE(build.ok()) << build.status().message();
  EXPECT_EQ(build->arch, GetParam());
  EXPECT_THAT(build->binary, StartsWith("\x7f"
                                        "ELF"));
  EXPECT_EQ(build->sha256.size(), 64U);
  EXPECT_EQ(build->key.size(), 64U);
  ASSERT_EQ(build->kernels.size(), 1U);
  const BuildKernel& kernel = build->kernels.front();
  EXPECT_EQ(kernel.name, "scaled<__nv_bfloat16, 32>");
  EXPECT_THAT(kernel.symbol, StartsWith("_Z6scaled"));
  EXPECT_GT(kernel.registers, 4);
  EXPECT_LT(kernel.registers, 64);
  EXPECT_EQ(kernel.spill_bytes, 0);
  EXPECT_EQ(kernel.static_shared_bytes, 400);
  const std::string ptx =
      compile_to_ptx({&sources, "scaled.cu", {kernel.name}, build->arch}).value();
  EXPECT_EQ(build->ptx_bytes, parse_ptx(ptx).at(0).bytes);
}

INSTANTIATE_TEST_SUITE_P(Targets, NvrtcEveryArch,
                         testing::Values("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a",
                                         "sm_120"));

// The kernel's headers define no more of half than conversions. These sources need more of CUDA.
TEST(NvrtcCompiler, CompilesSourcesThatNeedMoreOfCuda) {
  for (const char* source : {"#include <mg/vec.cuh>\n#include <cuda_fp16.h>\n"
                             "__global__ void one(__half* x) { *x = __hadd(*x, *x); }\n",
                             "#include <cuda_fp16.h>\n#include <mg/vec.cuh>\n"
                             "__global__ void one(__half* x) { *x = __hadd(*x, *x); }\n",
                             "#include <mg/vec.cuh>\n"
                             "__global__ void one(__nv_bfloat16* x) { *x = __hadd(*x, *x); }\n",
                             "__global__ void one(cudaTextureObject_t t, float* x) "
                             "{ *x = tex1Dfetch<float>(t, 0); }\n"}) {
    const SourceTree sources = {"kernels/test", {{"one.cu", source}}};
    const auto compiler = make_nvrtc_compiler("sm_90a");
    ASSERT_TRUE(compiler.ok()) << compiler.status().message();
    for (int time = 0; time < 2; ++time) {  // the second time with all of CUDA at once
      const Result<Build> build = (*compiler)->compile({&sources, "one.cu", {"one"}, "sm_90a"});
      EXPECT_TRUE(build.ok()) << source << build.status().message();
    }
  }
}

// With implicit conversions to float, this would compile as a sum of floats.
TEST(NvrtcCompiler, ASumOfHalvesIsCudasSumOfHalves) {
  const SourceTree sources = {
      "kernels/test",
      {{"one.cu", "#include <mg/vec.cuh>\n__global__ void one(__half* x) { *x = *x + x[1]; }\n"}}};
  const Result<std::string> ptx = compile_to_ptx({&sources, "one.cu", {"one"}, "sm_90a"});
  ASSERT_TRUE(ptx.ok()) << ptx.status().message();
  EXPECT_THAT(*ptx, HasSubstr("add.f16"));
}

// A kernel with a static array that others have too, beside one with two, does not go together.
TEST(NvrtcCompiler, WhatDependsOnOthersIsNotCompiledTogether) {
  const SourceTree sources = {
      "kernels/test",
      {{"one.cu",
        "__device__ float* first() { __shared__ float x[32]; return x; }\n"
        "__device__ float* second() { __shared__ float x[32]; return x; }\n"
        "template <int N> __global__ void a(float* y) { first()[threadIdx.x] = y[N]; "
        "__syncthreads(); y[threadIdx.x] = first()[threadIdx.x ^ 1]; }\n"
        "template <int N> __global__ void b(float* y) { first()[threadIdx.x] = y[N]; "
        "second()[threadIdx.x] = y[N + 1]; __syncthreads(); "
        "y[threadIdx.x] = first()[threadIdx.x ^ 1] + second()[threadIdx.x ^ 2]; }\n"
        "template <int N> __global__ void c(float* y) { y[threadIdx.x] = N; }\n"}}};
  const auto compiler = make_nvrtc_compiler("sm_90a");
  ASSERT_TRUE(compiler.ok()) << compiler.status().message();
  std::vector<BuildRequest> requests;
  for (const char* kernel : {"a<1>", "b<1>", "c<1>", "c<2>"}) {
    requests.push_back({&sources, "one.cu", {kernel}, "sm_90a"});
  }
  const auto builds = (*compiler)->compile_together(requests);
  ASSERT_EQ(builds.size(), 4U);
  EXPECT_FALSE(builds[0].has_value() && builds[1].has_value());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_TRUE(i < 2 || builds[i].has_value());
    if (!builds[i].has_value()) continue;
    EXPECT_EQ(builds[i]->binary, (*compiler)->compile(requests[i])->binary);
  }
  // A kernel that does not compile is nobody's build, and its failure is its own.
  requests.push_back({&sources, "one.cu", {"d<1>"}, "sm_90a"});
  for (const auto& build : (*compiler)->compile_together(requests)) EXPECT_FALSE(build.has_value());
  EXPECT_EQ((*compiler)->compile(requests.back()).status().code(), StatusCode::compile_failed);
}

std::vector<std::optional<Build>> together(const SourceTree& sources,
                                           const std::vector<std::string>& kernels,
                                           Compiler& compiler) {
  std::vector<BuildRequest> requests;
  for (const std::string& kernel : kernels) {
    requests.push_back({&sources, "one.cu", {kernel}, "sm_90a"});
  }
  return compiler.compile_together(requests);
}

SourceTree one_source(const std::string& text) { return {"kernels/test", {{"one.cu", text}}}; }

TEST(NvrtcCompiler, AFailureDoesNotKeepOthersFromGoingTogether) {
  const SourceTree sources = one_source(
      "template <int N> __global__ void k(int* x) { static_assert(N != 3, \"\"); *x = N; }\n");
  const auto compiler = make_nvrtc_compiler("sm_90a").value();
  const auto with_failure = together(sources, {"k<1>", "k<2>", "k<3>", "k<4>"}, *compiler);
  EXPECT_TRUE(with_failure[0] && with_failure[1]);
  EXPECT_FALSE(with_failure[2] || with_failure[3]);
  const auto later = together(sources, {"k<5>", "k<6>"}, *compiler);
  EXPECT_TRUE(later[0] && later[1]);
}

// A kernel that is no template is in every program of its source, so no build has one kernel.
TEST(NvrtcCompiler, KernelsThatAreNoTemplatesDoNotGoTogether) {
  const SourceTree sources = one_source(
      "template <int N> __global__ void k(int* x) { *x = N; }\n"
      "__global__ void plain(int* x) { *x = 7; }\n");
  const auto compiler = make_nvrtc_compiler("sm_90a").value();
  for (const auto& build : together(sources, {"k<1>", "k<2>", "plain"}, *compiler)) {
    EXPECT_TRUE(
        !build ||
        build->binary ==
            compiler->compile({&sources, "one.cu", {build->kernels[0].name}, "sm_90a"})->binary);
  }
}

// ptxas says so before it names a kernel.
TEST(NvrtcCompiler, AnObjectionIsNotLostInAGroup) {
  const SourceTree sources = one_source(
      "template <int N> __global__ void __launch_bounds__(128) k(int* x) {\n"
      "  if (N == 2) asm volatile(\"setmaxnreg.inc.sync.aligned.u32 232;\");\n"
      "  *x = N;\n}\n");
  const auto compiler = make_nvrtc_compiler("sm_90a").value();
  const auto alone = compiler->compile({&sources, "one.cu", {"k<2>"}, "sm_90a"});
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  ASSERT_NE(ptxas_objections(alone->log), "") << alone->log;
  const auto builds = together(sources, {"k<1>", "k<2>"}, *compiler);
  EXPECT_TRUE(!builds[1] || !ptxas_objections(builds[1]->log).empty());
}

// Through float, a double or an integer would be rounded twice.
TEST(NvrtcCompiler, ConversionsToHalfAreThoseOfCuda) {
  const SourceTree sources = one_source(
      "#include <mg/vec.cuh>\n"
      "__global__ void one(__half* x, __nv_bfloat16* y, double d, int i) {\n"
      "  x[0] = d;\n  y[0] = __nv_bfloat16(d);\n  y[1] = i;\n}\n");
  const Result<std::string> ptx = compile_to_ptx({&sources, "one.cu", {"one"}, "sm_90a"});
  ASSERT_TRUE(ptx.ok()) << ptx.status().message();
  for (const char* instruction : {"cvt.rn.f16.f64", "cvt.rn.bf16.f64", "cvt.rn.bf16.s32"}) {
    EXPECT_THAT(*ptx, HasSubstr(instruction));
  }
}

TEST(NvrtcCompiler, SaysForWhichArchitecturesItCompilesTogether) {
  for (const char* arch : {"sm_75", "sm_90", "sm_90a"}) EXPECT_TRUE(compiles_together(arch));
  for (const char* arch : {"sm_100", "sm_120a", "cpu", "cpu-race", "sm_"}) {
    EXPECT_FALSE(compiles_together(arch));
  }
}

TEST(NvrtcCompiler, EqualInputsGiveEqualCubins) {
  const SourceTree sources = tree();
  const Build first = compile(sources, "sm_90").value();
  const Build second = compile(sources, "sm_90").value();
  EXPECT_EQ(first.sha256, second.sha256);
  EXPECT_EQ(first.key, second.key);
  const Build other = compile(tree(std::string(kSource) + "\n// more"), "sm_90").value();
  EXPECT_EQ(other.sha256, first.sha256);  // the same code
  EXPECT_NE(other.key, first.key);        // from another source
}

TEST(NvrtcCompiler, KernelsStandInTheirOrderOnce) {
  const SourceTree sources = tree();
  const Build build =
      compile(sources, "sm_80", {"scaled<float, 8>", "scaled<__half, 4>", "scaled<float, 8>"})
          .value();
  ASSERT_EQ(build.kernels.size(), 2U);
  EXPECT_EQ(build.kernels[0].name, "scaled<float, 8>");
  EXPECT_EQ(build.kernels[1].name, "scaled<__half, 4>");
  EXPECT_NE(build.kernels[0].symbol, build.kernels[1].symbol);
}

TEST(NvrtcCompiler, SpillsAreReported) {
  const std::string source = R"(
__global__ void __launch_bounds__(1024, 2) scaled(float* a) {
  float held[64];
  for (int i = 0; i < 64; ++i) held[i] = a[i * 1024 + threadIdx.x];
  __syncthreads();
  for (int i = 0; i < 64; ++i) a[i * 1024 + threadIdx.x] = held[i] * held[(i + 7) % 64];
})";
  const SourceTree sources = tree(source);
  const Build build = compile(sources, "sm_80", {"scaled"}).value();
  EXPECT_EQ(build.kernels.front().registers, 32);
  EXPECT_GT(build.kernels.front().spill_bytes, 0);
}

// Two products into one accumulator, with `between` between them.
std::string products(const std::string& between, const std::string& before = "") {
  return R"(
#include <mg/shared.cuh>
#include <mg/wgmma.cuh>

using A = mg::PanelTile<__nv_bfloat16, 64, 64>;
using B = mg::PanelTile<__nv_bfloat16, 128, 64>;
__device__ __forceinline__ void multiply_once(float (&d)[64], const void* a, const void* b) {
  mg::wgmma<__nv_bfloat16, 128>(d, mg::k_major<A>(a, 0, 0), mg::k_major<B>(b, 0, 0), true);
}
)" + before +
         R"(
__global__ void __launch_bounds__(128) scaled(const float* x, float* y) {
  MG_SHARED(__nv_bfloat16, a, [64 * 64]);
  MG_SHARED(__nv_bfloat16, b, [128 * 64]);
  float d[64];
  for (int i = 0; i < 64; ++i) d[i] = x[i * 128 + threadIdx.x];
  mg::wgmma_fence();
  multiply_once(d, a, b);
)" + between +
         R"(
  multiply_once(d, a, b);
  mg::wgmma_commit();
  mg::wgmma_wait<0>(d);
  for (int i = 0; i < 64; ++i) y[i * 128 + threadIdx.x] = d[i];
})";
}

std::string objections_to(const std::string& source, const std::string& arch = "sm_90a") {
  const SourceTree sources = tree(source);
  const Result<Build> build = compile(sources, arch, {"scaled"});
  EXPECT_TRUE(build.ok()) << build.status().message();
  return build.ok() ? ptxas_objections(build->log) : "does not compile";
}

TEST(NvrtcCompiler, TheLogSaysWhereProductsDoNotOverlap) {
  EXPECT_EQ(objections_to(products("")), "");
  EXPECT_THAT(objections_to(products("for (int i = 0; i < 64; ++i) d[i] += x[i];")),
              HasSubstr("warpgroup.wait is injected"));
  EXPECT_THAT(
      objections_to(products("multiply(d, a, b);",
                             "__device__ __noinline__ void multiply(float (&d)[64], void* a, void* "
                             "b) { multiply_once(d, a, b); }")),
      HasSubstr("wgmma.mma_async instructions are serialized due to"));
}

TEST(NvrtcCompiler, TheLogSaysThatSetmaxnregIsIgnored) {
  EXPECT_THAT(objections_to("__global__ void scaled(float* y) {\n"
                            "  asm volatile(\"setmaxnreg.dec.sync.aligned.u32 40;\");\n"
                            "  y[threadIdx.x] = 1;\n}"),
              HasSubstr("'setmaxnreg' ignored"));
}

TEST(NvrtcCompiler, KernelsOfTheBinaryCompileWithoutSpills) {
  const SourceTree common = embedded_source_tree("kernels/common");
  const std::vector<std::string> copies = {"copy<1, false>", "copy<4, true>", "copy<8, false>"};
  for (const char* arch : {"sm_75", "sm_90a", "sm_120"}) {
    const auto compiler = make_nvrtc_compiler(arch).value();
    const auto build = compiler->compile({&common, "copy.cu", copies, arch});
    ASSERT_TRUE(build.ok()) << arch << build.status().message();
    for (const BuildKernel& kernel : build->kernels) {
      EXPECT_EQ(kernel.spill_bytes, 0) << arch << " " << kernel.name;
      EXPECT_LE(kernel.registers, 64) << arch << " " << kernel.name;
    }
    EXPECT_TRUE(compiler->compile({&common, "fill.cu", {"fill_uniform<float>"}, arch}).ok());
  }
}

TEST(NvrtcCompiler, AnErrorIsTheCompilersText) {
  const SourceTree sources = tree("__global__ void scaled(float* a) { a[0] = nowhere; }");
  const Status status = compile(sources, "sm_80", {"scaled"}).status();
  EXPECT_EQ(status.code(), StatusCode::compile_failed);
  EXPECT_THAT(status.message(),
              HasSubstr("scaled.cu(1): error: identifier \"nowhere\" is undefined"));
}

TEST(NvrtcCompiler, AKernelThatIsNotThereIsNamed) {
  const SourceTree sources = tree();
  const Status status = compile(sources, "sm_80", {"absent<3>"}).status();
  EXPECT_EQ(status.code(), StatusCode::compile_failed);
  EXPECT_THAT(status.message(), HasSubstr("absent"));
}

TEST(NvrtcCompiler, AFileThatIsNotThereIsNamed) {
  const SourceTree sources{"kernels/test", {}};
  const Status status = compile(sources, "sm_80").status();
  EXPECT_EQ(status.code(), StatusCode::not_found);
  EXPECT_EQ(status.message(), "kernels/test has no file scaled.cu");
}

TEST(NvrtcCompiler, MacrosAndKernelsWithoutTemplates) {
  const auto compiler = make_nvrtc_compiler("sm_80").value();
  const SourceTree sources = tree(R"(
#if !WIDE || SIZE != 48
#error the macros have other values
#endif
extern "C" __global__ void c_kernel(REAL* x) { x[0] = SIZE; }
__global__ void plain(float* x) { x[0] = SIZE; }
__global__ void both(float* x) { x[0] = 1; }
__global__ void both(const double* x, float* y) { y[0] = x[0]; }
template <float kBy> __global__ void by(float* x) { x[0] *= kBy; }
)");
  BuildRequest request{&sources,
                       "scaled.cu",
                       {"c_kernel", "plain", "static_cast<void (&)(float*)>(both)",
                        "static_cast<void (&)(const double*, float*)>(both)", "by<0.1f>"},
                       "sm_80"};
  request.macros = {{"SIZE", "48"}, {"WIDE", "1"}, {"REAL", "float"}};
  const Result<Build> build = compiler->compile(request);
  ASSERT_TRUE(build.ok()) << build.status().message();
  ASSERT_EQ(build->kernels.size(), 5U);
  EXPECT_EQ(build->kernels[0].symbol, "c_kernel");
  EXPECT_EQ(build->kernels[1].symbol, "_Z5plainPf");
  EXPECT_EQ(build->kernels[2].symbol, "_Z4bothPf");
  EXPECT_EQ(build->kernels[3].symbol, "_Z4bothPKdPf");
  for (const BuildKernel& kernel : build->kernels) EXPECT_GT(kernel.registers, 0) << kernel.name;

  request.macros[0].text = "49";
  EXPECT_THAT(compiler->compile(request).status().message(),
              HasSubstr("the macros have other values"));
}

TEST(NvrtcCompiler, NamesTheVariablesThatLaunchesWrite) {
  const auto compiler = make_nvrtc_compiler("sm_80").value();
  const SourceTree sources = tree(R"(
namespace own { __constant__ float weights[9]; }
__constant__ int count;
extern "C" __global__ void scaled(float* x) { x[0] = own::weights[count]; }
)");
  BuildRequest request{&sources, "scaled.cu", {"scaled"}, "sm_80"};
  request.variables = {"own::weights", "count"};
  const Result<Build> build = compiler->compile(request);
  ASSERT_TRUE(build.ok()) << build.status().message();
  ASSERT_EQ(build->variables.size(), 2U);
  EXPECT_EQ(build->variables[0].symbol, "_ZN3own7weightsE");
  EXPECT_EQ(build->variables[1].symbol, "count");
  EXPECT_NE(build->binary.find("_ZN3own7weightsE"), std::string::npos);

  request.variables = {"wieghts"};
  const Status status = compiler->compile(request).status();
  EXPECT_EQ(status.code(), StatusCode::compile_failed);
  EXPECT_THAT(status.message(), HasSubstr("wieghts"));
}

TEST(NvrtcCompiler, TakesTheOptionsOfADesign) {
  const auto compiler = make_nvrtc_compiler("sm_80").value();
  const SourceTree sources =
      tree("extern \"C\" __global__ void scaled(float* x) { x[0] = x[1] / x[2] + x[3] * x[4]; }\n");
  BuildRequest request{&sources, "scaled.cu", {"scaled"}, "sm_80"};
  const std::string plain = compiler->compile(request).value().binary;
  for (const char* option : {"--use_fast_math", "--fmad=false", "--ftz=true", "--prec-div=false",
                             "--prec-sqrt=false", "--maxrregcount=32", "--generate-line-info",
                             "--restrict", "--extra-device-vectorization"}) {
    request.options = {option};
    const Result<Build> build = compiler->compile(request);
    EXPECT_TRUE(build.ok()) << option << ": " << build.status().message();
  }
  request.options = {"--use_fast_math"};
  EXPECT_NE(compiler->compile(request).value().binary, plain);
}

TEST(NvrtcCompiler, OneCompilerServesManyCompiles) {
  const auto compiler = make_nvrtc_compiler("sm_80").value();
  const SourceTree sources = tree();
  const SourceTree broken = tree("broken");
  const BuildRequest good{&sources, "scaled.cu", {"scaled<float, 8>"}, "sm_80"};
  EXPECT_TRUE(compiler->compile(good).ok());
  EXPECT_FALSE(compiler->compile({&broken, "scaled.cu", {"scaled<float, 8>"}, "sm_80"}).ok());
  EXPECT_TRUE(compiler->compile(good).ok());
}

TEST(NvrtcCompiler, IsIdentifiedByLibraryHeadersAndOptions) {
  const auto compiler = make_nvrtc_compiler("sm_80").value();
  EXPECT_THAT(compiler->identity(),
              testing::MatchesRegex(
                  "nvrtc libnvrtc.* of [0-9]+ bytes, headers [0-9a-f]+ --std=c\\+\\+20 .*"));
  EXPECT_EQ(compiler->identity(), make_nvrtc_compiler("sm_90a").value()->identity());
}

TEST(NvrtcCompiler, OtherArchitecturesAreNotForIt) {
  const Status status = make_nvrtc_compiler("gfx942").status();
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_EQ(status.message(), "NVRTC does not build for 'gfx942'");
}
}  // namespace
}  // namespace mgtune
