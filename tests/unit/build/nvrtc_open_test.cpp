// Where NVRTC is looked for, and what is said of one that cannot be used. The libraries are fakes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "compiler/cuda_toolkit.h"
#include "compiler/nvrtc.h"
#include "tests/helpers/fakes/fake_loader.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using testing::StartsWith;

// A machine with nothing on it.
class EmptyFileSystem : public FileSystem {
 public:
  Result<std::string> read_file(const std::string& path) override { return not_found(path); }
  Status write_file(const std::string&, std::string_view) override { return io_error("no"); }
  Status create_directories(const std::string&, unsigned) override { return io_error("no"); }
  Status remove(const std::string&) override { return {}; }
  bool is_directory(const std::string&) override { return false; }
  bool exists(const std::string& path) override { return path == only_; }
  Result<std::vector<std::string>> list_files(const std::string& path) override {
    return not_found(path);
  }

  std::string only_;
};

// In a process of its own: this one may have loaded the real NVRTC.
TEST(NvrtcSearchDeathTest, SaysWhereItLooked) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto search = [] {
    ::unsetenv("MGTUNE_NVRTC_PATH");
    ::unsetenv("LD_LIBRARY_PATH");
    ::setenv("CUDA_HOME", "/opt/cuda", 1);
    EmptyFileSystem nothing;
    const Status status = find_nvrtc(nothing).status();
    const bool right =
        status.code() == StatusCode::environment &&
        status.message().starts_with(
            "NVRTC, which compiles CUDA kernels, is not here: looked for libnvrtc.so.13 in "
            "/opt/cuda/lib64, /opt/cuda/lib, ") &&
        status.message().find(", /usr/local/cuda/lib64, ") != std::string::npos &&
        status.message().ends_with("or set CUDA_HOME or MGTUNE_NVRTC_PATH");
    std::exit(right ? 0 : 1);
  };
  EXPECT_EXIT(search(), testing::ExitedWithCode(0), "");
}

TEST(CudaToolkitTest, FindsNvidiasPackagesBesideItsOwn) {
  const TestFolder packages;
  EXPECT_EQ(cuda_packages_beside(packages.file("mgtune/lib")), "");
  std::filesystem::create_directories(packages.file("nvidia/cu13"));
  EXPECT_EQ(cuda_packages_beside(packages.file("mgtune/lib")), packages.file("nvidia/cu13"));
  EXPECT_EQ(cuda_packages_beside(packages.file("mgtune/bin")), packages.file("nvidia/cu13"));
  EXPECT_EQ(cuda_packages_beside(""), "");
}

class NvrtcSearch : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv("MGTUNE_NVRTC_PATH"); }
  EmptyFileSystem files_;
};

TEST_F(NvrtcSearch, ANamedFileIsTheOnlyOne) {
  ::setenv("MGTUNE_NVRTC_PATH", "/my/libnvrtc.so", 1);
  const Status status = make_nvrtc_compiler("sm_80", files_).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_EQ(status.message(), "MGTUNE_NVRTC_PATH names no file: /my/libnvrtc.so");
  files_.only_ = "/my/libnvrtc.so";
  EXPECT_EQ(find_nvrtc(files_).value(), "/my/libnvrtc.so");
  EXPECT_THAT(make_nvrtc_compiler("sm_80", files_).status().message(),
              StartsWith("the CUDA Toolkit's headers are not here: looked for cuda_fp16.h in "));
}

TEST(NvrtcOpen, SaysWhyItDoesNotLoad) {
  FakeLoader loader;
  EXPECT_THAT(open_nvrtc("/my/libnvrtc.so", loader).status().message(),
              StartsWith("NVRTC does not load: not found: /my/libnvrtc.so; install the CUDA"));
}

FakeLoader::Symbols fake_nvrtc() {
  FakeLoader::Symbols symbols;
  for (const char* name : {"nvrtcGetErrorString", "nvrtcCreateProgram", "nvrtcDestroyProgram",
                           "nvrtcAddNameExpression", "nvrtcCompileProgram", "nvrtcGetLoweredName",
                           "nvrtcGetProgramLogSize", "nvrtcGetProgramLog", "nvrtcGetCUBINSize",
                           "nvrtcGetCUBIN", "nvrtcGetPTXSize", "nvrtcGetPTX"}) {
    symbols[name] = as_symbol(+[] { return NVRTC_ERROR_INTERNAL_ERROR; });
  }
  symbols["nvrtcVersion"] = as_symbol(+[](int* major, int* minor) {
    *major = 12;
    *minor = 4;
    return NVRTC_SUCCESS;
  });
  return symbols;
}

TEST(NvrtcOpen, AnOldOneIsNamed) {
  FakeLoader loader;
  loader.libraries["/old/libnvrtc.so.12"] = fake_nvrtc();
  const Status status = open_nvrtc("/old/libnvrtc.so.12", loader).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), StartsWith("NVRTC 12.4 at /old/libnvrtc.so.12 is too old; "));
}

TEST(NvrtcOpen, TooLittleMemorySaysNothingOfTheSource) {
  ::setenv("MGTUNE_NVRTC_PATH", fake_worker_path().c_str(), 1);  // a file that is there
  FakeLoader loader;
  FakeLoader::Symbols& symbols = loader.libraries[fake_worker_path()] = fake_nvrtc();
  symbols["nvrtcVersion"] = as_symbol(+[](int* major, int* minor) {
    *major = 13;
    *minor = 0;
    return NVRTC_SUCCESS;
  });
  symbols["nvrtcCreateProgram"] = as_symbol(+[] { return NVRTC_ERROR_OUT_OF_MEMORY; });
  symbols["nvrtcGetErrorString"] = as_symbol(+[](nvrtcResult) { return "no memory"; });
  const SourceTree sources = {"kernels/test", {{"scaled.cu", ""}}};
  const auto compiler = make_nvrtc_compiler("sm_80", FileSystem::real(), loader);
  ::unsetenv("MGTUNE_NVRTC_PATH");
  ASSERT_TRUE(compiler.ok()) << compiler.status().message();
  const Status status =
      (*compiler)->compile({&sources, "scaled.cu", {"scaled<3>"}, "sm_80"}).status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_EQ(status.message(), "NVRTC: no memory");
}

std::vector<std::string>& options_seen() {
  static std::vector<std::string> options;
  return options;
}

// A cubin from NVRTC's own cache comes without the report on its registers.
TEST(NvrtcOpen, ItsOwnCacheIsNotUsed) {
  ::setenv("MGTUNE_NVRTC_PATH", fake_worker_path().c_str(), 1);  // a file that is there
  FakeLoader loader;
  FakeLoader::Symbols& symbols = loader.libraries[fake_worker_path()] = fake_nvrtc();
  symbols["nvrtcCreateProgram"] = as_symbol(+[] { return NVRTC_SUCCESS; });
  symbols["nvrtcAddNameExpression"] = as_symbol(+[] { return NVRTC_SUCCESS; });
  symbols["nvrtcCompileProgram"] =
      as_symbol(+[](nvrtcProgram, int count, const char* const* options) {
        options_seen().assign(options, options + count);
        return NVRTC_ERROR_COMPILATION;
      });
  symbols["nvrtcGetErrorString"] = as_symbol(+[](nvrtcResult) { return "no"; });
  symbols["nvrtcVersion"] = as_symbol(+[](int* major, int* minor) {
    *major = 12;
    *minor = 9;
    return NVRTC_SUCCESS;
  });
  const SourceTree sources = {"kernels/test", {{"scaled.cu", ""}}};
  const BuildRequest request{&sources, "scaled.cu", {"scaled<3>"}, "sm_80"};
  const auto new_one = make_nvrtc_compiler("sm_80", FileSystem::real(), loader).value();
  ASSERT_FALSE(new_one->compile(request).ok());
  EXPECT_THAT(options_seen(), testing::Contains("--no-cache"));
  symbols["nvrtcVersion"] = as_symbol(+[](int* major, int* minor) {
    *major = 12;
    *minor = 8;
    return NVRTC_SUCCESS;
  });
  const auto old_one = make_nvrtc_compiler("sm_80", FileSystem::real(), loader).value();
  ASSERT_FALSE(old_one->compile(request).ok());
  EXPECT_THAT(options_seen(), testing::Not(testing::Contains("--no-cache")))
      << "12.8 does not know the option";
  ::unsetenv("MGTUNE_NVRTC_PATH");
}

// The system's loader does not find them beside an NVRTC that comes from a Python wheel.
TEST(NvrtcOpen, OpensTheBuiltinsBesideTheCompiler) {
  FakeLoader loader;
  FakeLoader::Symbols& symbols = loader.libraries["/my/libnvrtc.so"] = fake_nvrtc();
  symbols["nvrtcVersion"] = as_symbol(+[](int* major, int* minor) {
    *major = 13;
    *minor = 0;
    return NVRTC_SUCCESS;
  });
  EXPECT_TRUE(open_nvrtc("/my/libnvrtc.so", loader).ok());
  EXPECT_THAT(loader.asked_for,
              testing::ElementsAre("/my/libnvrtc.so", "/my/libnvrtc-builtins.so.13.0"));
}

TEST(NvrtcOpen, AMissingFunctionIsNamed) {
  FakeLoader loader;
  loader.libraries["/my/libnvrtc.so"] = fake_nvrtc();
  loader.libraries["/my/libnvrtc.so"].erase("nvrtcGetCUBIN");
  EXPECT_EQ(open_nvrtc("/my/libnvrtc.so", loader).status().message(),
            "/my/libnvrtc.so has no nvrtcGetCUBIN");
}

}  // namespace
}  // namespace mgtune
