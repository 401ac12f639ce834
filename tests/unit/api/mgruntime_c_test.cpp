// The C interface: what callers get who use it right.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mgruntime/mgruntime.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "device/registry.h"
#include "selection/variant_selection.h"
#include "store/store.h"
#include "tests/helpers/operators/toy_operators.h"
#include "tests/unit/api/mgruntime_fixture.h"

namespace mgtune {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(MgruntimeC, HasTheVersionOfItsHeader) { EXPECT_EQ(mgr_abi_version(), MGR_ABI_VERSION); }

TEST_F(MgruntimeC, ComputesWhatItIsAskedFor) {
  EXPECT_STREQ(mgr_device_name(context_), "cpu");
  EXPECT_EQ(mgr_workspace_bytes(plan_), 0U);
  EXPECT_EQ(mgr_workspace_init(plan_, nullptr, nullptr), MGR_OK);
  const DeviceVectors vectors(context_, {1, 2, 3, 4, 5}, {10, 20, 30, 40, 50});
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

TEST_F(MgruntimeC, ExplainsTheDefaultLadder) {
  const std::string text = explained(plan_, 7);
  EXPECT_THAT(text, HasSubstr("problem   vector_add.add T=f32 n=7\n"));
  EXPECT_THAT(text, HasSubstr("variant   flat THREADS=64 MODE=good\n"));
  EXPECT_THAT(text, HasSubstr("chosen    default ladder: "));
  EXPECT_THAT(text, HasSubstr("none.db does not exist\n"));
}

TEST_F(MgruntimeC, PlansTheVariantThatTheCallerNames) {
  const MgrPlanOptions words("vector_add.add", {{"T", "f32"}}, {{"n", 0, 8}});
  mgr_plan_options_t options = *words.get();
  options.variant = "flat THREADS=32 MODE=good";
  mgr_plan_t* plan = nullptr;
  ASSERT_EQ(mgr_plan(context_, &options, &plan), MGR_OK) << mgr_last_error();
  const std::string text = explained(plan, 7);
  mgr_plan_free(plan);
  EXPECT_THAT(text, HasSubstr("variant   flat THREADS=32 MODE=good\n"));
  EXPECT_THAT(text, HasSubstr("chosen    named by the program: the plan was made with this"));
  EXPECT_THAT(text, Not(HasSubstr("improve")));

  options.struct_size = offsetof(mgr_plan_options_t, variant);  // of MGR_ABI_VERSION 3
  ASSERT_EQ(mgr_plan(context_, &options, &plan), MGR_OK) << mgr_last_error();
  EXPECT_THAT(explained(plan, 7), HasSubstr("chosen    default ladder: "));
  mgr_plan_free(plan);

  options.struct_size = sizeof(options);
  options.variant = "flat THREADS=33 MODE=good";
  EXPECT_EQ(mgr_plan(context_, &options, &plan), MGR_INVALID_ARGUMENT);
  EXPECT_THAT(mgr_last_error(), HasSubstr("33"));
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
  EXPECT_THAT(explained(tuned_plan, 900), HasSubstr("chosen    near problem: "));
  EXPECT_THAT(explained(tuned_plan, 900), HasSubstr("improve   sweep this problem: mgtune sweep"));
  EXPECT_THAT(explained(tuned_plan, 900), testing::Not(HasSubstr(" us")))
      << "the time of another problem";
  const DeviceVectors vectors(context_, {1, 2}, {3, 4});
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
      const DeviceVectors vectors(context_, std::vector<float>(200, value),
                                  std::vector<float>(200, 1));
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
