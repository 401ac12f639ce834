#include "sweep/known_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/sha256.h"
#include "family/catalog.h"
#include "family/decode.h"
#include "system/file_system.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

// Knows who it is and must never be asked to compile: the parent process does not.
class IdentityOnly final : public Compiler {
 public:
  const std::string& identity() const override { return identity_; }
  Result<Build> compile(const BuildRequest&) override {
    ADD_FAILURE() << "the parent compiled";
    return internal_error("compiled");
  }

 private:
  std::string identity_ = "test compiler 1";
};

class KnownResultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    gpu_id_ = *store_.gpu_id({.model = "cpu", .arch = "cpu", .mig_profile = "", .emulation = true});
    problem_id_ = *store_.problem_id("vector_add.add", problem_.text(), 12000, 1000);
    const std::int64_t environment = *store_.environment_id({"1", "test compiler 1", "", "test"});
    sweep_ = *store_.begin_sweep({.gpu = gpu_id_,
                                  .environment = environment,
                                  .command = "test",
                                  .strategy = "exhaustive",
                                  .budget = "",
                                  .started_at = "2026-11-21T09:00:00Z",
                                  .finished_at = ""});
  }

  KnownResults results() {
    return KnownResults(store_, builder_, cache_, device_, problem_, gpu_id_, problem_id_,
                        "emulation");
  }

  void record(const VariantState& state) {
    OutcomeRecord row = state;
    row.sweep = sweep_;
    ASSERT_TRUE(store_.record(row).ok());
  }

  static WorkReply built(const std::string& sha256) {
    WorkReply reply;
    reply.build = BuildRecord{{}, "", sha256, "cpu", ""};
    return reply;
  }

  static WorkReply measured(double median_ns) {
    WorkReply reply;
    reply.check = CheckRecord{Outcome::ok, "", 1e-8, 1e-7};
    reply.measurement = MeasurementRecord{};
    reply.measurement->method = "emulation";
    reply.measurement->median_ns = median_ns;
    return reply;
  }

  static DeviceInfo cpu() {
    DeviceInfo device;
    device.id = device.name = device.arch = "cpu";
    return device;
  }

  const TestFolder folder_;
  Catalog catalog_{FileSystem::real()};
  const Operator& op_ = *catalog_.find(source_path("tests/families/vector_add"))->front();
  const Problem problem_ = *bind_problem(op_, {{"n", "1000"}, {"T", "f32"}});
  const Variant variant_ = *parse_variant(op_, "flat THREADS=64 MODE=good");
  const DeviceInfo device_ = cpu();
  BuildCache cache_{FileSystem::real(), folder_.file("cache")};
  Builder builder_{cache_, [](const std::string&) -> Result<std::unique_ptr<Compiler>> {
                     return std::unique_ptr<Compiler>(std::make_unique<IdentityOnly>());
                   }};
  Store store_ = *Store::open(folder_.file("results.db"), Store::Mode::read_write);
  std::int64_t gpu_id_ = 0, problem_id_ = 0, sweep_ = 0;
};

TEST_F(KnownResultsTest, AStepIsKnownWhereTheOneBeforeIs) {
  KnownResults known = results();
  VariantState state = *known.look_up(variant_);
  EXPECT_EQ(state.variant, "flat THREADS=64 MODE=good");
  EXPECT_EQ(state.need, VariantState::Need::compile);
  EXPECT_EQ(state.build.key.size(), 64U);

  ASSERT_TRUE(known.add_build(state, built("abc")).ok());
  EXPECT_EQ(state.need, VariantState::Need::measure);
  EXPECT_EQ(state.key.build_sha256, "abc");

  known.add_measurement(state, measured(120));
  EXPECT_TRUE(state.contends());
  record(state);

  const VariantState again = *known.look_up(variant_);
  EXPECT_EQ(again.need, VariantState::Need::nothing);
  EXPECT_TRUE(again.contends());
  EXPECT_EQ(again.measurement->median_ns, 120);
  EXPECT_EQ(again.check->error, 1e-8);
}

TEST_F(KnownResultsTest, ABuildRecordedBeforeItsLogWasReadIsJudgedByIt) {
  KnownResults known = results();
  VariantState state = *known.look_up(variant_);
  ASSERT_TRUE(known.add_build(state, built("abc")).ok());
  const std::string line =
      "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to "
      "determine register count at entry.";
  state.build.message = "ptxas info    : 0 bytes gmem\n" + line + "\n";
  known.add_measurement(state, measured(120));
  record(state);
  const VariantState again = *known.look_up(variant_);
  EXPECT_EQ(again.need, VariantState::Need::nothing);
  EXPECT_EQ(again.outcome, Outcome::compile_failed);
  EXPECT_EQ(again.message, line);
}

TEST_F(KnownResultsTest, WhatTheMachinesLimitsDidIsTriedAgain) {
  KnownResults known = results();
  VariantState state = *known.look_up(variant_);
  WorkReply killed;
  killed.outcome = Outcome::compile_failed;
  killed.failure = StatusCode::environment;
  killed.message = "the compiler was ended by signal 9 (Killed)";
  ASSERT_TRUE(known.add_build(state, killed).ok());
  EXPECT_EQ(state.need, VariantState::Need::nothing);
  EXPECT_EQ(state.outcome, Outcome::compile_failed);
  EXPECT_EQ(state.message, killed.message);
  record(state);
  EXPECT_EQ(store_.outcomes()->front().message, killed.message);
  EXPECT_EQ(known.look_up(variant_)->need, VariantState::Need::compile);
}

TEST_F(KnownResultsTest, AFailedBuildIsNotTriedAgain) {
  KnownResults known = results();
  VariantState state = *known.look_up(variant_);
  WorkReply reply = built("");
  reply.outcome = Outcome::compile_failed;
  reply.message = "error: no";
  ASSERT_TRUE(known.add_build(state, reply).ok());
  EXPECT_EQ(state.need, VariantState::Need::nothing);
  EXPECT_EQ(state.outcome, Outcome::compile_failed);
  record(state);

  const VariantState again = *known.look_up(variant_);
  EXPECT_EQ(again.need, VariantState::Need::nothing);
  EXPECT_EQ(again.outcome, Outcome::compile_failed);
  EXPECT_EQ(again.message, "error: no");
  EXPECT_FALSE(again.contends());
}

TEST_F(KnownResultsTest, ABuildThatIsUnsupportedOrLateStaysThat) {
  for (const Outcome outcome : {Outcome::unsupported, Outcome::timeout}) {
    KnownResults known = results();
    const Variant variant =
        *parse_variant(op_, outcome == Outcome::timeout ? "flat THREADS=32 MODE=good"
                                                        : "flat THREADS=64 MODE=good");
    VariantState state = *known.look_up(variant);
    WorkReply reply = built("");
    reply.outcome = outcome;
    reply.message = "not here";
    ASSERT_TRUE(known.add_build(state, reply).ok());
    EXPECT_EQ(state.outcome, outcome);
    record(state);
    const VariantState again = *known.look_up(variant);
    EXPECT_EQ(again.need, VariantState::Need::nothing);
    EXPECT_EQ(again.outcome, outcome);
    EXPECT_EQ(again.message, "not here");
  }
}

TEST_F(KnownResultsTest, AVariantWhoseKernelHasNoNameDoesNotCompile) {
  Result<std::string> json = FileSystem::real().read_file(op_.sources->folder + "/add.json");
  ASSERT_TRUE(json.ok());
  const std::string argument = "vector_add<T, THREADS, MODE>";
  json->replace(json->find(argument), argument.size(), "vector_add<T, 64 / (THREADS - 32), MODE>");
  auto sources = std::make_shared<SourceTree>(*op_.sources);
  sources->files["add.json"] = *json;
  const Result<Operator> op = decode_operator("vector_add", "add", sources);
  ASSERT_TRUE(op.ok()) << op.status().message();
  const Problem problem = *bind_problem(*op, {{"n", "1000"}, {"T", "f32"}});
  KnownResults known(store_, builder_, cache_, device_, problem, gpu_id_, problem_id_, "emulation");
  const Result<VariantState> state =
      known.look_up(*parse_variant(*op, "flat THREADS=32 MODE=good"));
  ASSERT_TRUE(state.ok()) << state.status().message();
  EXPECT_EQ(state->need, VariantState::Need::nothing);
  EXPECT_EQ(state->outcome, Outcome::compile_failed);
  EXPECT_EQ(state->build.key, "");
  EXPECT_THAT(state->message, ::testing::HasSubstr("64 / (THREADS - 32)"));
  EXPECT_THAT(state->message, ::testing::HasSubstr("^"));
  record(*state);
  const std::vector<OutcomeView> rows = *store_.outcomes();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].outcome, Outcome::compile_failed);
  EXPECT_EQ(rows[0].message, state->message);
}

TEST_F(KnownResultsTest, ACrashIsRememberedWhereverItHappened) {
  WorkReply in_check;
  in_check.outcome = Outcome::crashed;
  in_check.message = "killed by signal 11";
  WorkReply in_timing = measured(0);
  in_timing.measurement.reset();
  in_timing.outcome = Outcome::timeout;
  in_timing.message = "not done within 20 s";

  KnownResults known = results();
  for (const WorkReply& reply : {in_check, in_timing}) {
    const Variant variant = *parse_variant(
        op_, reply.check.has_value() ? "flat THREADS=32 MODE=good" : "flat THREADS=64 MODE=good");
    VariantState state = *known.look_up(variant);
    ASSERT_TRUE(known.add_build(state, built("abc")).ok());
    known.add_measurement(state, reply);
    record(state);
    const VariantState again = *known.look_up(variant);
    EXPECT_EQ(again.need, VariantState::Need::nothing);
    EXPECT_EQ(again.outcome, reply.outcome);
    EXPECT_EQ(again.message, reply.message);
  }
}

TEST_F(KnownResultsTest, TheSameBinaryUnderAnotherKeyHasItsResults) {
  KnownResults known = results();
  VariantState state = *known.look_up(variant_);
  ASSERT_TRUE(known.add_build(state, built("abc")).ok());
  known.add_measurement(state, measured(120));
  record(state);

  VariantState edited = *known.look_up(variant_);
  edited.need = VariantState::Need::compile;  // as after an edit: the key is new
  edited.build = BuildRecord{{}, std::string(64, 'e'), "", "cpu", ""};
  ASSERT_TRUE(known.add_build(edited, built("abc")).ok());
  EXPECT_EQ(edited.need, VariantState::Need::nothing);
  EXPECT_EQ(edited.measurement->median_ns, 120);
  EXPECT_EQ(edited.build.key, std::string(64, 'e'));
}

TEST_F(KnownResultsTest, ResultsOfOtherParametersAreNotTaken) {
  KnownResults known = results();
  VariantState state = *known.look_up(variant_);
  ASSERT_TRUE(known.add_build(state, built("abc")).ok());
  known.add_measurement(state, measured(120));
  record(state);
  // The same binary, launched with other parameters.
  VariantState other = *known.look_up(*parse_variant(op_, "flat THREADS=128 MODE=good"));
  ASSERT_TRUE(known.add_build(other, built("abc")).ok());
  EXPECT_EQ(other.need, VariantState::Need::measure);
}

TEST_F(KnownResultsTest, ABuildThatLeftTheCacheIsMadeAgainWhenItIsNeeded) {
  Build build;
  build.binary = "binary";
  build.sha256 = sha256_hex(build.binary);
  build.arch = "cpu";
  KnownResults known = results();
  VariantState state = *known.look_up(variant_);
  build.key = state.build.key;
  ASSERT_TRUE(known.add_build(state, built(build.sha256)).ok());
  state.outcome = Outcome::ok;
  record(state);  // the build alone

  const auto expect_compile = [&] {
    const VariantState again = *known.look_up(variant_);
    EXPECT_EQ(again.need, VariantState::Need::compile);
    EXPECT_FALSE(again.cached);
  };
  expect_compile();
  ASSERT_TRUE(cache_.store(build).ok());
  const VariantState again = *known.look_up(variant_);
  EXPECT_EQ(again.need, VariantState::Need::measure);
  EXPECT_TRUE(again.cached);

  // A measure worker would compile a damaged build within the variant's deadline.
  const std::string path = folder_.file("cache") + "/" + build.key + ".build";
  std::string entry = FileSystem::real().read_file(path).value();
  entry.back() ^= 1;
  std::ofstream(path, std::ios::binary) << entry;
  expect_compile();

  // The recorded results are not those of this binary.
  build.binary = "another binary";
  build.sha256 = sha256_hex(build.binary);
  ASSERT_TRUE(cache_.store(build).ok());
  expect_compile();
}

}  // namespace
}  // namespace mgtune
