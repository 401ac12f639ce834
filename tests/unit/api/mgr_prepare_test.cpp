// mgr_prepare and planning by many threads, on the cpu device: builds are made at the same time,
// and each once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mgruntime/mgruntime.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/helpers/environment_variable.h"
#include "tests/helpers/installed_library.h"
#include "tests/helpers/mgr_plan_options.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kVectorAdd = source_path("tests/families/vector_add");

// A pick that the operator's default is not.
constexpr char kCpuTable[] = R"json({"format": 1, "tables": [{"operator": "vector_add.add",
 "gpu": {"model": "cpu", "arch": "cpu", "sm_count": 8, "l2_bytes": 4194304, "memory_bytes": 0,
         "max_shared_bytes": 166912, "mig_profile": "", "emulation": true},
 "environment": {"mgtune_version": "0.1.0", "compiler": "", "driver": "", "system": ""},
 "picks": [{"problem": "n=100 T=f32", "method": "emulation", "design": "flat",
   "parameters": {"THREADS": 128, "MODE": "good"},
   "median_ns": 900, "default": null, "tie": false,
   "measured_at": "2026-11-21T09:00:00Z"}]}]})json";

class MgrPrepareTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const families[] = {kVectorAdd.c_str()};
    const std::string none = folder_.file("none.db");
    mgr_open_options_t options{};
    options.struct_size = sizeof(options);
    options.device = "cpu";
    options.database = none.c_str();
    options.family_folders = families;
    options.family_folder_count = 1;
    ASSERT_EQ(mgr_open(&options, &context_), MGR_OK) << mgr_last_error();
  }
  void TearDown() override { mgr_close(context_); }

  static MgrPlanOptions problem(const char* op) { return {op, {{"T", "f32"}}, {{"n", 1, 1000}}}; }

  std::size_t builds() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.file("cache"))) {
      count += entry.path().extension() == ".build" ? 1 : 0;
    }
    return count;
  }

  const TestFolder folder_;
  const Variable cache_{"MGTUNE_CACHE_DIR", folder_.file("cache")};
  mgr_context_t* context_ = nullptr;
};

TEST_F(MgrPrepareTest, PlansAllAndSaysWhichFailed) {
  const MgrPlanOptions good = problem("vector_add.add"), unknown = problem("vector_add.sub");
  mgr_plan_options_t small = *good.get();
  small.struct_size = 1;
  const mgr_plan_options_t* const problems[] = {good.get(), unknown.get(), good.get(), &small,
                                                nullptr};
  mgr_plan_t* plans[5] = {};
  mgr_status_t statuses[5] = {};
  EXPECT_EQ(mgr_prepare(context_, problems, 5, 0, plans, statuses), MGR_NOT_FOUND);
  EXPECT_THAT(mgr_last_error(), AllOf(HasSubstr("problem 1: unknown operator 'vector_add.sub'"),
                                      HasSubstr("\nproblem 3: struct_size of the options is 1"),
                                      HasSubstr("\nproblem 4: options is null")));
  EXPECT_THAT(statuses, testing::ElementsAre(MGR_OK, MGR_NOT_FOUND, MGR_OK, MGR_INVALID_ARGUMENT,
                                             MGR_INVALID_ARGUMENT));
  EXPECT_EQ(plans[1], nullptr);
  const std::int64_t none = 0;
  void* const nulls[3] = {};
  for (const int i : {0, 2}) {
    EXPECT_EQ(mgr_launch(plans[i], nullptr, &none, 1, nulls, 3, nullptr, 0, nullptr), MGR_OK);
  }
  for (mgr_plan_t* plan : plans) mgr_plan_free(plan);
}

TEST_F(MgrPrepareTest, LeavesBuildsWhereNobodyTakesThePlans) {
  const MgrPlanOptions good = problem("vector_add.add");
  const mgr_plan_options_t* const problems[] = {good.get()};
  EXPECT_EQ(mgr_prepare(context_, problems, 1, 7, nullptr, nullptr), MGR_OK) << mgr_last_error();
  EXPECT_EQ(builds(), 1U);
  EXPECT_EQ(mgr_prepare(context_, nullptr, 0, 0, nullptr, nullptr), MGR_OK);
  EXPECT_EQ(mgr_prepare(context_, nullptr, 1, 0, nullptr, nullptr), MGR_INVALID_ARGUMENT);
  EXPECT_EQ(mgr_prepare(nullptr, problems, 1, 0, nullptr, nullptr), MGR_INVALID_ARGUMENT);
}

// The compiler is a script that counts how often it is asked to compile a kernel.
TEST_F(MgrPrepareTest, ManyThreadsColdOnOneKeyCompileItOnce) {
  const std::string script = folder_.file("c++"), log = folder_.file("calls");
  std::ofstream(script) << "#!/bin/sh\ncase \"$*\" in *\"-c mgtune_unit.cpp\"*) echo x >> " << log
                        << ";; esac\nexec c++ \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Variable compiler("CXX", script);
  std::atomic<int> planned = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 64; ++i) {
      threads.emplace_back([&] {
        mgr_plan_t* plan = nullptr;
        if (mgr_plan(context_, problem("vector_add.add").get(), &plan) == MGR_OK) ++planned;
        mgr_plan_free(plan);
      });
    }
  }
  EXPECT_EQ(planned, 64);
  EXPECT_EQ(builds(), 1U);
  std::ifstream calls(log);
  std::string first, second;
  EXPECT_TRUE(std::getline(calls, first)) << "never compiled";
  EXPECT_FALSE(std::getline(calls, second)) << "compiled twice";
}

// Each is decoded by whoever comes first; nobody gets a part of one.
TEST_F(MgrPrepareTest, ManyThreadsAskForOperatorsThatNobodyAskedForYet) {
  const std::vector<std::string> names = {"rmsnorm.forward", "rmsnorm.backward", "swiglu.forward",
                                          "swiglu.packed_backward", "attention.decode"};
  std::atomic<int> answered = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 64; ++i) {
      threads.emplace_back([&, i] {
        const std::string& name = names[i % names.size()];
        // Refused by the operator, before anything is compiled.
        const MgrPlanOptions options(name.c_str(), {{"nothing", "1"}}, {});
        mgr_plan_t* plan = nullptr;
        EXPECT_EQ(mgr_plan(context_, options.get(), &plan), MGR_INVALID_ARGUMENT);
        EXPECT_THAT(mgr_last_error(), HasSubstr("unknown name 'nothing': " + name + " takes "));
        ++answered;
      });
    }
  }
  EXPECT_EQ(answered, 64);
}

// The tables that ship, and one for the cpu device, below a prefix.
void install_tables(const TestFolder& prefix) {
  const std::string folder = prefix.file("share/mgtune/results");
  std::filesystem::create_directories(folder);
  std::filesystem::copy(source_path("results/h200"), folder + "/h200");
  std::ofstream(folder + "/cpu.tuned.json") << kCpuTable;
}

// Rows of installed tables are added to the context while others read them. Shipped operators are
// refused once their rows were looked at, so that only one small kernel is compiled.
TEST_F(MgrPrepareTest, ManyThreadsPlanDifferentOperatorsWithInstalledTables) {
  const Variable nothing("MGTUNE_DB", ""), no_results("XDG_DATA_HOME", folder_.file("none"));
  install_tables(folder_);
  const InstalledLibrary library(folder_.path(), "lib");
  ASSERT_TRUE(library.is_there()) << ::dlerror();
  const auto plan_function = library.of(&::mgr_plan, "mgr_plan");
  const auto free_function = library.of(&::mgr_plan_free, "mgr_plan_free");
  const auto explain_function = library.of(&::mgr_explain, "mgr_explain");
  const auto error_function = library.of(&::mgr_last_error, "mgr_last_error");

  const char* const families[] = {kVectorAdd.c_str()};
  mgr_open_options_t open{};
  open.struct_size = sizeof(open);
  open.device = "cpu";
  open.family_folders = families;
  open.family_folder_count = 1;
  mgr_context_t* context = nullptr;
  ASSERT_EQ(library.of(&::mgr_open, "mgr_open")(&open, &context), MGR_OK) << error_function();

  const std::vector<const char*> shipped = {
      "rmsnorm.forward", "rmsnorm.add_forward", "rmsnorm.backward", "rmsnorm.add_backward",
      "swiglu.forward",  "swiglu.backward",     "attention.decode"};
  std::atomic<int> refused = 0, planned = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 64; ++i) {
      threads.emplace_back([&, i] {
        mgr_plan_t* plan = nullptr;
        if (i % 4 != 0) {
          const char* const name = shipped[i % shipped.size()];
          std::vector<mgr_assignment_t> words = {{"T", "bf16"}};
          if (std::string_view(name).starts_with("rmsnorm")) words.push_back({"hidden", "4096"});
          if (std::string_view(name).starts_with("attention")) words.push_back({"head_dim", "128"});
          const MgrPlanOptions options(name, words, {});
          EXPECT_EQ(plan_function(context, options.get(), &plan), MGR_INVALID_ARGUMENT);
          EXPECT_THAT(error_function(), HasSubstr("needs a range; it has no default")) << name;
          ++refused;
          return;
        }
        const MgrPlanOptions add = problem("vector_add.add");
        ASSERT_EQ(plan_function(context, add.get(), &plan), MGR_OK) << error_function();
        const std::int64_t n = 100;
        std::vector<char> text(4096);
        EXPECT_EQ(explain_function(plan, &n, 1, text.data(), text.size(), nullptr), MGR_OK);
        EXPECT_THAT(text.data(),
                    AllOf(HasSubstr("variant   flat THREADS=128 MODE=good\n"),
                          HasSubstr("installed tables, 1 tuned problem of vector_add.add\n")));
        free_function(plan);
        ++planned;
      });
    }
  }
  library.of(&::mgr_close, "mgr_close")(context);
  EXPECT_EQ(refused, 48);
  EXPECT_EQ(planned, 16);
}

}  // namespace
}  // namespace mgtune
