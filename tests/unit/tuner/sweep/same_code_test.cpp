// Variants that differ in nothing that a GPU is told are measured once, and which those are.

#include "sweep/same_code.h"

#include "tests/helpers/problem_sweep_fixture.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

// The parameters of this family are macros: block_size_x and tile_size also shape the grid.
class SameCodeTest : public ProblemSweepTest {
 protected:
  SameCodeTest() {
    options_.kernel = source_path("tests/families/pnpoly");
    options_.budget = {};
    problem_ = bind_problem(*catalog_.find(options_.kernel).value().front(),
                            {{"count", "700"}, {"vertices", "12"}})
                   .value();
  }

  std::size_t variants() const { return all_variants(Space(problem_, devices_[0].limits)).size(); }

  std::string launches_of(const std::string& text) const {
    const Variant variant = parse_variant(*problem_.op, text).value();
    return launch_values(problem_, variant,
                         compile_slots(problem_.binding(), variant, devices_[0].limits).value());
  }
};

TEST_F(SameCodeTest, OneOfThemIsMeasuredAndTheOthersTakeItsResultOver) {
  const Variable same("FAKE_WORKER_SAME_CODE", "slope_scale");
  options_.compile_processes = 2;
  const SweepSummary summary = sweep();
  EXPECT_EQ(summary.evaluated, static_cast<std::int64_t>(variants()));
  const std::vector<std::string> began = measured();
  EXPECT_EQ(began.size(), variants() / 2) << "slope_scale has two values";
  std::size_t taken = 0;
  for (const OutcomeView& row : store_.outcomes().value()) {
    EXPECT_EQ(row.outcome, Outcome::ok);
    ASSERT_TRUE(row.measurement.has_value());
    EXPECT_EQ(row.measurement->median_ns, 1000);
    const bool is_measured = std::ranges::find(began, row.variant) != began.end();
    EXPECT_EQ(row.measurement->note.empty(), is_measured) << row.measurement->note;
    if (is_measured) continue;
    ++taken;
    EXPECT_THAT(row.measurement->note, HasSubstr(", which has the same code"));
  }
  EXPECT_EQ(taken, variants() / 2);
  EXPECT_EQ(summary.same_code, static_cast<std::int64_t>(taken));

  const SweepSummary again = sweep();
  EXPECT_EQ(again.evaluated, 0);
  EXPECT_EQ(again.reused, static_cast<std::int64_t>(variants()));
}

TEST_F(SameCodeTest, TheNamesOfKernelsDoNotMatter) {
  const Variable same("FAKE_WORKER_SAME_MACHINE_CODE", "slope_scale");
  const SweepSummary summary = sweep();
  EXPECT_EQ(measured().size(), variants() / 2);
  EXPECT_EQ(summary.same_code, static_cast<std::int64_t>(variants() / 2));
  EXPECT_EQ(sweep().reused, static_cast<std::int64_t>(variants()));
}

TEST_F(SameCodeTest, TheSameBytesWithAnotherGridAreMeasured) {
  const Variable same("FAKE_WORKER_SAME_CODE", "tile_size");
  sweep();
  EXPECT_EQ(measured().size(), variants());
}

TEST_F(SameCodeTest, TheDefaultIsMeasuredItself) {
  const std::string standard =
      variant_text(*problem_.op, Space(problem_, devices_[0].limits).ladder().front());
  const Variable same("FAKE_WORKER_SAME_CODE", "slope_scale");
  sweep();
  EXPECT_EQ(measured().front(), standard);
}

TEST_F(SameCodeTest, AFailureIsTakenOverToo) {
  const Variable same("FAKE_WORKER_SAME_CODE", "slope_scale");
  const Variable killed("FAKE_WORKER_KILLED", "block_size_x=32 tile_size=4");
  sweep();
  std::size_t crashed = 0, taken = 0;
  for (const OutcomeView& row : store_.outcomes().value()) {
    const bool is_broken = row.variant.find("block_size_x=32 tile_size=4") != std::string::npos;
    EXPECT_EQ(row.outcome, is_broken ? Outcome::crashed : Outcome::ok) << row.variant;
    crashed += is_broken;
    taken += is_broken && row.message.find(", which has the same code") != std::string::npos;
  }
  EXPECT_EQ(crashed, 4U);
  EXPECT_EQ(taken, 2U);
}

TEST_F(SameCodeTest, LaunchesAreComparedByTheirValues) {
  const std::string text = "flat block_size_x=64 tile_size=2 between_method=plain slope_scale=1.0";
  EXPECT_EQ(launches_of(text),
            launches_of("flat block_size_x=64 tile_size=2 between_method=exclusive_or "
                        "slope_scale=2.0"));
  EXPECT_NE(launches_of(text),
            launches_of("flat block_size_x=64 tile_size=4 between_method=plain slope_scale=1.0"));
  EXPECT_NE(launches_of(text),
            launches_of("flat block_size_x=32 tile_size=2 between_method=plain slope_scale=1.0"));
}

// What depends on the number of rows has its value: four rows have no more than four blocks.
TEST_F(SameCodeTest, LaunchesAreThoseOfTheProblem) {
  const auto launches = [this](const char* rows, const char* blocks_per_sm) {
    problem_ = bind_problem(*catalog_.find_operator("rmsnorm.backward").value(),
                            {{"rows", rows}, {"hidden", "4096"}, {"T", "bf16"}, {"dw", "true"}})
                   .value();
    devices_[0].limits = {90, 132, 232448, 1000000};
    return launches_of(std::string("two_pass THREADS_PER_ROW=256 ROWS_PER_BLOCK=1 VEC=8 "
                                   "THREADS=128 ROWS_AT_ONCE=2 BLOCKS_PER_SM=") +
                       blocks_per_sm);
  };
  EXPECT_EQ(launches("4", "2"), launches("4", "4"));
  EXPECT_NE(launches("4096", "2"), launches("4096", "4"));
}

TEST(MeasuredVariant, IsWhatTheNoteSays) {
  EXPECT_EQ(measured_variant(""), std::nullopt);
  EXPECT_EQ(measured_variant("the buffers do not rotate"), std::nullopt);
  EXPECT_EQ(measured_variant("as row VEC=8, which has the same code"), "row VEC=8");
  EXPECT_EQ(measured_variant("3 buffers; as row VEC=8, which has the same code"), "row VEC=8");
}

// A variant with this build; "": nobody has read its code. All have the same launches.
VariantState variant_with(const std::string& name, const std::string& code, int code_bytes = 640) {
  VariantState state;
  state.variant = name;
  state.build.key = "key of " + name;
  state.build.sha256 = "sha of " + name;
  state.build.code_bytes = code_bytes;
  state.launches = "grid 4";
  state.code = code;
  state.need = VariantState::Need::measure;
  return state;
}

VariantState with_result(VariantState state, double median_ns) {
  state.need = VariantState::Need::nothing;
  state.outcome = Outcome::ok;
  state.check.emplace();
  state.measurement.emplace().median_ns = median_ns;
  return state;
}

TEST(SameCode, OneWaitsForTheOtherThatIsMeasured) {
  SameCode same([](const BuildRecord&) { return ""; });
  const VariantState first = variant_with("a", "code");
  EXPECT_TRUE(same.take_over(first).has_value());
  EXPECT_FALSE(same.take_over(variant_with("b", "code")).has_value());
  EXPECT_TRUE(same.take_over(variant_with("c", "other code")).has_value());
  EXPECT_EQ(same.kept(), 1U);
  const std::vector<VariantState> others = same.add_result(with_result(first, 70));
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(others[0].variant, "b");
  EXPECT_EQ(others[0].build.sha256, "sha of b");
  EXPECT_EQ(others[0].measurement->median_ns, 70);
  EXPECT_EQ(measured_variant(others[0].measurement->note), "a");
  EXPECT_EQ(same.kept(), 0U);
}

TEST(SameCode, OthersWaitForTheOneThatIsMeasuredItself) {
  SameCode same([](const BuildRecord&) { return ""; });
  VariantState standard = variant_with("default", "code");
  same.announce(standard);
  EXPECT_FALSE(same.take_over(variant_with("a", "code")).has_value());
  EXPECT_TRUE(same.take_over(variant_with("b", "other code")).has_value());
  standard.need = VariantState::Need::nothing;
  standard.outcome = Outcome::ok;
  standard.measurement.emplace();
  const std::vector<VariantState> others = same.add_result(standard);
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(others[0].variant, "a");
  EXPECT_EQ(measured_variant(others[0].measurement->note), "default");
}

TEST(SameCode, ABuildWhoseCodeIsNotKnownIsComparedByItsBytes) {
  SameCode same([](const BuildRecord&) { return ""; });
  EXPECT_TRUE(same.take_over(variant_with("a", "")).has_value());
  EXPECT_TRUE(same.take_over(variant_with("b", "")).has_value());
  EXPECT_FALSE(same.take_over(variant_with("a", "")).has_value());
}

TEST(SameCode, ResultsOfAnEarlierSweepAreTakenOver) {
  std::vector<std::string> read;
  SameCode same([&](const BuildRecord& build) {
    read.push_back(build.key);
    return build.key == "key of a" ? "code" : "";
  });
  same.add_result(with_result(variant_with("a", ""), 70));
  same.add_result(with_result(variant_with("gone", ""), 60));
  same.add_result(with_result(variant_with("longer", "", 656), 50));
  EXPECT_TRUE(read.empty()) << "no build may have the same code yet";
  const std::optional<VariantState> taken = same.take_over(variant_with("b", "code"));
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->need, VariantState::Need::nothing);
  EXPECT_EQ(taken->measurement->median_ns, 70);
  EXPECT_EQ(read, (std::vector<std::string>{"key of a", "key of gone"}));
  EXPECT_EQ(same.take_over(variant_with("c", "c"))->need, VariantState::Need::measure);
  EXPECT_EQ(read.size(), 2U) << "each is read once";
}

}  // namespace
}  // namespace mgtune
