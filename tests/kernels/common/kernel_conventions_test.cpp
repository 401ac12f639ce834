// Greps kernels/ for breaches of the conventions that let NVRTC, nvcc and the cpu device compile
// the same text (kernels/README.md), and proves on planted breaches that the checker itself sees
// them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "system/file_system.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

constexpr char kDeviceHeaders[] = "kernels/common/mg/";

struct Rule {
  const char* pattern;
  const char* reason;
  bool holds_in_device_headers;  // kernels/common/mg may do what others may not
};

const Rule kRules[] = {
    {R"(#\s*include\s+(?!<cuda_fp16\.h>|<cuda_bf16\.h>|<cuda_fp8\.h>|<mg/[\w./]+>|"\w+\.cuh"))",
     "includes only cuda_fp16.h, cuda_bf16.h, cuda_fp8.h, <mg/...> and headers of its folder",
     false},
    {R"(\bextern\s+__shared__)", "dynamic shared memory comes from mg::dynamic_shared()", false},
    {R"(\b__shared__\b)", "static shared arrays are declared by MG_SHARED", false},
    {R"(\basm\b)", "PTX lives in kernels/common/mg", false},
    {R"(\b__cvta_\w+)", "shared addresses as integers live in kernels/common/mg", false},
    {R"(\b__nanosleep\b|\bvolatile\b)", "waiting loops live in kernels/common/mg", false},
    {R"(\b(__CUDA_ARCH__|__CUDACC__|__CUDACC_RTC__)\b)",
     "the choice between GPU and cpu device lies in kernels/common/mg", false},
    {R"(\b(rsqrtf|fdividef|h(exp|exp2|log|log2|log10|sqrt|rsqrt|rcp|sin|cos|tanh)|h2\w+)\s*\()"
     R"(|\b__(exp|log|sin|cos|pow|fdivide|frcp|fsqrt|frsqrt|hfma|hadd|hmul|hsub|hdiv|hmax|hmin)\w*\s*\()",
     "intrinsics come from <mg/math.cuh>", false},
    {R"(\bu?int(8|16|32|64)_t\b|\bsize_t\b)", "fixed-width integers come from <mg/types.cuh>",
     false},
    {R"(\b__(shfl|shfl_up|shfl_down|shfl_xor|ballot|any|all)\s*\()",
     "a collective names its lanes: the _sync forms", true},
    {R"(\b__activemask\b)", "a mask is written down, never read from the hardware", true},
    {R"(cooperative_groups|\bcub::|cuda/barrier)",
     "cooperative_groups, cub and cuda/barrier take longer to compile than a light kernel", true},
    {R"(%smid\b)", "no result or work depends on the SM's number", true},
    {R"(<<<)", "kernels launch nothing, least of all on the null stream", true},
};

const std::vector<std::regex>& patterns() {
  static const std::vector<std::regex> compiled = [] {
    std::vector<std::regex> result;
    for (const Rule& rule : kRules) result.emplace_back(rule.pattern, std::regex::optimize);
    return result;
  }();
  return compiled;
}

// Where NVRTC may choose ld.global.nc, or is told to. Its lines in an SM's L1 may be older than
// what the grid before writes, if this one began before that ended.
const std::regex& read_only_path() {
  static const std::regex compiled(
      R"(\bconst [\w:]+\s*\*\s*__restrict__|\b__ldg\s*\(|ld\.global\.nc)", std::regex::optimize);
  return compiled;
}

// A header does not know who includes it, and a source may get the wait from a header of its
// folder.
bool may_be_in_dependent_launches(const std::string& path, const std::string& content) {
  return path.ends_with(".cuh") || content.find("#include \"") != std::string::npos ||
         content.find("#include <mg/grid_dependency.cuh>") != std::string::npos;
}

// The file that `#include "name.cuh"` names, beside `path`; "" if the line is no such include.
std::string included_beside(const std::string& path, const std::string& line) {
  static const std::regex pattern(R"re(#\s*include\s+"(\w+\.cuh)")re", std::regex::optimize);
  std::smatch match;
  if (!std::regex_search(line, match, pattern)) return "";
  return path.substr(0, path.rfind('/') + 1) + match[1].str();
}

std::string without_comment(const std::string& line) { return line.substr(0, line.find("//")); }

std::string place(const std::string& path, std::size_t line, const std::string& reason) {
  return path + ":" + std::to_string(line) + ": " + reason;
}

bool opens_with_comment(const std::string& content) { return content.starts_with("// "); }

// The opening comment: every line up to the first that is not one.
std::string opening_comment(const std::string& content) {
  std::istringstream lines(content);
  std::string comment;
  for (std::string line; std::getline(lines, line) && line.starts_with("//");)
    comment += line + "\n";
  return comment;
}

// What the opening comment of a file has to speak of, by the file's part in its family.
std::vector<std::string> required_words(const std::string& path) {
  if (!path.ends_with(".cu")) return {};
  if (path.ends_with("/reference.cu") || path.starts_with("kernels/common/")) {
    return {"Algorithm", "Traffic", "Numerics"};
  }
  return {"Algorithm", "Traffic", "Work", "Tunables", "Numerics"};
}

std::vector<std::string> breaches(const std::string& path, const std::string& content) {
  std::vector<std::string> found;
  const bool device_header = path.starts_with(kDeviceHeaders);
  const bool dependent = may_be_in_dependent_launches(path, content);

  std::istringstream lines(content);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const std::string code = without_comment(line);
    for (std::size_t i = 0; i < std::size(kRules); ++i) {
      if (device_header && !kRules[i].holds_in_device_headers) continue;
      if (std::regex_search(code, patterns()[i])) {
        found.push_back(place(path, number, kRules[i].reason));
      }
    }
    const std::string included = included_beside(path, code);
    if (!included.empty() && !FileSystem::real().read_file(source_path(included)).ok()) {
      found.push_back(place(path, number, "includes only headers that are there: " + included));
    }
    if (dependent && std::regex_search(code, read_only_path())) {
      found.push_back(place(path, number, "dependent launches use no read-only path"));
    }
  }

  if (!opens_with_comment(content)) {
    found.push_back(place(path, 1, "opens with a comment that says what it is"));
  }
  const std::string comment = opening_comment(content);
  for (const std::string& word : required_words(path)) {
    if (comment.find("// " + word + " ") == std::string::npos) {
      found.push_back(place(path, 1, "the opening comment has no line '" + word + "'"));
    }
  }
  if (path.ends_with(".cuh") && content.find("#pragma once") == std::string::npos) {
    found.push_back(place(path, 1, "a header says #pragma once"));
  }
  return found;
}

std::size_t occurrences(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), regex), std::sregex_iterator()));
}

std::vector<std::string> kernel_sources() {
  std::vector<std::string> paths;
  const auto listed = FileSystem::real().list_files(source_path("kernels"));
  EXPECT_TRUE(listed.ok()) << listed.status().message();
  for (const std::string& name : listed.value()) {
    if (name.ends_with(".cu") || name.ends_with(".cuh")) paths.push_back("kernels/" + name);
  }
  return paths;
}

std::string content_of(const std::string& path) {
  auto content = FileSystem::real().read_file(source_path(path));
  EXPECT_TRUE(content.ok()) << content.status().message();
  return content.ok() ? *std::move(content) : std::string();
}

TEST(KernelConventions, HoldInEverySource) {
  const std::vector<std::string> paths = kernel_sources();
  EXPECT_THAT(paths, testing::IsSupersetOf({"kernels/rmsnorm/forward.cu", "kernels/common/fill.cu",
                                            "kernels/common/mg/shared.cuh"}));
  std::string report;
  for (const std::string& path : paths) {
    for (const std::string& breach : breaches(path, content_of(path))) report += breach + "\n";
  }
  EXPECT_EQ(report, "");
}

TEST(KernelConventions, ExternSharedStandsOnce) {
  std::size_t count = 0;
  for (const std::string& path : kernel_sources()) {
    std::istringstream lines(content_of(path));
    for (std::string line; std::getline(lines, line);) {
      count += occurrences(without_comment(line), R"(\bextern\s+__shared__)");
    }
  }
  EXPECT_EQ(count, 1u);
}

constexpr char kHeader[] =
    "// a — formula\n// Algorithm  a\n// Traffic    b\n// Work       c\n// Tunables   d\n"
    "// Numerics   e\n";

struct Planted {
  const char* code;
  const char* reason;
};

class KernelConventionsPlanted : public testing::TestWithParam<Planted> {};

TEST_P(KernelConventionsPlanted, IsFoundWithItsLine) {
  const std::string content = std::string(kHeader) + GetParam().code + "\n";
  const std::vector<std::string> found = breaches("kernels/planted/forward.cu", content);
  EXPECT_THAT(
      found, testing::Contains(testing::AllOf(testing::StartsWith("kernels/planted/forward.cu:7: "),
                                              testing::HasSubstr(GetParam().reason))));
}

INSTANTIATE_TEST_SUITE_P(
    EachRule, KernelConventionsPlanted,
    testing::Values(
        Planted{"#include <cstdint>", "includes only"},
        Planted{"#include \"helpers.cuh\"", "includes only headers that are there"},
        Planted{"#include \"../common/mg/vec.cuh\"", "includes only"},
        Planted{"  #  include <cuda_runtime.h>", "includes only"},
        Planted{"extern __shared__ float buffer[];", "mg::dynamic_shared()"},
        Planted{"__shared__ float partial[32];", "MG_SHARED"},
        Planted{"asm volatile(\"bar.sync 1;\");", "PTX"},
        Planted{"auto a = __cvta_generic_to_shared(p);", "shared addresses"},
        Planted{"while (*flag == 0) __nanosleep(20);", "waiting loops"},
        Planted{"const volatile int* flag = p;", "waiting loops"},
        Planted{"#if __CUDA_ARCH__ >= 900", "GPU and cpu device"},
        Planted{"y = rsqrtf(x);", "<mg/math.cuh>"}, Planted{"y = __expf(x);", "<mg/math.cuh>"},
        Planted{"y = __hfma2(a, b, c);", "<mg/math.cuh>"}, Planted{"y = hexp(x);", "<mg/math.cuh>"},
        Planted{"int64_t rows;", "fixed-width"}, Planted{"std::uint32_t bits;", "fixed-width"},
        Planted{"v = __shfl_xor(v, 1);", "_sync forms"}, Planted{"mask = __activemask();", "mask"},
        Planted{"namespace cg = cooperative_groups;", "cooperative_groups"},
        Planted{"\"mov.u32 %0, %smid;\"", "SM's number"},
        Planted{"child<<<1, 32>>>(x);", "null stream"}));

TEST(KernelConventions, DependentLaunchesUseNoReadOnlyPath) {
  for (const char* code : {"f(const T* __restrict__ x) {}", "f(const mg::i32 *__restrict__ n) {}",
                           "y = __ldg(x);", "\"ld.global.nc.f32 %0, [%1];\""}) {
    EXPECT_THAT(breaches("kernels/planted/forward.cu",
                         std::string(kHeader) + "#include <mg/grid_dependency.cuh>\n" + code),
                testing::ElementsAre(
                    "kernels/planted/forward.cu:8: dependent launches use no read-only path"));
    EXPECT_THAT(breaches("kernels/rmsnorm/planted.cu",
                         std::string(kHeader) + "#include \"forward_rows.cuh\"\n" + code),
                testing::ElementsAre(
                    "kernels/rmsnorm/planted.cu:8: dependent launches use no read-only path"));
    EXPECT_THAT(
        breaches("kernels/rmsnorm/planted.cuh", std::string("// planted\n#pragma once\n") + code),
        testing::ElementsAre(
            "kernels/rmsnorm/planted.cuh:3: dependent launches use no read-only path"));
    EXPECT_THAT(breaches("kernels/planted/forward.cu", std::string(kHeader) + code),
                testing::IsEmpty());
  }
  EXPECT_THAT(breaches("kernels/planted/forward.cu",
                       std::string(kHeader) + "#include <mg/grid_dependency.cuh>\n" +
                           "f(const T* x, T* __restrict__ y) {}  // no const T* __restrict__\n"),
              testing::IsEmpty());
}

TEST(KernelConventions, SeeMissingPartsOfTheOpeningComment) {
  EXPECT_THAT(
      breaches("kernels/planted/forward.cu", "#include <mg/vec.cuh>\n"),
      testing::Contains("kernels/planted/forward.cu:1: opens with a comment that says what it is"));
  EXPECT_THAT(breaches("kernels/planted/forward.cu", "// a\n// Algorithm  x\n"),
              testing::IsSupersetOf(
                  {"kernels/planted/forward.cu:1: the opening comment has no line 'Traffic'",
                   "kernels/planted/forward.cu:1: the opening comment has no line 'Numerics'"}));
  EXPECT_THAT(breaches("kernels/common/mg/x.cuh", "// x\nint a;\n"),
              testing::Contains("kernels/common/mg/x.cuh:1: a header says #pragma once"));
}

TEST(KernelConventions, AllowWhatIsAllowed) {
  const std::string allowed = std::string(kHeader) +
                              "#include <cuda_fp16.h>\n#include <mg/vec.cuh>\n"
                              "v = __shfl_xor_sync(0xffffffffu, v, 1);  // not __shfl_xor(\n"
                              "MG_SHARED(float, scratch, [32]);\n";
  EXPECT_THAT(breaches("kernels/planted/forward.cu", allowed), testing::IsEmpty());
  EXPECT_THAT(breaches("kernels/common/mg/x.cuh",
                       "// x\n#pragma once\n#include <cuda_fp16.h>\nasm volatile(\"nop;\");\n"),
              testing::IsEmpty());
}

}  // namespace
}  // namespace mgtune
