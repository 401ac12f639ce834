
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "compiler/compiler.h"
#include "core/sha256.h"
#include "tests/helpers/environment_variable.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kSanitize = MGTUNE_SANITIZE;

SourceTree family(const std::string& source) {
  SourceTree tree;
  tree.folder = "kernels/family";
  tree.files["scale.cu"] = source;
  tree.files["detail/factor.cuh"] = "#pragma once\ninline float factor() { return 2.0f; }\n";
  return tree;
}

SourceTree good_family() {
  return family(
      "#include <mg/vec.cuh>\n"
      "#include \"detail/factor.cuh\"\n"
      "template <class T, int kBy> __global__ void scale(T* x) {\n"
      "  x[threadIdx.x] = mg::from_float<T>(mg::to_float(x[threadIdx.x]) * kBy * factor());\n"
      "}\n");
}

std::unique_ptr<Compiler> compiler(const std::string& arch = "cpu") {
  Result<std::unique_ptr<Compiler>> made = make_host_compiler(arch);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

Status failure(const SourceTree& tree, std::vector<std::string> kernels) {
  return compiler()->compile({&tree, "scale.cu", std::move(kernels), "cpu"}).status();
}

TEST(HostCompiler, FillsTheArtifact) {
  const SourceTree tree = good_family();
  const std::unique_ptr<Compiler> cpu = compiler();
  const BuildRequest request{
      &tree, "scale.cu", {"scale<float, 3>", "scale<__half, 4>", "scale<float, 3>"}, "cpu"};
  const Result<Build> built = cpu->compile(request);
  ASSERT_TRUE(built.ok()) << built.status().message();
  const Build& build = built.value();
  EXPECT_EQ(build.arch, "cpu");
  EXPECT_EQ(build.key, build_key(request, cpu->identity()));
  EXPECT_EQ(build.sha256, sha256_hex(build.binary));
  EXPECT_EQ(build.log, "");
  ASSERT_EQ(build.kernels.size(), 2U);
  EXPECT_EQ(build.kernels[0].name, "scale<float, 3>");
  EXPECT_EQ(build.kernels[1].name, "scale<__half, 4>");
  EXPECT_NE(build.kernels[0].symbol, build.kernels[1].symbol);
  EXPECT_EQ(build.kernels[0].registers, -1);
  EXPECT_EQ(build.binary.substr(0, 4), "\177ELF");
}

// Kernels as they are written outside of mgtune: without templates, with macros instead.
constexpr char kPlainKernels[] = R"(
#include "detail/factor.cuh"
#if !WIDE || SIZE != 48
#error the macros have other values
#endif
extern "C" __global__ void c_kernel(REAL* x) { x[0] = SIZE * factor(); }
__global__ void plain(float* x) { x[0] = SIZE; }
__global__ void both(float* x) { x[0] = 1; }
__global__ void both(const double* x, float* y) { y[0] = x[0]; }
)";

TEST(HostCompiler, MacrosAndKernelsWithoutTemplates) {
  SourceTree tree = family(kPlainKernels);
  BuildRequest request{&tree,
                       "scale.cu",
                       {"c_kernel", "plain", "static_cast<void (&)(float*)>(both)",
                        "static_cast<void (&)(const double*, float*)>(both)"},
                       "cpu"};
  request.macros = {{"SIZE", "48"}, {"WIDE", "1"}, {"REAL", "float"}};
  const std::unique_ptr<Compiler> cpu = compiler();
  const Result<Build> built = cpu->compile(request);
  ASSERT_TRUE(built.ok()) << built.status().message();
  EXPECT_EQ(built->kernels.size(), 4U);
  EXPECT_EQ(built->key, build_key(request, cpu->identity()));

  request.macros[0].text = "49";
  EXPECT_THAT(cpu->compile(request).status().message(),
              HasSubstr("kernels/family/scale.cu:4:2: error: #error the macros have other values"));
}

TEST(HostCompiler, ExportsTheVariablesThatLaunchesWrite) {
  const SourceTree tree = family(
      "namespace own { __constant__ float weights[9]; }\n"
      "__constant__ static int count;\n"
      "__global__ void scale(float* x) { x[0] = own::weights[count]; }\n");
  BuildRequest request{&tree, "scale.cu", {"scale"}, "cpu"};
  request.variables = {"own::weights", "count"};
  const std::unique_ptr<Compiler> cpu = compiler();
  const Result<Build> built = cpu->compile(request);
  ASSERT_TRUE(built.ok()) << built.status().message();
  ASSERT_EQ(built->variables.size(), 2U);
  EXPECT_EQ(built->variables[0].name, "own::weights");
  EXPECT_NE(built->variables[0].symbol, built->variables[1].symbol);

  request.variables = {"wieghts"};
  EXPECT_THAT(cpu->compile(request).status().message(),
              AllOf(HasSubstr("<variable wieghts>:"), HasSubstr("error: ")));
}

TEST(HostCompiler, EqualRequestsGiveEqualBytes) {
  const SourceTree tree = good_family();
  SourceTree elsewhere = good_family();
  elsewhere.folder = "/home/somebody/family";
  std::vector<std::string> architectures = {"cpu"};
  if (kSanitize.find("thread") == std::string_view::npos) architectures.emplace_back("cpu-race");
  for (const std::string& arch : architectures) {
    const std::unique_ptr<Compiler> one = compiler(arch), other = compiler(arch);
    EXPECT_EQ(one->identity(), other->identity());
    const BuildRequest request{&tree, "scale.cu", {"scale<float, 3>"}, arch};
    const std::string binary = one->compile(request).value().binary;
    // Long enough to see builds before and after the header is precompiled.
    for (int round = 0; round < 3; ++round) {
      EXPECT_TRUE(one->compile(request).value().binary == binary) << arch << " " << round;
    }
    const BuildRequest moved{&elsewhere, "scale.cu", {"scale<float, 3>"}, arch};
    EXPECT_TRUE(other->compile(moved).value().binary == binary) << arch;
    const BuildRequest changed{&tree, "scale.cu", {"scale<float, 4>"}, arch};
    EXPECT_FALSE(other->compile(changed).value().binary == binary) << arch;
  }
}

TEST(HostCompiler, NoPathOfThisMachineReachesTheBinary) {
  const std::string parent = std::filesystem::temp_directory_path().string();
  const SourceTree tree = good_family();
  const std::string binary =
      compiler()->compile({&tree, "scale.cu", {"scale<float, 3>"}, "cpu"}).value().binary;
  EXPECT_THAT(binary, Not(HasSubstr("mgtune-")));
  EXPECT_THAT(binary, Not(HasSubstr(parent + "/")));
}

TEST(HostCompiler, TheIdentityNamesCompilerOptionsAndHeaders) {
  const std::unique_ptr<Compiler> cpu = compiler();
  EXPECT_THAT(cpu->identity(),
              AllOf(HasSubstr("-ffp-contract=off"), HasSubstr("CUDA_VERSION 1"),
                    HasSubstr("headers "), HasSubstr("-O"), Not(HasSubstr("/tmp"))));
  if (kSanitize.find("thread") != std::string_view::npos) return;
  EXPECT_NE(compiler("cpu-race")->identity(), cpu->identity());
}

TEST(HostCompiler, ErrorsNameTheFamilysFileAndLine) {
  const Status status =
      failure(family("__global__ void scale(float* x) {\n  x[0] = nonsense;\n}\n"), {"scale"});
  EXPECT_EQ(status.code(), StatusCode::compile_failed);
  EXPECT_THAT(status.message(), HasSubstr("kernels/family/scale.cu:2:10: error: "));
  EXPECT_THAT(status.message(), HasSubstr("nonsense"));
  EXPECT_THAT(status.message(), AllOf(Not(HasSubstr("/tmp/")), Not(HasSubstr("mgtune_unit"))));
}

TEST(HostCompiler, ErrorsInHeadersAndNameExpressionsAreNamedToo) {
  SourceTree tree = good_family();
  tree.files["detail/factor.cuh"] = "#pragma once\n#error not today\n";
  EXPECT_THAT(failure(tree, {"scale<float, 3>"}).message(),
              HasSubstr("kernels/family/detail/factor.cuh:2:2: error: #error not today"));

  const SourceTree good = good_family();
  EXPECT_THAT(failure(good, {"shrink<float, 3>"}).message(),
              AllOf(HasSubstr("<kernel shrink<float, 3>>:1:"), HasSubstr("error: ")));
  EXPECT_THAT(failure(good, {"scale<float>"}).message(), HasSubstr("<kernel scale<float>>:1:"));
}

TEST(HostCompiler, LongErrorsAreCut) {
  std::string source;
  for (int i = 0; i < 500; ++i) source += "static_assert(sizeof(char) == 2, \"no\");\n";
  const std::string message = failure(family(source), {"scale"}).message();
  EXPECT_LT(message.size(), 4200U);
  EXPECT_THAT(message, HasSubstr("scale.cu:1:"));
}

TEST(HostCompiler, RawSharedArraysAreRefused) {
  EXPECT_EQ(failure(family("__global__ void scale(float* x) {\n"
                           "  extern __shared__ float s[];\n  x[0] = s[0];\n}\n"),
                    {"scale"})
                .code(),
            StatusCode::compile_failed);
}

TEST(HostCompiler, SourcesStayInTheirFolder) {
  SourceTree tree = family("#include \"../outside.cuh\"\n__global__ void scale() {}\n");
  tree.files["../outside.cuh"] = "";
  EXPECT_EQ(failure(tree, {"scale"}).code(), StatusCode::invalid_argument);
  const SourceTree good = good_family();
  EXPECT_EQ(compiler()->compile({&good, "other.cu", {"k"}, "cpu"}).status().message(),
            "kernels/family has no file other.cu");
}

TEST(HostCompiler, SaysWhichCompilerIsMissing) {
  {
    const Variable cxx("CXX", "/nowhere/g++ -m64");
    const Status status = make_host_compiler("cpu").status();
    EXPECT_EQ(status.code(), StatusCode::environment);
    EXPECT_EQ(status.message(), "$CXX names no program: '/nowhere/g++'");
  }
  const Variable cxx("CXX", ""), path("PATH", "/nowhere");
  const Status status = make_host_compiler("cpu").status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("c++, g++ or clang++"));
}

TEST(HostCompiler, TakesTheCompilerAndOptionsOfTheEnvironment) {
  const Variable cxx("CXX", "g++ -DMORE");
  EXPECT_THAT(compiler()->identity(), HasSubstr("-DMORE"));
}

// Creating a file costs up to a millisecond, and a family has twenty, and mgtune seventy headers.
TEST(HostCompiler, WritesWhatTheSourceIncludesAndNothingBeforeTheFirstCompile) {
  namespace fs = std::filesystem;
  const fs::path parent = fs::temp_directory_path() / "host_compiler_files_test";
  fs::create_directories(parent);
  const Variable temporary("TMPDIR", parent);
  SourceTree tree = good_family();
  tree.files["other.cu"] = "";
  const auto names = [&parent] {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(parent)) {
      if (entry.is_regular_file()) found.insert(entry.path().filename());
    }
    return found;
  };
  {
    const std::unique_ptr<Compiler> cpu = compiler();
    EXPECT_THAT(names(), testing::ElementsAre(".lock"));
    ASSERT_TRUE(cpu->compile({&tree, "scale.cu", {"scale<float, 3>"}, "cpu"}).ok());
    EXPECT_THAT(names(), testing::IsSupersetOf({"scale.cu", "factor.cuh", "vec.cuh", "prelude.h"}));
    EXPECT_FALSE(names().contains("other.cu"));
    EXPECT_FALSE(names().contains("wgmma.cuh"));
  }
  fs::remove_all(parent);
}

TEST(HostCompiler, LeavesNothingBehind) {
  const std::string parent =
      (std::filesystem::temp_directory_path() / "host_compiler_test").string();
  std::filesystem::create_directories(parent);
  const Variable temporary("TMPDIR", parent);
  {
    const std::unique_ptr<Compiler> cpu = compiler();
    EXPECT_FALSE(std::filesystem::is_empty(parent));
  }
  EXPECT_TRUE(std::filesystem::is_empty(parent));
  std::filesystem::remove(parent);
}

}  // namespace
}  // namespace mgtune
