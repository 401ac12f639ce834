// What a process loads until its first launch: with a pack or a warm cache neither a compiler nor a
// wrong cubin. On the stand-in for a GPU, with cubins that NVRTC made.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mgruntime/mgruntime.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "tests/helpers/environment_variable.h"
#include "tests/helpers/fakes/stand_in_gpu.h"
#include "tests/helpers/installed_library.h"
#include "tests/helpers/mgr_plan_options.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_folder.h"

namespace {

std::atomic<std::int64_t> allocations = 0, locks = 0;

}  // namespace

// All that C++ allocates, and every mutex that is locked, where no sanitizer does the same.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
__attribute__((noinline)) void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes); memory != nullptr) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto real = reinterpret_cast<Lock>(::dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks;
  return real(mutex);
}
#endif

namespace mgtune {
namespace {

using testing::HasSubstr;
using testing::Not;

class ProcessStartTest : public testing::Test {
 protected:
  // The files are made by processes of their own: this one must not have compiled anything.
  static void SetUpTestSuite() {
    if (*MGTUNE_SANITIZE != '\0') return;
    folder_ = new TestFolder();
    gpu_ = new StandInGpu();
    std::ofstream(folder_->file("here.tuned.json")) << rmsnorm_table();
    std::ofstream(folder_->file("other.tuned.json")) << rmsnorm_table("NVIDIA L4");
    for (const char* const name : {"here", "other"}) {
      MgtuneProgram mgtune(folder_->file("cache"));
      const bool is_here = std::string(name) == "here";
      const Ended ended =
          mgtune.run({"pack", "--kernel", "rmsnorm", "--gpu", is_here ? "H200" : "L4", "--table",
                      file(name, ".tuned.json"), "-o", file(name, ".mgpack")});
      ASSERT_EQ(ended.exit_code, 0) << ended;
    }
  }
  static void TearDownTestSuite() {
    delete gpu_;
    delete folder_;
  }
  void SetUp() override {
    if (*MGTUNE_SANITIZE != '\0') GTEST_SKIP() << "NVRTC is not tested under sanitizers";
  }

  static std::string file(const std::string& name, const std::string& suffix) {
    return folder_->file(name + suffix);
  }

  // A plan of rmsnorm.forward for any rows, with some memory; `status` says how far it came.
  struct Planned {
    explicit Planned(const std::string& source) {
      mgr_open_options_t open{};
      open.struct_size = sizeof(open);
      open.device = "H200";
      open.database = source.c_str();
      status = mgr_open(&open, &context);
      if (status == MGR_OK) status = mgr_plan(context, options.get(), &plan);
      if (status == MGR_OK) status = mgr_allocate(context, 1 << 20, &memory);
    }
    Planned(const Planned&) = delete;
    Planned& operator=(const Planned&) = delete;
    ~Planned() {
      mgr_free(context, memory);
      mgr_plan_free(plan);
      mgr_close(context);
    }
    const MgrPlanOptions options{
        "rmsnorm.forward", {{"hidden", "1024"}, {"T", "bf16"}}, {{"rows", 1, 100000}}};
    mgr_context_t* context = nullptr;
    mgr_plan_t* plan = nullptr;
    void* memory = nullptr;
    mgr_status_t status;
  };

  // Opens, plans and launches; what mgr_explain says of it, or the last error.
  static std::string run(const std::string& source, mgr_status_t expected = MGR_OK) {
    const Planned planned(source);
    mgr_status_t status = planned.status;
    const std::int64_t dims[] = {512, -1};
    void* const tensors[] = {planned.memory, planned.memory, planned.memory, nullptr};
    const double scalars[] = {1e-6, 0};
    if (status == MGR_OK) {
      status = mgr_launch(planned.plan, nullptr, dims, 2, tensors, 4, scalars, 2, nullptr);
    }
    std::vector<char> text(10000);
    if (status == MGR_OK) {
      status = mgr_explain(planned.plan, dims, 2, text.data(), text.size(), nullptr);
    }
    std::string result = status == MGR_OK ? text.data() : mgr_last_error();
    EXPECT_EQ(status, expected) << result;
    return result;
  }

  static TestFolder* folder_;
  static StandInGpu* gpu_;
};

TestFolder* ProcessStartTest::folder_ = nullptr;
StandInGpu* ProcessStartTest::gpu_ = nullptr;

TEST_F(ProcessStartTest, APackNeedsNoCompiler) {
  const Variable no_cache("MGTUNE_CACHE_DIR", folder_->file("empty"));
  const Variable no_nvrtc("MGTUNE_NVRTC_PATH", "/nowhere/libnvrtc.so.13");
  const std::int64_t launches = gpu_->launches();
  const std::string text = run(file("here", ".mgpack"));
  EXPECT_EQ(gpu_->launches(), launches + 1);
  EXPECT_THAT(text, HasSubstr("chosen    exact problem: tuned for rows=512 hidden=1024 T=bf16"));
  EXPECT_THAT(text, HasSubstr("here.mgpack, 1 tuned problem and "));
  EXPECT_THAT(text, Not(HasSubstr("left out")));
  EXPECT_THAT(text, Not(HasSubstr("note")));
  EXPECT_FALSE(is_loaded("libnvrtc"));
  EXPECT_FALSE(is_loaded("libmgruntime-cpu"));
}

TEST_F(ProcessStartTest, NeitherDoesAWarmCache) {
  const Variable cache("MGTUNE_CACHE_DIR", folder_->file("cache"));
  EXPECT_THAT(run(file("here", ".tuned.json")), HasSubstr("chosen    exact problem: "));
  EXPECT_FALSE(is_loaded("libnvrtc"));
}

TEST_F(ProcessStartTest, APackOfAnotherGpuIsSaidOnceAndItsBuildsAreTheRightOnes) {
  const Variable no_cache("MGTUNE_CACHE_DIR", folder_->file("empty"));
  const Variable no_nvrtc("MGTUNE_NVRTC_PATH", "/nowhere/libnvrtc.so.13");
  testing::internal::CaptureStderr();
  const std::string text = run(file("other", ".mgpack"));
  run(file("other", ".mgpack"));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("chosen    default ladder: "));
  EXPECT_THAT(text, HasSubstr("is for NVIDIA L4, not for this NVIDIA H200"));
  const std::size_t first = said.find("is for NVIDIA L4, not for this NVIDIA H200");
  EXPECT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find("is for NVIDIA L4", first + 1), std::string::npos) << said;
}

TEST_F(ProcessStartTest, NothingOfADamagedPackReachesTheDriver) {
  const std::string pack = file_content(file("here", ".mgpack"));
  const std::int64_t loads = gpu_->loads();
  for (const std::size_t place : {pack.size() / 2, pack.size() - 1, pack.size() / 4 * 3}) {
    std::string damaged = pack;
    damaged[place] = static_cast<char>(damaged[place] ^ 1);
    std::ofstream(folder_->file("damaged.mgpack")) << damaged;
    EXPECT_THAT(run(folder_->file("damaged.mgpack"), MGR_CORRUPT), HasSubstr("damaged.mgpack: "));
    EXPECT_EQ(file_content(folder_->file("damaged.mgpack")), damaged);
  }
  std::string newer = pack;
  newer.replace(newer.find("pack 2"), 6, "pack 3");
  std::ofstream(folder_->file("newer.mgpack")) << newer;
  run(folder_->file("newer.mgpack"), MGR_INCOMPATIBLE);
  EXPECT_EQ(file_content(folder_->file("newer.mgpack")), newer);
  EXPECT_EQ(gpu_->loads(), loads);
}

// What a launch does besides calling the driver, counted.
TEST_F(ProcessStartTest, ALaunchAllocatesAndLocksNothing) {
  const Planned planned(file("here", ".mgpack"));
  ASSERT_EQ(planned.status, MGR_OK) << mgr_last_error();
  void* const tensors[] = {planned.memory, planned.memory, planned.memory, nullptr};
  const double scalars[] = {1e-6, 0};
  const std::int64_t launched = gpu_->launches();
  const std::int64_t before = allocations + locks;
  int failures = 0;
  for (std::int64_t rows = 1; rows <= 100'000; ++rows) {
    const std::int64_t dims[] = {rows, rows % 3 == 0 ? 1032 : -1};
    failures +=
        mgr_launch(planned.plan, nullptr, dims, 2, tensors, 4, scalars, 2, nullptr) != MGR_OK;
  }
  EXPECT_EQ(allocations + locks - before, 0);
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(gpu_->launches() - launched, 100'000);
}

// What the library of an installed tree says of a launch where no source is named.
std::string explain(const InstalledLibrary& library) {
  mgr_open_options_t open{};
  open.struct_size = sizeof(open);
  open.device = "H200";
  const MgrPlanOptions options("rmsnorm.forward", {{"hidden", "1024"}, {"T", "bf16"}},
                               {{"rows", 1, 100000}});
  const std::int64_t dims[] = {512, -1};
  std::vector<char> text(10000);
  mgr_context_t* context = nullptr;
  mgr_plan_t* plan = nullptr;
  if (library.of(&::mgr_open, "mgr_open")(&open, &context) != MGR_OK ||
      library.of(&::mgr_plan, "mgr_plan")(context, options.get(), &plan) != MGR_OK ||
      library.of(&::mgr_explain, "mgr_explain")(plan, dims, 2, text.data(), text.size(), nullptr) !=
          MGR_OK) {
    return library.of(&::mgr_last_error, "mgr_last_error")();
  }
  library.of(&::mgr_plan_free, "mgr_plan_free")(plan);
  library.of(&::mgr_close, "mgr_close")(context);
  return text.data();
}

TEST_F(ProcessStartTest, TablesBesideTheLibraryAreUsedWhereNothingIsNamed) {
  const Variable cache("MGTUNE_CACHE_DIR", folder_->file("cache"));
  const Variable nothing("MGTUNE_DB", ""), no_results("XDG_DATA_HOME", folder_->file("none"));
  for (const char* const folder : {"lib", "lib/x86_64-linux-gnu"}) {
    SCOPED_TRACE(folder);
    const TestFolder prefix;
    const InstalledLibrary library(prefix.path(), folder);
    ASSERT_TRUE(library.is_there()) << ::dlerror();
    const std::string without = explain(library);
    EXPECT_THAT(without, HasSubstr("chosen    default ladder: "));
    EXPECT_THAT(without, Not(HasSubstr("installed tables")));

    const std::string tables = prefix.file("share/mgtune/results/h200");
    std::filesystem::create_directories(tables);
    std::ofstream(tables + "/here.tuned.json") << rmsnorm_table();
    std::ofstream(tables + "/here.t4.json") << "another format";
    std::string with = explain(library);
    EXPECT_THAT(with, HasSubstr("chosen    exact problem: tuned for rows=512 hidden=1024 T=bf16"));
    EXPECT_THAT(with, HasSubstr("; installed tables, 1 tuned problem of rmsnorm.forward\n"));
    EXPECT_THAT(with, Not(HasSubstr("note ")));

    // One that is damaged is said to be, and the others serve.
    std::ofstream(tables + "/broken.tuned.json") << rmsnorm_table().substr(0, 300);
    testing::internal::CaptureStderr();
    with = explain(library);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(with, HasSubstr("chosen    exact problem: "));
    EXPECT_THAT(with, HasSubstr("note      " + tables + "/broken.tuned.json: "));
    EXPECT_THAT(said, HasSubstr(tables + "/broken.tuned.json: "));
  }
}

TEST_F(ProcessStartTest, PlansOfAContextShareWhatTheyLoad) {
  const std::int64_t nothing = gpu_->loaded();
  {
    const Planned planned(file("here", ".mgpack"));
    ASSERT_EQ(planned.status, MGR_OK) << mgr_last_error();
    const std::int64_t loads = gpu_->loads(), loaded = gpu_->loaded();
    EXPECT_GT(loaded, nothing);
    const std::vector<const mgr_plan_options_t*> problems(64, planned.options.get());
    std::vector<mgr_plan_t*> plans(problems.size());
    ASSERT_EQ(mgr_prepare(planned.context, problems.data(), problems.size(), problems.size(),
                          plans.data(), nullptr),
              MGR_OK)
        << mgr_last_error();
    EXPECT_EQ(gpu_->loads(), loads);
    for (mgr_plan_t* plan : plans) mgr_plan_free(plan);
    EXPECT_EQ(gpu_->loaded(), loaded) << "the first plan still launches from them";
  }
  EXPECT_EQ(gpu_->loaded(), nothing);
}

TEST_F(ProcessStartTest, ThePackOfAProgramIsThatOfTheNext) {
  MgtuneProgram mgtune(folder_->file("cache"));
  const Ended again = mgtune.run({"pack", "--kernel", "rmsnorm", "--gpu", "H200", "--table",
                                  file("here", ".tuned.json"), "-o", file("again", ".mgpack")});
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_THAT(again.err, HasSubstr("(0 compiled now)"));
  EXPECT_EQ(file_content(file("again", ".mgpack")), file_content(file("here", ".mgpack")));
  const Ended refused = mgtune.run({"pack", "--kernel", "rmsnorm", "--gpu", "A100", "--table",
                                    file("here", ".tuned.json"), "-o", file("none", ".mgpack")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("nothing of rmsnorm is tuned for 'A100'; there are results of "
                                     "NVIDIA H200"));
}

}  // namespace
}  // namespace mgtune
