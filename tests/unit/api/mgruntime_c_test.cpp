// The C interface, on the cpu device with a family of its own: what C callers get right and wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mgruntime/mgruntime.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/registry.h"
#include "selection/variant_selection.h"
#include "store/store.h"
#include "tests/helpers/mgr_plan_options.h"
#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kFamily = source_path("tests/families/vector_add");

// One context and plan of vector_add.add for all tests; planning compiles one variant.
class MgruntimeC : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TestFolder();
    ::setenv("MGTUNE_CACHE_DIR", folder_->file("cache").c_str(), 1);
    const std::string database = folder_->file("none.db");
    ASSERT_EQ(open("cpu", database.c_str(), &context_), MGR_OK) << mgr_last_error();
    ASSERT_EQ(plan(context_, "1000000", &plan_), MGR_OK) << mgr_last_error();
  }
  static void TearDownTestSuite() {
    mgr_plan_free(plan_);
    mgr_close(context_);
    delete folder_;
  }

  static mgr_status_t open(const char* device, const char* database, mgr_context_t** context) {
    const char* const families[] = {kFamily.c_str()};
    mgr_open_options_t options{};
    options.struct_size = sizeof(options);
    options.device = device;
    options.database = database;
    options.family_folders = families;
    options.family_folder_count = 1;
    return mgr_open(&options, context);
  }

  static mgr_status_t plan(mgr_context_t* context, const char* high, mgr_plan_t** plan) {
    return plan_with(context, {{"T", "f32"}}, {{"n", 0, std::atoll(high)}}, plan);
  }

  static mgr_status_t plan_with(mgr_context_t* context, std::vector<mgr_assignment_t> assignments,
                                std::vector<mgr_range_t> ranges, mgr_plan_t** plan,
                                const char* op = "vector_add.add") {
    const MgrPlanOptions options(op, std::move(assignments), std::move(ranges));
    return mgr_plan(context, options.get(), plan);
  }

  // The message of planning with these words.
  static std::string refusal(std::vector<mgr_assignment_t> assignments,
                             std::vector<mgr_range_t> ranges, const char* op = "vector_add.add") {
    mgr_plan_t* none = nullptr;
    EXPECT_EQ(plan_with(context_, std::move(assignments), std::move(ranges), &none, op),
              MGR_INVALID_ARGUMENT);
    EXPECT_EQ(none, nullptr);
    return mgr_last_error();
  }

  static std::string explained(const mgr_plan_t* plan, std::int64_t n) {
    std::vector<char> text(4096);
    EXPECT_EQ(mgr_explain(plan, &n, 1, text.data(), text.size(), nullptr), MGR_OK)
        << mgr_last_error();
    return text.data();
  }

  static TestFolder* folder_;
  static mgr_context_t* context_;
  static mgr_plan_t* plan_;
};

TestFolder* MgruntimeC::folder_ = nullptr;
mgr_context_t* MgruntimeC::context_ = nullptr;
mgr_plan_t* MgruntimeC::plan_ = nullptr;

// Three vectors in the device's memory, freed at the end.
struct Vectors {
  Vectors(mgr_context_t* owner, const std::vector<float>& x, const std::vector<float>& y)
      : context(owner) {
    const std::size_t bytes = x.size() * sizeof(float);
    for (void*& tensor : tensors) EXPECT_EQ(mgr_allocate(context, bytes, &tensor), MGR_OK);
    EXPECT_EQ(mgr_copy_to_device(context, tensors[0], x.data(), bytes), MGR_OK);
    EXPECT_EQ(mgr_copy_to_device(context, tensors[1], y.data(), bytes), MGR_OK);
  }
  Vectors(const Vectors&) = delete;
  Vectors& operator=(const Vectors&) = delete;
  ~Vectors() {
    for (void* tensor : tensors) mgr_free(context, tensor);
  }
  mgr_context_t* context;
  void* tensors[3] = {};
};

TEST_F(MgruntimeC, HasTheVersionOfItsHeader) { EXPECT_EQ(mgr_abi_version(), MGR_ABI_VERSION); }

TEST_F(MgruntimeC, ComputesWhatItIsAskedFor) {
  EXPECT_STREQ(mgr_device_name(context_), "cpu");
  EXPECT_EQ(mgr_workspace_bytes(plan_), 0U);
  EXPECT_EQ(mgr_workspace_init(plan_, nullptr, nullptr), MGR_OK);
  const Vectors vectors(context_, {1, 2, 3, 4, 5}, {10, 20, 30, 40, 50});
  for (const std::int64_t n : {5, 3}) {
    ASSERT_EQ(mgr_launch(plan_, nullptr, &n, 1, vectors.tensors, 3, nullptr, 0, nullptr), MGR_OK)
        << mgr_last_error();
  }
  EXPECT_EQ(mgr_synchronize(context_, nullptr), MGR_OK);
  std::vector<float> z(5);
  EXPECT_EQ(mgr_copy_to_host(context_, z.data(), vectors.tensors[2], 20), MGR_OK);
  EXPECT_EQ(z, (std::vector<float>{11, 22, 33, 44, 55}));
  const std::int64_t none = 0;
  void* const nulls[3] = {};
  EXPECT_EQ(mgr_launch(plan_, nullptr, &none, 1, nulls, 3, nullptr, 0, nullptr), MGR_OK)
      << "an empty problem needs no memory";
}

// The dims end where the memory ends, so a function that believes a wrong count is killed.
TEST_F(MgruntimeC, ReadsNoDimsBeyondThoseThatItsOperatorHas) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const pages =
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(::mprotect(static_cast<char*>(pages) + page, page, PROT_NONE), 0);
  auto* const n = reinterpret_cast<std::int64_t*>(static_cast<char*>(pages) + page) - 1;
  *n = 5;
  void* const nulls[3] = {};
  for (const std::size_t count : {std::size_t{2}, std::size_t{1} << 40U}) {
    EXPECT_EQ(mgr_launch(plan_, nullptr, n, count, nulls, 3, nullptr, 0, nullptr),
              MGR_INVALID_ARGUMENT);
    EXPECT_EQ(mgr_last_error(),
              "vector_add.add: " + std::to_string(count) + " dims passed, 1 declared");
    EXPECT_EQ(mgr_explain(plan_, n, count, nullptr, 0, nullptr), MGR_INVALID_ARGUMENT);
  }
  ::munmap(pages, 2 * page);
}

TEST_F(MgruntimeC, ExplainsNoTensorThatNoMemoryCanHold) {
  const std::int64_t n = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(mgr_explain(plan_, &n, 1, nullptr, 0, nullptr), MGR_INVALID_ARGUMENT);
  EXPECT_THAT(mgr_last_error(), HasSubstr("is larger than any memory"));
}

// The exit code of a child process that returns what `body` does; -1 if it is killed, after half a
// minute at the latest.
int exit_code_of_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    ::_exit(body());
  }
  int state = 0;
  ::waitpid(child, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

TEST_F(MgruntimeC, EveryFunctionOfAForkedChildSaysSo) {
  const Vectors vectors(context_, {1, 2, 3, 4, 5}, {10, 20, 30, 40, 50});
  const int others = exit_code_of_child([&] {
    mgr_context_t* other = nullptr;
    mgr_plan_t* plan = nullptr;
    const std::int64_t n = 5;
    char byte = 0;
    void* memory = nullptr;
    const std::array<mgr_status_t, 10> statuses = {
        mgr_open(nullptr, &other),
        mgr_plan(context_, nullptr, &plan),
        mgr_prepare(context_, nullptr, 0, 1, nullptr, nullptr),
        mgr_workspace_init(plan_, nullptr, nullptr),
        mgr_launch(plan_, nullptr, &n, 1, vectors.tensors, 3, nullptr, 0, nullptr),
        mgr_explain(plan_, &n, 1, nullptr, 0, nullptr),
        mgr_allocate(context_, 4, &memory),
        mgr_copy_to_device(context_, vectors.tensors[0], &byte, 1),
        mgr_copy_to_host(context_, &byte, vectors.tensors[0], 1),
        mgr_synchronize(context_, nullptr)};
    int wrong = 0;
    for (const mgr_status_t status : statuses) wrong += status == MGR_FORKED ? 0 : 1;
    mgr_free(context_, vectors.tensors[0]);
    mgr_plan_free(plan_);
    mgr_close(context_);
    return wrong;
  });
  EXPECT_EQ(others, 0);
  EXPECT_EQ(exit_code_of_child([] {
              const std::string why = mgr_last_error();
              mgr_synchronize(context_, nullptr);
              return std::string(mgr_last_error()).find("fork before mgr_open") == why.npos ? 1 : 0;
            }),
            0);
}

TEST_F(MgruntimeC, RefusesWrongLaunches) {
  const std::int64_t n = 1;
  void* const nulls[3] = {};
  const double scalar = 1;
  EXPECT_EQ(mgr_launch(nullptr, nullptr, &n, 1, nulls, 3, nullptr, 0, nullptr),
            MGR_INVALID_ARGUMENT);
  EXPECT_STREQ(mgr_last_error(), "plan is null");
  EXPECT_EQ(mgr_launch(plan_, nullptr, nullptr, 1, nulls, 3, nullptr, 0, nullptr),
            MGR_INVALID_ARGUMENT);
  EXPECT_STREQ(mgr_last_error(), "dims is null, but its count is 1");
  EXPECT_EQ(mgr_launch(plan_, nullptr, &n, 1, nulls, 3, &scalar, 1, nullptr), MGR_INVALID_ARGUMENT);
  EXPECT_STREQ(mgr_last_error(), "1 scalars passed, 0 declared");
  EXPECT_EQ(mgr_launch(plan_, nullptr, &n, 1, nulls, 3, nullptr, 0, nullptr), MGR_INVALID_ARGUMENT);
  EXPECT_STREQ(mgr_last_error(), "vector_add.add: tensor 'x' is null");
}

TEST_F(MgruntimeC, RefusesWrongPlans) {
  const mgr_range_t n{"n", 1, 8};
  EXPECT_THAT(refusal({{"T", "f64"}}, {n}), HasSubstr("f64"));
  EXPECT_THAT(refusal({{"U", "f32"}}, {n}), HasSubstr("U"));
  EXPECT_EQ(refusal({{"T", "f32"}, {"T", "f32"}}, {n}), "'T' is assigned twice");
  EXPECT_EQ(refusal({{"T", nullptr}}, {n}), "name or value of an assignment is null");
  EXPECT_EQ(refusal({{"T", "f32"}}, {}),
            "vector_add.add: dim 'n' needs a range; it has no default");
  EXPECT_EQ(refusal({{"T", "f32"}}, {n, n}), "dim 'n' has two ranges");
  EXPECT_EQ(refusal({{"T", "f32"}}, {{"n", 8, 1}}), "the range of dim 'n' is empty: 8 to 1");
  EXPECT_EQ(refusal({{"T", "f32"}}, {n, {"rows", 1, 2}}),
            "vector_add.add has no dynamic or hint dim 'rows' to give a range for");
  EXPECT_EQ(refusal({}, {}, nullptr), "operator_name is null");
}

TEST_F(MgruntimeC, ReadsOptionsOfOtherVersions) {
  mgr_context_t* context = nullptr;
  mgr_open_options_t options{};
  EXPECT_EQ(mgr_open(&options, &context), MGR_INVALID_ARGUMENT);
  EXPECT_THAT(mgr_last_error(), HasSubstr("struct_size of the options is 0"));

  struct Newer {
    mgr_open_options_t known{};
    std::size_t added = 0;
  } newer;
  const std::string database = folder_->file("none.db");
  newer.known.struct_size = sizeof(newer);
  newer.known.device = "cpu";
  newer.known.database = database.c_str();
  ASSERT_EQ(mgr_open(&newer.known, &context), MGR_OK) << mgr_last_error();
  mgr_close(context);
  newer.added = 1;
  EXPECT_EQ(mgr_open(&newer.known, &context), MGR_UNSUPPORTED);

  mgr_open_options_t cut_off{};  // smaller than in version 1: no version's
  cut_off.struct_size = offsetof(mgr_open_options_t, family_folders);
  cut_off.device = "cpu";
  EXPECT_EQ(mgr_open(&cut_off, &context), MGR_INVALID_ARGUMENT);
  mgr_plan_options_t cut_off_too{};
  cut_off_too.struct_size = sizeof(cut_off_too) - 1;
  mgr_plan_t* plan = nullptr;
  EXPECT_EQ(mgr_plan(context_, &cut_off_too, &plan), MGR_INVALID_ARGUMENT);
}

TEST_F(MgruntimeC, TellsUnknownNamesFromWrongOnes) {
  mgr_plan_t* plan = nullptr;
  for (const char* op : {"rmsnrom.forward", "rmsnorm.fward", "rmsnorm", "vector_add.sub", ""}) {
    EXPECT_EQ(plan_with(context_, {}, {}, &plan, op), MGR_NOT_FOUND) << op;
  }
  EXPECT_EQ(plan_with(context_, {}, {}, &plan, "rmsnrom.forward"), MGR_NOT_FOUND);
  EXPECT_STREQ(mgr_last_error(),
               "unknown operator 'rmsnrom.forward'; did you mean 'rmsnorm.forward'?");

  const char* const families[] = {"/no/such/family"};
  mgr_open_options_t options{};
  options.struct_size = sizeof(options);
  options.device = "cpu";
  options.family_folders = families;
  options.family_folder_count = 1;
  mgr_context_t* context = nullptr;
  EXPECT_EQ(mgr_open(&options, &context), MGR_NOT_FOUND);
  EXPECT_STREQ(mgr_last_error(), "no folder '/no/such/family'");
}

TEST_F(MgruntimeC, MoreMemoryThanThereIsIsTheEnvironmentsFault) {
  for (const std::size_t bytes : {SIZE_MAX, std::size_t{1} << 60, std::size_t{1} << 46}) {
    void* memory = nullptr;
    EXPECT_EQ(mgr_allocate(context_, bytes, &memory), MGR_ENVIRONMENT) << bytes;
    EXPECT_THAT(mgr_last_error(), HasSubstr(std::to_string(bytes) + " bytes"));
    EXPECT_EQ(memory, nullptr);
  }
}

TEST_F(MgruntimeC, RefusesScalarsThatTheirTypeCannotHold) {
  mgr_plan_t* plan = nullptr;
  ASSERT_EQ(plan_with(context_, {{"hidden", "8"}, {"T", "f32"}}, {{"rows", 1, 4}}, &plan,
                      "rmsnorm.forward"),
            MGR_OK)
      << mgr_last_error();
  const std::int64_t dims[] = {1, -1};
  void* const nulls[4] = {};
  for (const double eps : {1e300, -1e39}) {
    const double scalars[] = {eps, 0};
    EXPECT_EQ(mgr_launch(plan, nullptr, dims, 2, nulls, 4, scalars, 2, nullptr),
              MGR_INVALID_ARGUMENT);
    EXPECT_THAT(mgr_last_error(),
                AllOf(StartsWith("scalar 'eps' is "), EndsWith("f32 cannot hold")));
  }
  mgr_plan_free(plan);
}

// In the kernel's arithmetic they would wrap, and it would read and write anywhere.
TEST_F(MgruntimeC, RefusesStridesThatNoMemoryHolds) {
  mgr_plan_t* plan = nullptr;
  ASSERT_EQ(plan_with(context_, {{"hidden", "8"}, {"T", "f32"}}, {{"rows", 1, 4}}, &plan,
                      "rmsnorm.forward"),
            MGR_OK)
      << mgr_last_error();
  std::vector<float> memory(3 * 8);
  void* const tensors[4] = {memory.data(), memory.data(), memory.data(), nullptr};
  const double scalars[] = {1e-6, 0};
  for (const std::int64_t stride : {INT64_MAX, INT64_MAX - 7, INT64_MAX / 2 + 1}) {
    const std::int64_t dims[] = {3, stride};
    EXPECT_EQ(mgr_launch(plan, nullptr, dims, 2, tensors, 4, scalars, 2, nullptr),
              MGR_INVALID_ARGUMENT);
    EXPECT_THAT(mgr_last_error(), HasSubstr("tensor 'x' is larger than any memory"));
  }
  mgr_plan_free(plan);
}

TEST_F(MgruntimeC, NeedsNoPlaceForADatabase) {
  const char* const home = std::getenv("HOME");
  const std::string kept = home != nullptr ? home : "";
  ::unsetenv("HOME");
  ::unsetenv("XDG_DATA_HOME");
  ::unsetenv("MGTUNE_DB");
  mgr_context_t* context = nullptr;
  mgr_plan_t* untuned = nullptr;
  ASSERT_EQ(open("cpu", nullptr, &context), MGR_OK) << mgr_last_error();
  ::setenv("HOME", kept.c_str(), 1);
  ASSERT_EQ(plan(context, "8", &untuned), MGR_OK) << mgr_last_error();
  EXPECT_THAT(explained(untuned, 7), HasSubstr("no place for the results database"));
  mgr_plan_free(untuned);
  mgr_close(context);
}

TEST_F(MgruntimeC, SaysWhichDevicesThereAre) {
  mgr_context_t* context = nullptr;
  for (const char* device : {"GPU-00000000-0000-0000-0000-000000000000", "no such device", ""}) {
    EXPECT_EQ(open(device, nullptr, &context), MGR_ENVIRONMENT) << device;
    EXPECT_THAT(mgr_last_error(), HasSubstr("cpu"));
  }
  EXPECT_EQ(context, nullptr);
  EXPECT_EQ(mgr_open(nullptr, nullptr), MGR_INVALID_ARGUMENT);
}

TEST_F(MgruntimeC, RefusesACorruptDatabaseByName) {
  const std::string path = folder_->file("corrupt.db");
  const std::string content(5000, 'x');
  std::ofstream(path) << content;
  mgr_context_t* context = nullptr;
  EXPECT_EQ(open("cpu", path.c_str(), &context), MGR_CORRUPT);
  EXPECT_THAT(mgr_last_error(), HasSubstr(path));
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), content);
}

TEST_F(MgruntimeC, ExplainsTheDefaultLadder) {
  const std::string text = explained(plan_, 7);
  EXPECT_THAT(text, HasSubstr("problem   vector_add.add T=f32 n=7\n"));
  EXPECT_THAT(text, HasSubstr("variant   flat THREADS=64 MODE=good\n"));
  EXPECT_THAT(text, HasSubstr("chosen    default ladder: "));
  EXPECT_THAT(text, HasSubstr("none.db does not exist\n"));
}

TEST_F(MgruntimeC, TruncatesAnExplanation) {
  const std::int64_t n = 7;
  std::size_t needed = 0;
  ASSERT_EQ(mgr_explain(plan_, &n, 1, nullptr, 0, &needed), MGR_OK);
  EXPECT_EQ(needed, explained(plan_, n).size() + 1);
  char buffer[8] = "xxxxxxx";
  ASSERT_EQ(mgr_explain(plan_, &n, 1, buffer, sizeof(buffer), nullptr), MGR_OK);
  EXPECT_STREQ(buffer, "problem");
}

TEST_F(MgruntimeC, LaunchesWhatTheDatabaseSays) {
  const std::string path = folder_->file("tuned.db");
  const auto devices = must(select_devices("cpu"));
  {
    Store store = must(Store::open(path, Store::Mode::read_write));
    TunedRecord tuned;
    tuned.gpu = must(store.gpu_id(gpu_record(devices.front())));
    tuned.problem = must(store.problem_id("vector_add.add", "n=1000 T=f32", 12000, 1000));
    SweepRecord sweep;
    sweep.gpu = tuned.gpu;
    sweep.environment = must(store.environment_id({"0.1.0", "g++", "", "Linux"}));
    tuned.sweep = must(store.begin_sweep(sweep));
    tuned.variant = tuned.default_variant = "flat THREADS=128 MODE=good";
    tuned.method = "emulation";
    tuned.median_ns = tuned.default_median_ns = 2500;
    const Status status = store.record_tuned(tuned);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  mgr_context_t* context = nullptr;
  mgr_plan_t* tuned_plan = nullptr;
  ASSERT_EQ(open("cpu", path.c_str(), &context), MGR_OK) << mgr_last_error();
  ASSERT_EQ(plan(context, "5000", &tuned_plan), MGR_OK) << mgr_last_error();
  mgr_close(context);  // the plan lives on
  const std::string text = explained(tuned_plan, 1000);
  EXPECT_THAT(text, HasSubstr("variant   flat THREADS=128 MODE=good\n"));
  EXPECT_THAT(text, HasSubstr("chosen    exact problem: tuned for n=1000 T=f32 on cpu"));
  EXPECT_THAT(text, HasSubstr("expected  2.50 us at the tuned problem (emulation)\n"));
  EXPECT_THAT(text, HasSubstr("tuned.db, 1 tuned problem\n"));
  EXPECT_THAT(explained(tuned_plan, 10), HasSubstr("chosen    nearest problem: "));
  EXPECT_THAT(explained(tuned_plan, 10), testing::Not(HasSubstr(" us")))
      << "the time of another problem";
  const Vectors vectors(context_, {1, 2}, {3, 4});
  const std::int64_t n = 2;
  EXPECT_EQ(mgr_launch(tuned_plan, nullptr, &n, 1, vectors.tensors, 3, nullptr, 0, nullptr), MGR_OK)
      << mgr_last_error();
  mgr_plan_free(tuned_plan);
}

TEST_F(MgruntimeC, LaunchesFromSeveralThreads) {
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      const auto value = static_cast<float>(thread);
      const Vectors vectors(context_, std::vector<float>(200, value), std::vector<float>(200, 1));
      const std::int64_t n = 200;
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(mgr_launch(plan_, nullptr, &n, 1, vectors.tensors, 3, nullptr, 0, nullptr),
                  MGR_OK)
            << mgr_last_error();
      }
      std::vector<float> z(200);
      EXPECT_EQ(mgr_copy_to_host(context_, z.data(), vectors.tensors[2], 800), MGR_OK);
      EXPECT_EQ(z, std::vector<float>(200, value + 1));
    });
  }
}

TEST_F(MgruntimeC, KeepsErrorsPerThread) {
  EXPECT_EQ(mgr_launch(nullptr, nullptr, nullptr, 0, nullptr, 0, nullptr, 0, nullptr),
            MGR_INVALID_ARGUMENT);
  std::string other = "unset";
  std::jthread([&] { other = mgr_last_error(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_STREQ(mgr_last_error(), "plan is null");
}

TEST_F(MgruntimeC, IgnoresNullHandles) {
  mgr_close(nullptr);
  mgr_plan_free(nullptr);
  mgr_free(context_, nullptr);
  EXPECT_EQ(mgr_workspace_bytes(nullptr), 0U);
  EXPECT_STREQ(mgr_device_name(nullptr), "");
  EXPECT_EQ(mgr_copy_to_device(context_, nullptr, nullptr, 0), MGR_OK);
  EXPECT_EQ(mgr_copy_to_host(context_, nullptr, nullptr, 8), MGR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace mgtune
