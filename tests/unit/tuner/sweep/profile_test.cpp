// A profile run with a worker that makes its counters up.

#include "sweep/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "check/checker.h"
#include "device/device_lock.h"
#include "family/catalog.h"
#include "launch/loaded_variant.h"
#include "selection/variant_selection.h"
#include "system/file_system.h"
#include "tests/helpers/fakes/fake_device.h"
#include "tests/helpers/store_fixture.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kFamily = source_path("tests/families/vector_add");

class ProfileTest : public StoreTest {
 protected:
  ProfileTest() {
    device_.arch = "cpu";  // whose compiler is there to name the environment
  }

  static Problem problem_of(const Operator& op) {
    return bind_problem(op, {{"n", "1000"}, {"T", "f32"}}).value();
  }

  Result<Profile> run(const std::string& variant) {
    SweepOptions options;
    options.kernel = kFamily;
    options.command = "mgtune profile";
    options.program = fake_worker_path();
    options.lock_directory = folder_.path();
    return run_profile(options, 1, device_, problem_, parse_variant(op_, variant).value(), store_);
  }

  void pick(const std::string& variant) {
    OutcomeRecord outcome = outcome_in(store_, gpu_record(device_));
    TunedRecord tuned;
    tuned.sweep = outcome.sweep;
    tuned.gpu = outcome.key.gpu;
    tuned.problem = store_.problem_id(op_.full_name(), problem_.text(), 12000, 1000).value();
    tuned.variant = variant;
    tuned.build_sha256 = "sha";
    tuned.default_variant = variant;
    tuned.method = "rotating";
    tuned.median_ns = tuned.default_median_ns = 1000;
    const Status status = store_.record_tuned(tuned);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  DeviceInfo device_ = fake_h200();
  Catalog catalog_{FileSystem::real()};
  const Operator& op_ = *catalog_.find(kFamily).value().front();
  const Problem problem_ = problem_of(op_);
  Store store_ = open();
};

TEST_F(ProfileTest, CountersAreStoredUnderASweepOfTheirOwn) {
  const std::string variant = "flat THREADS=64 MODE=good";
  const Result<Profile> profile = run(variant);
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  EXPECT_EQ(profile->outcome, Outcome::ok);
  EXPECT_EQ(profile->variant, variant);
  EXPECT_EQ(profile->cost_bytes, 12000);
  EXPECT_EQ(profile->counters.launches, 16);

  const auto sweeps = store_.sweeps().value();
  ASSERT_THAT(sweeps, SizeIs(1));
  EXPECT_EQ(sweeps[0].sweep.id, profile->sweep);
  EXPECT_EQ(sweeps[0].sweep.strategy, "profile");
  EXPECT_EQ(sweeps[0].sweep.command, "mgtune profile");
  EXPECT_NE(sweeps[0].sweep.finished_at, "");
  EXPECT_EQ(sweeps[0].gpu.model, "Fake H200");

  const ResultKey key = {sweeps[0].sweep.gpu,
                         store_.problem_id(op_.full_name(), problem_.text(), 12000, 1000).value(),
                         "sha", launch_hash(op_, parse_variant(op_, variant).value()), ""};
  EXPECT_THAT(store_.counters(key).value(), ElementsAre(CounterRecord{"dram_read_bytes", 6000},
                                                        CounterRecord{"dram_write_bytes", 6120}));
}

TEST_F(ProfileTest, AWrongVariantLeavesNoRow) {
  const Result<Profile> profile = run("flat THREADS=64 MODE=wrong");
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  EXPECT_EQ(profile->outcome, Outcome::wrong);
  EXPECT_EQ(profile->message, "z[3] is 7, not 8");
  EXPECT_EQ(profile->sweep, 0);
  EXPECT_THAT(store_.sweeps().value(), IsEmpty());
}

TEST_F(ProfileTest, TheCpuDeviceIsRefused) {
  device_.kind = DeviceKind::cpu;
  const Status status = run("flat THREADS=64 MODE=good").status();
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_THAT(status.message(), HasSubstr("the cpu device has no hardware counters"));
}

TEST_F(ProfileTest, ASweepOnTheGpuIsNotDisturbed) {
  const Result<DeviceLock> lock = DeviceLock::acquire(folder_.path(), device_.id);
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(run("flat THREADS=64 MODE=good").status().code(), StatusCode::environment);
}

TEST_F(ProfileTest, ThePickIsTakenBeforeTheDefault) {
  const std::string default_text =
      variant_text(op_, select_variants(problem_, device_, {}).front().variant);
  const auto chosen = choose_variant(problem_, device_, "", false, store_);
  ASSERT_TRUE(chosen.ok()) << chosen.status().message();
  EXPECT_EQ(chosen->source, "default");
  EXPECT_EQ(variant_text(op_, chosen->variant), default_text);
  EXPECT_EQ(choose_variant(problem_, device_, "", true, store_).status().code(),
            StatusCode::not_found);

  pick("flat THREADS=128 MODE=good");
  for (const bool only_pick : {false, true}) {
    const auto pick = choose_variant(problem_, device_, "", only_pick, store_);
    ASSERT_TRUE(pick.ok()) << pick.status().message();
    EXPECT_EQ(pick->source, "pick");
    EXPECT_EQ(variant_text(op_, pick->variant), "flat THREADS=128 MODE=good");
  }
}

TEST_F(ProfileTest, ThePickOfAnotherProblemOrGpuIsNone) {
  pick("flat THREADS=128 MODE=good");
  const Problem other = bind_problem(op_, {{"n", "2000"}, {"T", "f32"}}).value();
  EXPECT_EQ(choose_variant(other, device_, "", false, store_)->source, "default");
  device_.name = "Fake L4";
  EXPECT_EQ(choose_variant(problem_, device_, "", false, store_)->source, "default");
}

TEST_F(ProfileTest, ANamedVariantHasToServe) {
  const auto named = choose_variant(problem_, device_, "flat THREADS=64 MODE=wrong", false, store_);
  ASSERT_TRUE(named.ok()) << named.status().message();
  EXPECT_EQ(named->source, "named");
  EXPECT_EQ(
      choose_variant(problem_, device_, "flat THREADS=63 MODE=good", false, store_).status().code(),
      StatusCode::invalid_argument);
  EXPECT_EQ(
      choose_variant(problem_, device_, "flot THREADS=64 MODE=good", false, store_).status().code(),
      StatusCode::invalid_argument);
}

}  // namespace
}  // namespace mgtune
