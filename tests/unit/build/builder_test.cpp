#include "build/builder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "build/kernel_binaries.h"
#include "core/sha256.h"
#include "family/catalog.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

// Counts what is asked of the compilers that the factory below makes.
struct Calls {
  int made = 0;
  int compiled = 0;
  std::string identity = "fake 1";
  bool apart = false;
  std::vector<std::vector<std::string>> together = {};  // kernels that were compiled as one program
};

class FakeCompiler final : public Compiler {
 public:
  explicit FakeCompiler(Calls& calls) : calls_(calls), identity_(calls.identity) {}
  const std::string& identity() const override { return identity_; }
  bool compiles_kernels_apart() const override { return calls_.apart; }

  Result<Build> compile(const BuildRequest& request) override {
    ++calls_.compiled;
    if (request.source == "broken.cu") {
      return Status(StatusCode::compile_failed, "broken.cu:1: error");
    }
    Build build;
    build.arch = request.arch;
    build.binary = "binary of " + request.source;
    if (calls_.apart) build.binary += " " + request.kernels.front();
    build.log = request.kernels.front() + "\n";
    build.ptx_bytes = 10;
    build.sha256 = sha256_hex(build.binary);
    for (const std::string& kernel : request.kernels) build.kernels.push_back({kernel, kernel});
    return build;
  }

  // A kernel with a 9 does not go with others.
  std::vector<std::optional<Build>> compile_together(
      const std::vector<BuildRequest>& requests) override {
    std::vector<std::optional<Build>> builds;
    std::vector<std::string>& kernels = calls_.together.emplace_back();
    for (const BuildRequest& request : requests) {
      kernels.push_back(request.kernels.front());
      builds.emplace_back();
      if (kernels.back().find('9') != std::string::npos) continue;
      builds.back() = compile(request).value();
      builds.back()->key = request.key;
      --calls_.compiled;
    }
    return builds;
  }

 private:
  Calls& calls_;
  std::string identity_;
};

class BuilderTest : public testing::Test {
 protected:
  Builder builder() {
    return Builder(BuildCache(FileSystem::real(), directory_),
                   [this](const std::string& arch) -> Result<std::unique_ptr<Compiler>> {
                     ++calls_.made;
                     if (arch == "none") return environment_error("no compiler");
                     return std::unique_ptr<Compiler>(std::make_unique<FakeCompiler>(calls_));
                   });
  }

  TestFolder folder_;
  std::string directory_ = folder_.file("cache");
  Calls calls_;
  SourceTree sources_{"family", {{"a.cu", "a"}, {"broken.cu", "b"}}};
  BuildRequest request_{&sources_, "a.cu", {"k<1>"}, "cpu"};
};

TEST_F(BuilderTest, CompilesOnceForAllProcesses) {
  Builder first = builder();
  const Build built = first.build(request_).value();
  EXPECT_EQ(built.key, *first.key(request_));
  EXPECT_EQ(built.binary, "binary of a.cu");
  EXPECT_EQ(first.compiled(), 1);
  EXPECT_EQ(first.build(request_)->sha256, built.sha256);
  EXPECT_EQ(first.compiled(), 1);

  Builder second = builder();
  const Build found = second.build(request_).value();
  EXPECT_EQ(found.key, built.key);
  EXPECT_EQ(found.binary, built.binary);
  EXPECT_EQ(found.kernels.at(0).name, "k<1>");
  EXPECT_EQ(second.compiled(), 0);
  EXPECT_EQ(calls_.compiled, 1);
}

TEST_F(BuilderTest, MakesOneCompilerPerArchitecture) {
  Builder b = builder();
  ASSERT_TRUE(b.key(request_).ok());
  ASSERT_TRUE(b.build(request_).ok());
  EXPECT_EQ(calls_.made, 1);
  request_.arch = "cpu-race";
  ASSERT_TRUE(b.build(request_).ok());
  EXPECT_EQ(calls_.made, 2);
  EXPECT_EQ(b.compiled(), 2);
}

TEST_F(BuilderTest, AnotherCompilerBuildsAnew) {
  ASSERT_TRUE(builder().build(request_).ok());
  calls_.identity = "fake 2";
  Builder b = builder();
  ASSERT_TRUE(b.build(request_).ok());
  EXPECT_EQ(b.compiled(), 1);
}

TEST_F(BuilderTest, FailuresComeBackAndAreNotKept) {
  request_.source = "broken.cu";
  Builder b = builder();
  for (int i = 1; i <= 2; ++i) {
    const Status status = b.build(request_).status();
    EXPECT_EQ(status.code(), StatusCode::compile_failed);
    EXPECT_EQ(status.message(), "broken.cu:1: error");
    EXPECT_EQ(b.compiled(), i);
  }
}

TEST_F(BuilderTest, AMissingCompilerIsTheEnvironmentsFault) {
  request_.arch = "none";
  Builder b = builder();
  EXPECT_EQ(b.build(request_).status().code(), StatusCode::environment);
  EXPECT_EQ(b.key(request_).status().message(), "no compiler");
}

TEST_F(BuilderTest, ACacheThatCannotBeWrittenIsNoFailure) {
  ASSERT_TRUE(FileSystem::real().write_file(directory_, "a file is in the way").ok());
  testing::internal::CaptureStderr();
  Builder b = builder();
  EXPECT_TRUE(b.build(request_).ok());
  EXPECT_TRUE(b.build(request_).ok());
  EXPECT_EQ(b.compiled(), 2);
  testing::internal::GetCapturedStderr();
}

TEST_F(BuilderTest, ADamagedEntryIsBuiltAgain) {
  Builder b = builder();
  const Build built = b.build(request_).value();
  const std::string entry = directory_ + "/" + built.key + ".build";
  ASSERT_TRUE(FileSystem::real().write_file(entry, "damaged").ok());
  EXPECT_EQ(b.build(request_)->binary, built.binary);
  EXPECT_EQ(b.compiled(), 2);
  EXPECT_EQ(b.build(request_)->binary, built.binary);
  EXPECT_EQ(b.compiled(), 2);
}

class BuilderOfKernels : public BuilderTest {
 protected:
  void SetUp() override {
    calls_.apart = true;
    request_.kernels = {"k<1>", "sum", "k<1>"};
    request_.kernels_apart = true;
  }
};

TEST_F(BuilderOfKernels, CompilesAKernelOfTwoVariantsOnce) {
  Builder b = builder();
  const Build first = b.build(request_).value();
  EXPECT_EQ(b.compiled(), 2);
  ASSERT_EQ(first.kernels.size(), 2U);
  EXPECT_EQ(first.kernels[0].name, "k<1>");
  EXPECT_EQ(first.kernels[1].name, "sum");
  EXPECT_EQ(first.binary, join_binaries({"binary of a.cu k<1>", "binary of a.cu sum"}));
  EXPECT_EQ(first.sha256, sha256_hex(first.binary));
  EXPECT_EQ(first.key, *b.key(request_));
  EXPECT_EQ(first.log, "k<1>\nsum\n");
  EXPECT_EQ(first.ptx_bytes, 20);

  request_.kernels = {"k<2>", "sum"};
  EXPECT_EQ(b.build(request_)->kernels[1].name, "sum");
  EXPECT_EQ(b.compiled(), 3);
  EXPECT_EQ(builder().build(request_)->sha256, b.build(request_)->sha256);
  EXPECT_EQ(calls_.compiled, 3);
}

TEST_F(BuilderOfKernels, AVariantOfOneKernelIsItsBuild) {
  Builder b = builder();
  ASSERT_TRUE(b.build(request_).ok());
  request_.kernels = {"sum"};
  EXPECT_EQ(b.build(request_)->binary, "binary of a.cu sum");
  EXPECT_EQ(b.compiled(), 2);
}

TEST_F(BuilderOfKernels, KernelsThatShareAVariableStayTogether) {
  request_.kernels_apart = false;
  Builder b = builder();
  EXPECT_EQ(b.build(request_)->binary, "binary of a.cu k<1>");
  EXPECT_EQ(b.compiled(), 1);
}

TEST_F(BuilderOfKernels, TheFailureOfOneKernelIsThatOfTheVariant) {
  request_.source = "broken.cu";
  EXPECT_EQ(builder().build(request_).status().message(), "broken.cu:1: error");
}

TEST_F(BuilderOfKernels, KernelsOfSeveralRequestsAreCompiledTogether) {
  using Groups = std::vector<std::vector<std::string>>;
  BuildRequest other = request_;
  other.kernels = {"k<2>", "sum"};
  Builder b = builder();
  b.build_together({request_, other});
  EXPECT_EQ(calls_.together, (Groups{{"k<1>", "sum", "k<2>"}}));
  EXPECT_EQ(b.compiled(), 1);
  EXPECT_EQ(b.build(request_)->binary,
            join_binaries({"binary of a.cu k<1>", "binary of a.cu sum"}));
  EXPECT_EQ(b.build(other)->kernels[0].name, "k<2>");
  EXPECT_EQ(calls_.compiled, 0);
  EXPECT_EQ(b.compiled(), 1);

  // What the cache has is not compiled again, and what is left is no group.
  other.kernels = {"k<3>", "sum"};
  b.build_together({request_, other});
  EXPECT_EQ(calls_.together.size(), 1U);
  EXPECT_EQ(b.build(other)->kernels[0].name, "k<3>");
  EXPECT_EQ(calls_.compiled, 1);
}

TEST_F(BuilderOfKernels, WhatDoesNotGoTogetherIsCompiledAlone) {
  BuildRequest other = request_;
  other.kernels = {"k<9>"};
  Builder b = builder();
  b.build_together({request_, other});
  EXPECT_EQ(b.build(other)->binary, "binary of a.cu k<9>");
  EXPECT_EQ(calls_.compiled, 1);
}

TEST_F(BuilderOfKernels, RequestsThatDifferInMoreThanTheirKernelsAreNotOneProgram) {
  using Groups = std::vector<std::vector<std::string>>;
  std::vector<BuildRequest> requests(6, request_);
  for (std::size_t i = 0; i < requests.size(); ++i)
    requests[i].kernels = {fmt::format("k<1{}>", i)};
  requests[1].arch = "sm_90a";
  requests[2].options = {"--fmad=false"};
  requests[3].macros = {{"N", "4"}};
  requests[4].dynamic_shared = {true};
  Builder b = builder();
  b.build_together(requests);
  EXPECT_EQ(calls_.together, (Groups{{"k<10>", "k<15>"}}));
}

TEST_F(BuilderOfKernels, NothingIsCompiledTogetherForNoCacheOrForSharedVariables) {
  BuildRequest other = request_;
  other.kernels = {"k<2>"};
  directory_ = "";
  builder().build_together({request_, other});
  directory_ = folder_.file("cache");
  request_.kernels_apart = other.kernels_apart = false;
  builder().build_together({request_, other});
  EXPECT_TRUE(calls_.together.empty());
}

class VariantBuildRequestTest : public testing::Test {
 protected:
  BuildRequest request_for(const std::string& device_arch) {
    const Variant variant = parse_variant(op_, "flat THREADS=64 MODE=good").value();
    const Binding binding = bind_static(op_, {{"T", "f32"}}).value();
    const Slots slots = compile_slots(binding, variant, {90, 132, 232448, 62914560}).value();
    return variant_build_request(op_, variant, slots, device_arch).value();
  }

  Operator op_ =
      *Catalog(FileSystem::real()).find(source_path("tests/families/vector_add")).value().front();
};

TEST_F(VariantBuildRequestTest, NamesSourceKernelsAndTheDevicesArchitecture) {
  const BuildRequest request = request_for("sm_90");
  EXPECT_EQ(request.sources, op_.sources.get());
  EXPECT_EQ(request.source, "add.cu");
  EXPECT_EQ(request.kernels, std::vector<std::string>{"vector_add<float, 64, MODE::good>"});
  EXPECT_EQ(request.arch, "sm_90");
}

TEST_F(VariantBuildRequestTest, ADesignsOwnArchitectureGoesFirstExceptOnTheCpu) {
  op_.designs[0].arch = "sm_90a";
  EXPECT_EQ(request_for("sm_90").arch, "sm_90a");
  EXPECT_EQ(request_for("cpu").arch, "cpu");
  EXPECT_EQ(request_for("cpu-race").arch, "cpu-race");
}

TEST_F(VariantBuildRequestTest, HasTheDesignsMacros) {
  EXPECT_TRUE(request_for("sm_90").macros.empty());
  const Scope& scope = op_.designs[0].scope;
  const auto define = [&](const char* macro, const char* value) {
    op_.designs[0].defines.push_back({macro, Expression::parse(value, scope).value()});
  };
  define("BLOCK_SIZE_X", "THREADS");
  define("HALF", "THREADS / 2 - 33");
  define("IS_GOOD", "MODE == good");
  define("HOW", "MODE");
  define("REAL", "T");
  EXPECT_EQ(request_for("sm_90").macros, (std::vector<MacroDefinition>{{"BLOCK_SIZE_X", "64"},
                                                                       {"HALF", "-1"},
                                                                       {"IS_GOOD", "1"},
                                                                       {"HOW", "good"},
                                                                       {"REAL", "float"}}));
}

TEST_F(VariantBuildRequestTest, HasTheDesignsOptionsAndConstants) {
  using Kind = CompileOption::Kind;
  Design& design = op_.designs[0];
  const auto parsed = [&](const char* text) {
    return Expression::parse(text, design.scope).value();
  };
  design.options = {{"--use_fast_math", Kind::flag, parsed("MODE == good")},
                    {"--restrict", Kind::flag, parsed("MODE == wrong")},
                    {"--fmad", Kind::boolean, parsed("THREADS > 64")},
                    {"--maxrregcount", Kind::number, parsed("THREADS / 2")}};
  design.constants = {{0, "d_x"}};
  EXPECT_EQ(request_for("sm_90").options,
            (std::vector<std::string>{"--use_fast_math", "--fmad=false", "--maxrregcount=32"}));
  EXPECT_EQ(request_for("sm_90").variables, std::vector<std::string>{"d_x"});
  EXPECT_TRUE(request_for("cpu").options.empty());
  design.options.back().value = Expression::integer(0);
  EXPECT_EQ(request_for("sm_90").options.size(), 2U);
}

TEST_F(VariantBuildRequestTest, RefusesAMacroThatWouldChangeAHeaderOfMgtune) {
  SourceTree sources = *op_.sources;
  sources.files["add.cu"].insert(0, "#include <mg/vec.cuh>\n");
  op_.sources = std::make_shared<const SourceTree>(std::move(sources));
  op_.designs[0].defines.push_back({"T", Expression::integer(1)});
  const Variant variant = parse_variant(op_, "flat THREADS=64 MODE=good").value();
  const Binding binding = bind_static(op_, {{"T", "f32"}}).value();
  const Slots slots = compile_slots(binding, variant, {90, 132, 232448, 62914560}).value();
  const Status status = variant_build_request(op_, variant, slots, "sm_90").status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_NE(status.message().find("add.json: /designs/flat/defines/T: <mg/"), std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find(">, which add.cu includes, uses the name 'T' itself"),
            std::string::npos)
      << status.message();
}

TEST(MakeCompiler, NamesAnArchitectureThatNothingServes) {
  const Status status = make_compiler("gfx942").status();
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_EQ(status.message(), "no compiler here builds for the architecture 'gfx942'");
}

}  // namespace
}  // namespace mgtune
