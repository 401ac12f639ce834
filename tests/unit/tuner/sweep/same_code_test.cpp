// Variants that differ in their texts alone are measured once, and which those are.

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
    return launch_values(*problem_.op, variant,
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

  const SweepSummary again = sweep();
  EXPECT_EQ(again.evaluated, 0);
  EXPECT_EQ(again.reused, static_cast<std::int64_t>(variants()));
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

}  // namespace
}  // namespace mgtune
