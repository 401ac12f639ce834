// The C interface: what callers are told who use it wrong.

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
#include <vector>

#include "tests/unit/api/mgruntime_fixture.h"

namespace mgtune {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class MgruntimeCMisuse : public MgruntimeC {};

// The dims end where the memory ends, so a function that believes a wrong count is killed.
TEST_F(MgruntimeCMisuse, ReadsNoDimsBeyondThoseThatItsOperatorHas) {
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

TEST_F(MgruntimeCMisuse, ExplainsNoTensorThatNoMemoryCanHold) {
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

TEST_F(MgruntimeCMisuse, EveryFunctionOfAForkedChildSaysSo) {
  const DeviceVectors vectors(context_, {1, 2, 3, 4, 5}, {10, 20, 30, 40, 50});
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

TEST_F(MgruntimeCMisuse, RefusesWrongLaunches) {
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

TEST_F(MgruntimeCMisuse, RefusesWrongPlans) {
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

TEST_F(MgruntimeCMisuse, ReadsOptionsOfOtherVersions) {
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
  cut_off_too.struct_size = offsetof(mgr_plan_options_t, range_count);
  mgr_plan_t* plan = nullptr;
  EXPECT_EQ(mgr_plan(context_, &cut_off_too, &plan), MGR_INVALID_ARGUMENT);
}

TEST_F(MgruntimeCMisuse, TellsUnknownNamesFromWrongOnes) {
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
  EXPECT_STREQ(mgr_last_error(),
               "no folder '/no/such/family', and no operator's file of that name");
}

TEST_F(MgruntimeCMisuse, MoreMemoryThanThereIsIsTheEnvironmentsFault) {
  for (const std::size_t bytes : {SIZE_MAX, std::size_t{1} << 60, std::size_t{1} << 46}) {
    void* memory = nullptr;
    EXPECT_EQ(mgr_allocate(context_, bytes, &memory), MGR_ENVIRONMENT) << bytes;
    EXPECT_THAT(mgr_last_error(), HasSubstr(std::to_string(bytes) + " bytes"));
    EXPECT_EQ(memory, nullptr);
  }
}

TEST_F(MgruntimeCMisuse, RefusesScalarsThatTheirTypeCannotHold) {
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
TEST_F(MgruntimeCMisuse, RefusesStridesThatNoMemoryHolds) {
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

TEST_F(MgruntimeCMisuse, RefusesACorruptDatabaseByName) {
  const std::string path = folder_->file("corrupt.db");
  const std::string content(5000, 'x');
  std::ofstream(path) << content;
  mgr_context_t* context = nullptr;
  EXPECT_EQ(open("cpu", path.c_str(), &context), MGR_CORRUPT);
  EXPECT_THAT(mgr_last_error(), HasSubstr(path));
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), content);
}

}  // namespace
}  // namespace mgtune
