// mgtune new and mgtune header: the templates sweep as they are, and a program with the typed
// functions computes what the template says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "scaffold/new_family.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CliNewTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return mgtune_.folder().file(name); }

  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
};

TEST_F(CliNewTest, EachTemplateSweepsWithoutAFailure) {
  for (const std::string& name : template_names()) {
    const std::string folder = file("my_" + name);
    const Ended made = mgtune_.run({"new", folder, "--like", name});
    ASSERT_EQ(made.exit_code, 0) << made;
    EXPECT_THAT(made.out, AllOf(HasSubstr("next: mgtune check " + folder),
                                HasSubstr("then: mgtune sweep --kernel " + folder)));
    EXPECT_THAT(file_content(folder + "/README.md"), HasSubstr("key by key"));
    const Ended swept = mgtune_.run({"sweep", "--kernel", folder, "--gpu", "cpu", "--budget", "2"});
    EXPECT_EQ(swept.exit_code, 0) << name << ": " << swept;
  }
}

TEST_F(CliNewTest, NothingIsOverwritten) {
  const std::string folder = file("mine");
  std::filesystem::create_directory(folder);
  EXPECT_EQ(mgtune_.run({"new", folder}).exit_code, 0);
  expect_refused(mgtune_.run({"new", folder}), 2, HasSubstr("exists and is not empty"));
  expect_refused(mgtune_.run({"new", folder + "/add.json"}), 2, HasSubstr("'add.json'"));
}

TEST_F(CliNewTest, WrongWordsAreRefused) {
  expect_refused(mgtune_.run({"new"}), 2, HasSubstr("DIR is required"));
  expect_refused(mgtune_.run({"new", "my-family"}), 2, HasSubstr("C identifier"));
  expect_refused(mgtune_.run({"new", file("rmsnorm")}), 2, HasSubstr("is built into mgtune"));
  expect_refused(mgtune_.run({"new", file("a"), "--like", "stencl"}), 2,
                 AllOf(HasSubstr("elementwise, matmul, reduction, stencil"),
                       HasSubstr("did you mean 'stencil'?")));
  expect_refused(mgtune_.run({"new", file("a"), "--like", "stencil", "--from", "k.cu"}), 2,
                 HasSubstr("exclude each other"));
  expect_refused(mgtune_.run({"new", file("a"), "--kernel", "k"}), 2, HasSubstr("needs --from"));
  expect_refused(mgtune_.run({"new", file("a"), "--from", file("none.cu")}), 5,
                 HasSubstr("none.cu"));
  EXPECT_FALSE(std::filesystem::exists(file("a")));
}

TEST_F(CliNewTest, TheReferenceOfAKernelGivesNanUntilItIsWritten) {
  const std::string kernel = file("twice.cu"), folder = file("mine");
  std::ofstream(kernel) << "template <int BLOCK>\n"
                           "__global__ void twice(const float* x, float* y, int n) {\n"
                           "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
                           "  if (i < n) y[i] = 2 * x[i];\n}\n";
  ASSERT_EQ(mgtune_.run({"new", folder, "--from", kernel}).exit_code, 0);
  const MgtuneProgram::Words sweep = {"sweep", "--kernel", folder, "--gpu", "cpu"};
  const Ended wrong = mgtune_.run(sweep);
  EXPECT_EQ(wrong.exit_code, 3) << wrong;
  EXPECT_THAT(wrong.err, HasSubstr("3 wrong")) << wrong;
  replace_in_file(folder + "/reference.cu", "not_written_yet;", "2.0 * x[i];");
  const Ended right = mgtune_.run(sweep);
  EXPECT_EQ(right.exit_code, 0) << right;
}

// Macros, names that C headers define, and extern "C": what kernels that were written for nvcc use.
TEST_F(CliNewTest, AKernelThatWasWrittenForNvccIsCheckedAsItIs) {
  const std::string kernel = file("largest.cu"), folder = file("mine");
  std::ofstream(kernel)
      << "#include <cfloat>\n#include <cstdint>\n#include <iostream>\n"
         "#ifndef BLOCK_SIZE\n#define BLOCK_SIZE 64\n#endif\n"
         "extern \"C\" __global__ void largest(const float* x, float* y, int n) {\n"
         "  const uint32_t i = blockIdx.x * BLOCK_SIZE + threadIdx.x;\n"
         "  if (i < n) y[i] = fmaxf(x[i], i > 9 ? -FLT_MAX : -INFINITY);\n}\n"
         "int main() { std::cout << 1; }\n";
  const Ended made = mgtune_.run({"new", folder, "--from", kernel});
  ASSERT_EQ(made.exit_code, 0) << made;
  replace_in_file(folder + "/reference.cu", "not_written_yet;", "x[i];");
  const Ended checked = mgtune_.run({"check", folder, "--gpu", "cpu", "--arch", "sm_80"});
  EXPECT_EQ(checked.exit_code, 0) << checked;
  EXPECT_THAT(checked.out, HasSubstr("no problem found; next: mgtune sweep --kernel " + folder));
}

// The same text is C11 and C++20.
constexpr const char* kProgram = R"(#include "ops.h"
int main(void) {
  const char* const folders[] = {FOLDER};
  float x[5] = {0, 1, 2, 3, 4}, y[5] = {10, 10, 10, 10, 10}, z[5] = {0, 0, 0, 0, 0};
  mgr_open_options_t open;
  mgr_context_t* context = NULL;
  mine_add_plan_options_t made_for;
  mine_add_f32_plan_t plan;
  mine_add_dims_t dims;
  int i;
  memset(&open, 0, sizeof(open));
  open.struct_size = sizeof(open);
  open.device = "cpu";
  open.family_folders = folders;
  open.family_folder_count = 1;
  made_for.smallest.n = 1;
  made_for.largest.n = 100;
  dims.n = 5;
  if (mgr_open(&open, &context) != MGR_OK || mine_add_f32_plan(context, &made_for, &plan) != MGR_OK) {
    printf("%s\n", mgr_last_error());
    return 1;
  }
#ifdef __cplusplus
  const mgr::Status is_short = mine_add_launch(plan, dims, std::span(x, 4), std::span(y), std::span(z));
  if (is_short || is_short.error().message.find("'x' has 4 elements") == std::string::npos) return 2;
  if (!mine_add_launch(plan, dims, std::span(x), std::span(y), std::span(z))) return 3;
#else
  if (mine_add_f32_launch(&plan, NULL, &dims, x, y, z, NULL) != MGR_OK) return 3;
#endif
  for (i = 0; i < 5; ++i) printf("%g ", (double)z[i]);
  mgr_plan_free(plan.handle);
  mgr_close(context);
  return 0;
}
)";

TEST_F(CliNewTest, AProgramCallsTheTypedFunctions) {
  if (std::string(MGTUNE_SANITIZE) != "")
    GTEST_SKIP() << "the program would need the sanitizer too";
  const std::string folder = file("mine"), header = file("ops.h");
  ASSERT_EQ(mgtune_.run({"new", folder}).exit_code, 0);
  const Ended made = mgtune_.run({"header", folder, "-o", header});
  ASSERT_EQ(made.exit_code, 0) << made;
  EXPECT_THAT(made.out, HasSubstr("mine_add_f32_launch()"));
  std::ofstream(file("main.c")) << kProgram;
  std::filesystem::copy(file("main.c"), file("main.cpp"));
  const std::string library = runtime_library_path();
  for (const char* const compiler : {"cc -std=c11 main.c", "c++ -std=c++20 main.cpp"}) {
    const std::string command = "cd '" + mgtune_.folder().path() + "' && " + compiler +
                                " -Wall -Wextra -Werror -DFOLDER='\"" + folder + "\"' -I '" +
                                source_path("runtime/include") + "' '" + library +
                                "' -Wl,-rpath,'" +
                                std::filesystem::path(library).parent_path().string() +
                                "' -o program && MGTUNE_DB= XDG_DATA_HOME=" + folder +
                                " MGTUNE_CACHE_DIR='" + cache_.path() + "' ./program > result";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    EXPECT_EQ(file_content(file("result")), "10 11 12 13 14 ") << compiler;
  }
}

// What follows "next: " in the text.
std::string next_command(const std::string& text) {
  const std::size_t start = text.find("next: ");
  if (start == std::string::npos) return "";
  return text.substr(start + 6, text.find('\n', start) - start - 6);
}

// Each command prints the next one. They are run as they are printed, but on the cpu device, so
// that the test needs no GPU; the last one compiles a program.
TEST_F(CliNewTest, TheCommandsThatAreNamedNextLeadToAProgram) {
  if (std::string(MGTUNE_SANITIZE) != "")
    GTEST_SKIP() << "the program would need the sanitizer too";
  const std::string folder = mgtune_.folder().path(), library = runtime_library_path();
  const std::string library_folder = std::filesystem::path(library).parent_path().string();
  std::ofstream(file("mgruntime.pc"))
      << "Name: mgruntime\nDescription: as built\nVersion: 1\nCflags: -I"
      << source_path("runtime/include") << "\nLibs: " << library << " -Wl,-rpath," << library_folder
      << "\n";
  std::string written = kProgram;
  written.replace(written.find("ops.h"), 5, "mine_ops.h");
  written.replace(written.find("FOLDER"), 6, "\"mine\"");
  std::ofstream(file("program.c")) << written;
  const std::string before = "cd '" + folder + "'; export HOME='" + folder + "' XDG_DATA_HOME='" +
                             file("data") + "' MGTUNE_CACHE_DIR='" + cache_.path() +
                             "' PKG_CONFIG_PATH='" + folder + "'; unset MGTUNE_DB; mgtune() { '" +
                             mgtune_path() + "' \"$@\"; }; ";
  std::string command = "mgtune new mine";
  for (const std::string expected :
       {"mgtune new mine", "mgtune check mine", "mgtune sweep --kernel mine",
        "mgtune header mine -o mine_ops.h",
        "cc program.c -o program $(pkg-config --cflags --libs mgruntime)"}) {
    ASSERT_EQ(command, expected) << file_content(file("out"));
    const bool runs_kernels = command.find(" check ") != std::string::npos ||
                              command.find(" sweep ") != std::string::npos;
    std::ofstream(file("step.sh")) << before << command << (runs_kernels ? " --gpu cpu" : "");
    ASSERT_EQ(std::system(("bash '" + file("step.sh") + "' >'" + file("out") + "' 2>&1").c_str()),
              0)
        << command << "\n"
        << file_content(file("out"));
    command = next_command(file_content(file("out")));
  }
  EXPECT_EQ(std::system((before + "./program > result").c_str()), 0);
  EXPECT_EQ(file_content(file("result")), "10 11 12 13 14 ");
}

TEST_F(CliNewTest, AHeaderNeedsAFamily) {
  expect_refused(mgtune_.run({"header", "rmsnorm"}), 2, HasSubstr("--output is required"));
  expect_refused(mgtune_.run({"header", "rmsnrm", "-o", file("ops.h")}), 2,
                 HasSubstr("did you mean 'rmsnorm'?"));
}

}  // namespace
}  // namespace mgtune
