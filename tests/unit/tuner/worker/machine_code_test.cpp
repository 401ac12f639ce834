#include "worker/machine_code.h"

#include <gtest/gtest.h>

#include <memory>

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

TEST(MachineCode, OnlyACubinHasMachineCode) {
  EXPECT_EQ(machine_code_bytes(""), -1);
  EXPECT_EQ(machine_code_bytes("\x7f"
                               "ELF"),
            -1);
  EXPECT_EQ(machine_code_bytes(*FileSystem::real().read_file("/proc/self/exe")), -1);
}

}  // namespace
}  // namespace mgtune
