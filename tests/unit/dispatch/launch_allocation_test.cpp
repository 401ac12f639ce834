// What a launch and a plan cost, counted: a plan's launches allocate nothing and lock nothing, and
// a plan allocates the same whatever the database holds. Every operator new of this program is
// counted, and every lock of a mutex.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <random>

#include "dispatch/plan.h"
#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/tuned_database.h"

namespace {

std::atomic<std::int64_t> allocations = 0, locks = 0;

void* counted(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
}

void* counted_or_throw(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
  if (void* memory = counted(bytes, alignment); memory != nullptr) return memory;
  throw std::bad_alloc();
}

}  // namespace

// Every form that this program calls; a sanitizer's own would not match the deletes below.
void* operator new(std::size_t bytes) { return counted_or_throw(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes) { return counted_or_throw(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

// std::mutex calls this.
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto real = reinterpret_cast<Lock>(::dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  locks.fetch_add(1, std::memory_order_relaxed);
  return real(mutex);
}

namespace mgtune {
namespace {

constexpr int kLaunches = 1'000'000;

class LaunchAllocation : public testing::Test {
 protected:
  LaunchAllocation() { declare_toy_kernels(device); }

  FakeDevice device;
  SharedModules modules{device};
  Builder builder = fake_builder();
};

TEST_F(LaunchAllocation, AMillionLaunchesWithRandomRowsAllocateNothing) {
  const Operator op = toy_norm();
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  const std::vector<TunedEntry> tuned = {
      tuned_entry(op, "rows=16,hidden=64,T=f32", "row THREADS=64 VEC=4", device.info()),
      tuned_entry(op, "rows=4096,hidden=64,T=f32", "row THREADS=256 VEC=4", device.info())};
  const Result<std::unique_ptr<Plan>> plan =
      Plan::make(modules, builder, binding, {{1, 65536}, {1, 0}}, tuned);
  ASSERT_TRUE(plan.ok()) << plan.status().message();

  alignas(16) std::array<float, 4> memory{};
  const std::array<void*, 3> tensors = {memory.data(), memory.data(), nullptr};
  const std::array<ScalarValue, 1> scalars{};
  std::minstd_rand random(1);
  std::int64_t failures = 0;
  const std::int64_t before = allocations, locks_before = locks;
  for (int i = 0; i < kLaunches; ++i) {
    const std::array<std::int64_t, 2> dims = {1 + static_cast<std::int64_t>(random() % 65536),
                                              i % 4 == 0 ? 65 : -1};  // now and then the fall-back
    if (!(*plan)->launch({dims, tensors, scalars, nullptr, nullptr}).ok()) ++failures;
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(locks - locks_before, 0);
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(device.launches, kLaunches);
}

TEST_F(LaunchAllocation, NeitherDoLaunchesOfAPlanWithRules) {
  const Operator op = toy_norm();
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  const Evidence evidence = toy_evidence(op, device.info());
  const auto plan = must(Plan::make(modules, builder, binding, {{1, 65536}, {1, 0}}, evidence));
  alignas(16) std::array<float, 4> memory{};
  const std::array<void*, 3> tensors = {memory.data(), memory.data(), nullptr};
  const std::array<ScalarValue, 1> scalars{};
  std::minstd_rand random(1);
  std::int64_t failures = 0;
  const std::int64_t before = allocations, locks_before = locks;
  for (int i = 0; i < kLaunches / 10; ++i) {
    const std::array<std::int64_t, 2> dims = {1 + static_cast<std::int64_t>(random() % 65536), -1};
    if (!plan->launch({dims, tensors, scalars, nullptr, nullptr}).ok()) ++failures;
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(locks - locks_before, 0);
  EXPECT_EQ(failures, 0);
}

// Two kernels, a workspace with buffers of every kind, lets that are evaluated at each launch.
TEST_F(LaunchAllocation, NeitherDoLaunchesWithAWorkspace) {
  const Operator op = toy_split();
  const Binding binding = bound(op, {{"width", "64"}, {"T", "f32"}});
  const Result<std::unique_ptr<Plan>> plan =
      Plan::make(modules, builder, binding, {{1, 8}, {1, 4096}}, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  void* workspace = std::aligned_alloc(256, std::size_t((*plan)->workspace_size().bytes));
  ASSERT_TRUE((*plan)->init_workspace(workspace, nullptr).ok());

  alignas(16) std::array<float, 4> memory{};
  const std::array<void*, 2> tensors = {memory.data(), memory.data()};
  std::minstd_rand random(1);
  std::int64_t failures = 0;
  const std::int64_t before = allocations, locks_before = locks;
  for (int i = 0; i < kLaunches / 10; ++i) {
    const std::array<std::int64_t, 2> dims = {1 + static_cast<std::int64_t>(random() % 8),
                                              1 + static_cast<std::int64_t>(random() % 4096)};
    if (!(*plan)->launch({dims, tensors, {}, workspace, nullptr}).ok()) ++failures;
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(locks - locks_before, 0);
  EXPECT_EQ(failures, 0);
  std::free(workspace);
}

TEST_F(LaunchAllocation, LocksAreCounted) {
  const std::int64_t before = locks;
  std::mutex mutex;
  const std::scoped_lock lock(mutex);
  EXPECT_EQ(locks - before, 1);
}

// One decoded row costs more than ten allocations, so a plan that decoded the rows of the operator
// would make 30,000. It decodes kMaxPicks of them.
TEST(PlanAllocation, DoesNotGrowWithTheDatabase) {
  const auto allocations_of_plan = [](std::int64_t problems, std::int64_t bindings) {
    TunedDatabase database(problems, bindings);
    database.plan();  // what every plan of the operator shares
    const std::int64_t before = allocations;
    const auto plan = database.plan();
    EXPECT_GT(plan->variants().size(), 3U);
    return allocations - before;
  };
  const std::int64_t few = allocations_of_plan(200, 2);
  EXPECT_GT(few, 100);
  EXPECT_LE(allocations_of_plan(3'000, 30), few + 20) << "rows of other static dims";
  EXPECT_LE(allocations_of_plan(3'000, 1), few + 20) << "rows that are all near";
}

// The first plan of an operator reads the rules besides what every plan does. Rows without a key
// are decoded when the database is opened.
TEST(PlanAllocation, TheFirstPlanDecodesNoMore) {
  for (const bool has_keys : {true, false}) {
    TunedDatabase database(3'000, 30, has_keys);
    const std::int64_t before = allocations;
    const auto first = database.plan();
    const std::int64_t of_first = allocations - before;
    const auto second = database.plan();
    EXPECT_LE(of_first, allocations - before - of_first + 100) << has_keys;
  }
}

}  // namespace
}  // namespace mgtune
