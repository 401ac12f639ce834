// What a sweep of tests/families/culprits has to leave behind, on whatever device: five of the 64
// variants of its operator have a planted fault each, and nothing but these five is blamed.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "store/store.h"
#include "tests/helpers/mgtune_program.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {

inline const std::string kCulpritsFamily = source_path("tests/families/culprits");

// "none", "reads_far", ...
inline std::string fault_of(const std::string& variant) {
  return variant.substr(variant.find("FAULT=") + 6);
}

inline void expect_a_good_variant(const OutcomeView& row) {
  using ::testing::AnyOf;
  EXPECT_THAT(row.outcome, AnyOf(Outcome::ok, Outcome::raced_out))
      << row.variant << ": " << row.message;
  ASSERT_TRUE(row.measurement.has_value()) << row.variant;
  EXPECT_GT(row.measurement->median_ns, 0) << row.variant;
}

inline void expect_culprits_alone(const Ended& ended, const std::string& database) {
  using ::testing::AnyOf;
  using ::testing::HasSubstr;
  using ::testing::Not;
  using ::testing::StartsWith;
  EXPECT_EQ(ended.exit_code, 3) << ended;
  Result<Store> store = Store::open(database, Store::Mode::read_only);
  ASSERT_TRUE(store.ok()) << store.status().message();
  const std::vector<OutcomeView> rows = *store->outcomes();
  ASSERT_EQ(rows.size(), 64U) << ended;
  std::map<std::string, OutcomeView> culprits;
  for (const OutcomeView& row : rows) {
    if (const std::string fault = fault_of(row.variant); fault == "none") {
      expect_a_good_variant(row);
    } else {
      culprits[fault] = row;
    }
  }
  ASSERT_EQ(culprits.size(), 5U);
  EXPECT_EQ(culprits["reads_far"].outcome, Outcome::crashed);
  EXPECT_EQ(culprits["never_ends"].outcome, Outcome::timeout);
  EXPECT_EQ(culprits["writes_nan"].outcome, Outcome::wrong);
  EXPECT_EQ(culprits["writes_nothing"].outcome, Outcome::wrong);
  EXPECT_THAT(culprits["traps"].outcome, AnyOf(Outcome::crashed, Outcome::launch_failed));
  EXPECT_THAT(culprits["writes_nan"].message, HasSubstr(" is nan, the reference says "));
  EXPECT_THAT(culprits["writes_nan"].message, Not(HasSubstr("never written")));
  EXPECT_THAT(culprits["writes_nothing"].message, StartsWith("y was never written: "));
  EXPECT_THAT(culprits["never_ends"].message,
              AnyOf(HasSubstr("not done within "), HasSubstr("endless wait")));
  EXPECT_NE(culprits["traps"].message, culprits["reads_far"].message);
  for (const auto& [fault, row] : culprits) EXPECT_NE(row.message, "") << fault;

  const std::vector<TunedView> picks = *store->tuned();
  ASSERT_EQ(picks.size(), 1U);
  EXPECT_EQ(fault_of(picks[0].tuned.variant), "none");
}

}  // namespace mgtune
