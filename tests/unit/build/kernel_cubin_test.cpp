#include "compiler/kernel_cubin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/compiler.h"
#include "compiler/cubin.h"
#include "compiler/nvrtc.h"

namespace mgtune {
namespace {

constexpr char kSeveralKernels[] = R"(
template <int N> __global__ void plain(float* x) { x[threadIdx.x] *= N; }
template <int N> __global__ void shared(float* x) {
  __shared__ float held[N];
  held[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = held[threadIdx.x ^ 1];
}
extern __shared__ float dynamic[];
template <int N> __global__ void sized(float* x) {
  dynamic[threadIdx.x] = x[threadIdx.x] * N;
  __syncthreads();
  x[threadIdx.x] = dynamic[threadIdx.x ^ 1];
}
template <int N> __global__ void divided(float* x) { x[threadIdx.x] = N / x[threadIdx.x]; }
)";

// What NVRTC itself makes, and the symbols of the kernels.
struct RawCubin {
  std::string cubin;
  std::vector<std::string> symbols;
};

class KernelCubinTest : public testing::TestWithParam<const char*> {
 protected:
  RawCubin compile(const std::vector<std::string>& kernels,
                   const std::string& source = kSeveralKernels) {
    const Nvrtc nvrtc = open_nvrtc(find_nvrtc().value()).value();
    nvrtcProgram program = nullptr;
    EXPECT_EQ(nvrtc.nvrtcCreateProgram(&program, source.c_str(), "a.cu", 0, nullptr, nullptr),
              NVRTC_SUCCESS);
    for (const auto& kernel : kernels) nvrtc.nvrtcAddNameExpression(program, kernel.c_str());
    const std::string arch = std::string("--gpu-architecture=") + GetParam();
    const char* options[] = {arch.c_str(), "--std=c++20", "--modify-stack-limit=false"};
    EXPECT_EQ(nvrtc.nvrtcCompileProgram(program, 3, options), NVRTC_SUCCESS);
    RawCubin raw;
    std::size_t size = 0;
    nvrtc.nvrtcGetCUBINSize(program, &size);
    raw.cubin.resize(size);
    nvrtc.nvrtcGetCUBIN(program, raw.cubin.data());
    for (const auto& kernel : kernels) {
      const char* symbol = nullptr;
      nvrtc.nvrtcGetLoweredName(program, kernel.c_str(), &symbol);
      raw.symbols.emplace_back(symbol);
    }
    nvrtc.nvrtcDestroyProgram(&program);
    return raw;
  }
};

// Nothing that a driver reads is changed: sections and their heads, contents, and symbols.
TEST_P(KernelCubinTest, AKernelThatIsAloneStaysAsItIs) {
  for (const char* kernel : {"plain<3>", "shared<64>", "sized<2>", "divided<2>"}) {
    const RawCubin raw = compile({kernel});
    const auto cut = kernel_cubin(raw.cubin, raw.symbols.front());
    ASSERT_TRUE(cut.has_value()) << kernel;
    const auto before = read_cubin(raw.cubin), after = read_cubin(*cut);
    ASSERT_TRUE(before && after);
    EXPECT_EQ(before->head.e_flags, after->head.e_flags);
    EXPECT_EQ(before->head.e_phnum, after->head.e_phnum);
    ASSERT_EQ(before->sections.size(), after->sections.size()) << kernel;
    for (std::size_t i = 0; i < before->sections.size(); ++i) {
      const CubinSection &old = before->sections[i], &made = after->sections[i];
      ASSERT_EQ(old.name, made.name) << kernel;
      EXPECT_EQ(old.head.sh_type, made.head.sh_type);
      EXPECT_EQ(old.head.sh_flags, made.head.sh_flags);
      EXPECT_EQ(old.head.sh_addralign, made.head.sh_addralign);
      EXPECT_EQ(old.head.sh_entsize, made.head.sh_entsize);
      EXPECT_EQ(old.head.sh_link, made.head.sh_link) << old.name;
      EXPECT_EQ(old.head.sh_info, made.head.sh_info) << old.name;
      if (old.head.sh_type == SHT_STRTAB) continue;  // names that nobody has are left out
      EXPECT_EQ(old.head.sh_size, made.head.sh_size) << old.name;
      EXPECT_TRUE(old.name == ".symtab" || old.content == made.content) << old.name;
    }
    for (std::uint64_t i = 0; i < before->head.e_phnum; ++i) {
      const auto old =
          *read_at<Elf64_Phdr>(raw.cubin, before->head.e_phoff + i * sizeof(Elf64_Phdr));
      const auto made = *read_at<Elf64_Phdr>(*cut, after->head.e_phoff + i * sizeof(Elf64_Phdr));
      EXPECT_EQ(old.p_type, made.p_type);
      EXPECT_EQ(old.p_flags, made.p_flags);
      // Two sections of a segment may have other bytes between them.
      EXPECT_LT(std::max(old.p_memsz, made.p_memsz) - std::min(old.p_memsz, made.p_memsz), 128U);
      EXPECT_EQ(old.p_memsz - old.p_filesz, made.p_memsz - made.p_filesz);
    }
  }
}

TEST_P(KernelCubinTest, IsTheSameWhateverItWasCompiledWith) {
  const std::vector<std::string> kernels = {"shared<64>", "divided<2>", "plain<3>", "divided<5>"};
  const RawCubin together = compile(kernels);
  std::set<std::string> all;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const RawCubin alone = compile({kernels[i]});
    const auto cut = kernel_cubin(together.cubin, together.symbols[i]);
    ASSERT_TRUE(cut.has_value());
    EXPECT_EQ(cut, kernel_cubin(alone.cubin, alone.symbols.front())) << kernels[i];
    EXPECT_EQ(cut, kernel_cubin(*cut, together.symbols[i]));
    all.insert(*cut);
  }
  EXPECT_EQ(all.size(), kernels.size());
}

TEST_P(KernelCubinTest, VariablesAreLeftOut) {
  const std::string with =
      std::string(kSeveralKernels) +
      "template <int N> struct Rows {\n"
      "  static constexpr int kCount = N;\n"
      "  __device__ static int count() { return kCount; } };\n"
      "template <int N> __global__ void counted(float* x) { *x = Rows<N>::count(); }";
  const RawCubin raw = compile({"counted<3>"}, with);
  const auto cut = kernel_cubin(raw.cubin, raw.symbols.front());
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(cut->find("kCount"), std::string::npos);
}

TEST_P(KernelCubinTest, RefusesWhatItDoesNotKnow) {
  const RawCubin raw = compile({"divided<2>"});
  EXPECT_FALSE(kernel_cubin(raw.cubin, "divided"));
  EXPECT_FALSE(kernel_cubin("", raw.symbols.front()));
  EXPECT_FALSE(
      kernel_cubin("\x7f"
                   "ELF",
                   raw.symbols.front()));
  // A section of another name.
  std::string other = raw.cubin;
  other.replace(other.find(".nv.callgraph"), 13, ".nv.callgrapX");
  EXPECT_FALSE(kernel_cubin(other, raw.symbols.front()));
}

// No damage makes it read outside of the file, which a sanitizer would see.
TEST_P(KernelCubinTest, DamageIsSurvived) {
  const RawCubin raw = compile({"divided<2>", "shared<64>"});
  for (std::size_t size = 0; size < raw.cubin.size(); size += 61) {
    static_cast<void>(kernel_cubin(std::string_view(raw.cubin).substr(0, size), raw.symbols[0]));
  }
  for (std::size_t at = 0; at < raw.cubin.size(); at += 7) {
    std::string damaged = raw.cubin;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    static_cast<void>(kernel_cubin(damaged, raw.symbols[1]));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, KernelCubinTest, testing::Values("sm_75", "sm_80", "sm_90a"));

TEST(KernelCubin, CubinsWithASecondFormOfTheCodeAreRefused) {
  const SourceTree sources = {"kernels/test",
                              {{"a.cu", "__global__ void one(float* x) { *x = 1; }"}}};
  const auto compiler = make_nvrtc_compiler("sm_100a");
  ASSERT_TRUE(compiler.ok()) << compiler.status().message();
  const Build build = (*compiler)->compile({&sources, "a.cu", {"one"}, "sm_100a"}).value();
  EXPECT_FALSE(kernel_cubin(build.binary, build.kernels.front().symbol));
}

}  // namespace
}  // namespace mgtune
