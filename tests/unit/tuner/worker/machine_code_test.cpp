#include "worker/machine_code.h"

#include <gtest/gtest.h>

#include <memory>

#include "build/kernel_binaries.h"
#include "compiler/compiler.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

TEST(MachineCode, IsAPartOfACubin) {
  const SourceTree sources = {
      "kernels/test",
      {{"twice.cu", "__global__ void twice(float* out) { out[threadIdx.x] *= 2; }"}}};
  for (const char* arch : {"sm_75", "sm_90a", "sm_120"}) {
    const std::unique_ptr<Compiler> compiler = make_nvrtc_compiler(arch).value();
    const Build build = compiler->compile({&sources, "twice.cu", {"twice"}, arch}).value();
    const int code_bytes = machine_code_bytes(build.binary);
    EXPECT_GE(code_bytes, 4 * 16);
    EXPECT_LT(code_bytes, static_cast<int>(build.binary.size()));
    EXPECT_EQ(code_bytes % 16, 0);
    EXPECT_EQ(machine_code_bytes(build.binary.substr(0, build.binary.size() / 2)), -1);
  }
}

class MachineCodeIdentityTest : public testing::Test {
 protected:
  std::string binary_of(const std::vector<std::string>& kernels,
                        const std::string& arch = "sm_90") {
    compiler_ = make_nvrtc_compiler(arch).value();
    return compiler_->compile({&sources_, "add.cu", kernels, arch}).value().binary;
  }
  std::string of(const std::string& kernel, const std::string& arch = "sm_90") {
    return machine_code_identity(binary_of({kernel}, arch));
  }

  // The last parameter but one changes only the name, and the last one the limits of a launch.
  const SourceTree sources_ = {"kernels/test", {{"add.cu", R"(
template <int N, int UNUSED, int THREADS>
__global__ void __launch_bounds__(THREADS) add(float* out) {
  __shared__ float parts[N];
  parts[threadIdx.x % N] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] += parts[(threadIdx.x + 1) % N] + N;
})"}}};
  std::unique_ptr<Compiler> compiler_;
};

TEST_F(MachineCodeIdentityTest, HasAllButTheNameOfTheKernel) {
  const std::string one = of("add<4, 1, 128>");
  EXPECT_NE(binary_of({"add<4, 1, 128>"}), binary_of({"add<4, 234567, 128>"}));
  EXPECT_EQ(one, of("add<4, 234567, 128>"));
  EXPECT_NE(one, of("add<8, 1, 128>"));
  EXPECT_NE(one, of("add<4, 1, 256>")) << "the limit of threads is not in the instructions";
  EXPECT_NE(one, of("add<4, 1, 128>", "sm_80"));
}

// A program sets constants by their names, so these decide what the same instructions compute.
TEST_F(MachineCodeIdentityTest, HasTheNamesOfConstants) {
  const auto identity = [this](const std::string& first, const std::string& second) {
    const SourceTree sources = {
        "kernels/test",
        {{"sub.cu",
          "__constant__ float " + first + "[64], " + second +
              "[64];\n"
              "template <int UNUSED> __global__ void sub(float* y) {\n  y[threadIdx.x] = " +
              first + "[threadIdx.x] - 2 * " + second + "[threadIdx.x];\n}"}}};
    compiler_ = make_nvrtc_compiler("sm_90").value();
    return machine_code_identity(
        compiler_->compile({&sources, "sub.cu", {"sub<1>"}, "sm_90"}).value().binary);
  };
  EXPECT_NE(identity("a", "b"), "");
  EXPECT_EQ(identity("a", "b"), identity("a", "b"));
  EXPECT_NE(identity("a", "b"), identity("b", "a"));
}

TEST_F(MachineCodeIdentityTest, OfAListDependsOnItsOrder) {
  const std::string a = binary_of({"add<4, 1, 128>"}), b = binary_of({"add<8, 1, 128>"});
  const std::string same = binary_of({"add<4, 2, 128>"});
  EXPECT_EQ(machine_code_identity(join_binaries({a, b})),
            machine_code_identity(join_binaries({same, b})));
  EXPECT_NE(machine_code_identity(join_binaries({a, b})),
            machine_code_identity(join_binaries({b, a})));
  EXPECT_NE(machine_code_identity(join_binaries({a, b})), machine_code_identity(a));
}

TEST_F(MachineCodeIdentityTest, IsThereForCubinsOfOneKernelAlone) {
  const std::string one = binary_of({"add<4, 1, 128>"});
  EXPECT_EQ(machine_code_identity(binary_of({"add<4, 1, 128>", "add<8, 1, 128>"})), "");
  EXPECT_EQ(machine_code_identity(one.substr(0, one.size() / 2)), "");
  EXPECT_EQ(machine_code_identity(one.substr(0, 40)), "");
  EXPECT_EQ(machine_code_identity(*FileSystem::real().read_file("/proc/self/exe")), "");
  EXPECT_EQ(machine_code_identity(""), "");
}

TEST(MachineCode, OnlyACubinHasMachineCode) {
  EXPECT_EQ(machine_code_bytes(""), -1);
  EXPECT_EQ(machine_code_bytes("\x7f"
                               "ELF"),
            -1);
  EXPECT_EQ(machine_code_bytes(*FileSystem::real().read_file("/proc/self/exe")), -1);
}

}  // namespace
}  // namespace mgtune
