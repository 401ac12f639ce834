// Which variants of other problems a sweep for rules measures at a problem too.

#include "sweep/shared_variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/store_fixture.h"

namespace mgtune {
namespace {

using testing::ElementsAre;

class SharedVariantsTest : public StoreTest {
 protected:
  Problem problem(int rows) const {
    return must(
        bind_problem(op_, {{"rows", std::to_string(rows)}, {"hidden", "64"}, {"T", "f32"}}));
  }

  void measure(int rows, const std::vector<std::pair<std::string, double>>& times) {
    OutcomeRecord row = outcome_in(store_, kH200Record);
    row.key.problem = *store_.problem_id("toy.norm", problem(rows).text(), 1, 1);
    for (const auto& [variant, median_ns] : times) {
      row.variant = variant;
      row.key.build_sha256 = row.build.sha256 = row.build.key = "build of " + variant;
      row.measurement->method = "graph";
      row.measurement->median_ns = median_ns;
      ASSERT_TRUE(store_.record(row).ok());
    }
  }

  std::vector<std::string> shared(int rows, const std::function<bool(const Variant&)>& admits) {
    std::vector<std::string> texts;
    for (const Variant& variant :
         must(shared_variants(store_, problem(rows), kH200Record, "graph", admits))) {
      texts.push_back(variant_text(op_, variant));
    }
    return texts;
  }

  const Operator op_ = toy_norm();
  Store store_ = open();
};

TEST_F(SharedVariantsTest, EveryProblemHasOneAmongTheFirst) {
  // At many problems the same two are as fast as each other, at one problem another one.
  for (const int rows : {1, 2, 3}) {
    measure(rows, {{"row THREADS=32 VEC=1", 100},
                   {"row THREADS=32 VEC=2", 101},
                   {"row THREADS=256 VEC=4", 150}});
  }
  measure(4, {{"row THREADS=256 VEC=4", 100}, {"row THREADS=32 VEC=1", 150}});
  measure(5, {{"row THREADS=128 VEC=1", 100}});
  const auto all = [](const Variant&) { return true; };
  EXPECT_THAT(shared(5, all),
              ElementsAre("row THREADS=32 VEC=1", "row THREADS=256 VEC=4", "row THREADS=32 VEC=2"))
      << "its own ones are known";
  const auto wide = [](const Variant& variant) { return variant.values[0] > 32; };
  EXPECT_THAT(shared(6, wide), ElementsAre("row THREADS=128 VEC=1", "row THREADS=256 VEC=4"));
  EXPECT_TRUE(must(shared_variants(store_, problem(6), kH200Record, "rotating", all)).empty());
}

}  // namespace
}  // namespace mgtune
