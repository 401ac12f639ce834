// Which problem has the next turn of a sweep whose time is limited. The clock is made up: the tests
// say how long each turn takes and how much time is left.

#include "sweep/turn_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <map>
#include <string>

#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/replaced.h"

namespace mgtune {
namespace {

using testing::ElementsAre;

class TurnOrderTest : public testing::Test {
 protected:
  std::size_t add(const std::string& words, double bytes, double weight = 1) {
    problems_.push_back(bind_problem(op_, parse_assignments(words).value()).value());
    entries_.push_back({&problems_.back(), weight, bytes});
    return entries_.size() - 1;
  }

  void begin() { order_.emplace(entries_); }

  // The default takes 100 ns and 0.1 s; a copy `copy_ns`.
  void take_default(std::size_t problem, double copy_ns = 0) {
    order_->finish(
        problem,
        {.default_ns = 100, .best_ns = 100, .copy_ns = copy_ns, .evaluated = 1, .seconds = 0.1});
    copies_[problem] = copy_ns;
  }
  void take_all_defaults() {
    for (std::size_t i = 0; i < entries_.size(); ++i) take_default(order_->next(1)->problem);
  }
  // A turn of 0.2 s after which the fastest variant takes `best_ns`.
  void take(const TurnOrder::Turn& turn, double best_ns, bool is_over = false) {
    order_->finish(turn.problem, {.default_ns = 100,
                                  .best_ns = best_ns,
                                  .copy_ns = copies_[turn.problem],
                                  .is_over = is_over,
                                  .evaluated = turn.evaluations.value_or(8),
                                  .seconds = 0.2});
  }

  const Operator op_ = decode_toy(
      "toy.norm", replaced(replaced(kToyNorm, R"(["f32", "bf16"])", R"(["f32", "f16", "bf16"])"),
                           R"("bf16": 1e-2)", R"("f16": 1e-3, "bf16": 1e-2)"));
  std::deque<Problem> problems_;
  std::vector<TurnOrder::Entry> entries_;
  std::optional<TurnOrder> order_;
  std::map<std::size_t, double> copies_;
};

TEST_F(TurnOrderTest, TheDefaultsOfAllProblemsComeFirstTheCheapestFirst) {
  add("rows=4096,hidden=64,T=f32", 4096);
  add("rows=64,hidden=64,T=f32", 64);
  add("rows=512,hidden=64,T=f32", 512);
  begin();
  std::vector<std::size_t> order;
  for (int i = 0; i < 3; ++i) {
    const TurnOrder::Turn turn = order_->next(10).value();
    EXPECT_TRUE(turn.is_default);
    EXPECT_EQ(turn.evaluations, 1);
    order.push_back(turn.problem);
  }
  EXPECT_THAT(order, ElementsAre(1, 2, 0));
  EXPECT_FALSE(order_->next(10).has_value()) << "each has a turn now";
  order_->cancel(0);
  EXPECT_EQ(order_->next(10)->problem, 0U);
}

TEST_F(TurnOrderTest, NothingBeginsWhenTheTimeIsOver) {
  add("rows=64,hidden=64,T=f32", 64);
  begin();
  EXPECT_FALSE(order_->next(0).has_value());
  EXPECT_FALSE(order_->has_begun(0));
  EXPECT_TRUE(order_->next(0.01).has_value());
}

TEST_F(TurnOrderTest, AProblemThatIsAsFastAsACopyWaits) {
  const std::size_t fast = add("rows=64,hidden=64,T=f32", 64);
  const std::size_t slow = add("rows=128,hidden=64,T=f32", 128);
  begin();
  take_default(order_->next(10)->problem, 99.9);
  take_default(order_->next(10)->problem, 50);
  EXPECT_LT(order_->expected_gain(fast), 0.002);
  for (int turns = 0; turns < 3; ++turns) {
    const TurnOrder::Turn turn = order_->next(10).value();
    EXPECT_EQ(turn.problem, slow);
    take(turn, 100, turns == 2);
  }
  EXPECT_EQ(order_->next(10)->problem, fast) << "nothing else is left";
}

TEST_F(TurnOrderTest, WhatANeighborGainedIsExpectedOfOthersTheNearestFirst) {
  const std::size_t f16 = add("rows=64,hidden=64,T=f16", 64);
  const std::size_t far = add("rows=65536,hidden=64,T=f32", 65536);
  const std::size_t bf16 = add("rows=64,hidden=64,T=bf16", 64.5);
  begin();
  take_all_defaults();
  EXPECT_DOUBLE_EQ(order_->expected_gain(bf16), order_->expected_gain(far));
  const TurnOrder::Turn first = order_->next(10).value();
  EXPECT_EQ(first.problem, f16);
  take(first, 80, true);
  EXPECT_GT(order_->expected_gain(bf16), 0.12) << "of 0.22 that the other dtype gained";
  EXPECT_LT(order_->expected_gain(far), 0.07);
  EXPECT_EQ(order_->next(10)->problem, bf16);
}

TEST_F(TurnOrderTest, NeighborsThatGainedNothingAreAWarning) {
  const std::size_t f16 = add("rows=64,hidden=64,T=f16", 64);
  const std::size_t far = add("rows=65536,hidden=64,T=f32", 65536);
  add("rows=64,hidden=64,T=bf16", 64.5);
  begin();
  take_all_defaults();
  const TurnOrder::Turn first = order_->next(10).value();
  ASSERT_EQ(first.problem, f16);
  take(first, 100, true);
  EXPECT_EQ(order_->next(10)->problem, far);
}

TEST_F(TurnOrderTest, ATurnInVainMakesRoomForOthersAndTurnsGrow) {
  add("rows=64,hidden=64,T=f32", 64);
  add("rows=64,hidden=64,T=bf16", 65);
  begin();
  take_all_defaults();
  std::vector<std::size_t> order;
  std::vector<std::int64_t> evaluations;
  for (int turns = 0; turns < 4; ++turns) {
    const TurnOrder::Turn turn = order_->next(0.5).value();
    order.push_back(turn.problem);
    evaluations.push_back(turn.evaluations.value());
    take(turn, 100);
  }
  EXPECT_THAT(order, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(evaluations, ElementsAre(8, 8, 16, 16));
}

TEST_F(TurnOrderTest, AWeightBringsAProblemForward) {
  add("rows=64,hidden=64,T=f32", 64);
  const std::size_t heavy = add("rows=65536,hidden=64,T=f32", 65536, 10);
  begin();
  take_all_defaults();
  EXPECT_EQ(order_->next(10)->problem, heavy);
}

TEST_F(TurnOrderTest, TheLastProblemHasAllTheTime) {
  const std::size_t one = add("rows=64,hidden=64,T=f32", 64);
  const std::size_t other = add("rows=64,hidden=64,T=bf16", 65);
  begin();
  take_all_defaults();
  const TurnOrder::Turn turn = order_->next(10).value();
  ASSERT_EQ(turn.problem, one);
  take(turn, 90, true);
  const TurnOrder::Turn last = order_->next(10).value();
  EXPECT_EQ(last.problem, other);
  EXPECT_FALSE(last.evaluations.has_value());
  take(last, 90, true);
  EXPECT_FALSE(order_->next(10).has_value());
  EXPECT_EQ(order_->expected_gain(other), 0);
}

TEST_F(TurnOrderTest, MuchTimeMakesLongTurns) {
  add("rows=64,hidden=64,T=f32", 64);
  add("rows=64,hidden=64,T=bf16", 65);
  begin();
  take_all_defaults();
  const TurnOrder::Turn turn = order_->next(8).value();
  EXPECT_DOUBLE_EQ(turn.seconds, 2) << "half of an equal share";
  EXPECT_EQ(turn.evaluations, 100) << "of 20 ms each";
}

TEST_F(TurnOrderTest, WithAmpleTimeTheFirstTurnIsASearch) {
  add("rows=64,hidden=64,T=f32", 64);
  add("rows=64,hidden=64,T=bf16", 65);
  begin();
  const TurnOrder::Turn first = order_->next(100).value();
  EXPECT_FALSE(first.is_default);
  EXPECT_GE(first.evaluations, 1000);
  EXPECT_DOUBLE_EQ(first.seconds, 25);
  EXPECT_TRUE(order_->next(19)->is_default);
  order_->finish(0, {.default_ns = 100, .best_ns = 90, .evaluated = 500, .seconds = 5});
  EXPECT_TRUE(order_->was_searched(0));
}

TEST_F(TurnOrderTest, ASingleProblemIsSearchedAtOnce) {
  add("rows=64,hidden=64,T=f32", 64);
  begin();
  const TurnOrder::Turn turn = order_->next(3).value();
  EXPECT_FALSE(turn.is_default);
  EXPECT_FALSE(turn.evaluations.has_value());
  EXPECT_DOUBLE_EQ(turn.seconds, 3);
}

TEST_F(TurnOrderTest, AProblemThatWouldOnlyBeMadeReadyHasNoTurn) {
  add("rows=64,hidden=64,T=f32", 64);
  begin();
  take_all_defaults();
  EXPECT_FALSE(order_->next(0.05).has_value()) << "its default took 0.1 s";
  EXPECT_TRUE(order_->next(0.15).has_value());
}

// 96 problems in 60 s: the defaults, then turns, and never more time than there is.
TEST_F(TurnOrderTest, ManyProblemsKeepTheTime) {
  for (int rows = 1; rows <= 32; ++rows) {
    for (const char* dtype : {"f32", "f16", "bf16"}) {
      add("rows=" + std::to_string(rows * 64) + ",hidden=64,T=" + dtype, rows * 64);
    }
  }
  begin();
  double left = 60;
  std::size_t defaults = 0, turns = 0;
  while (const std::optional<TurnOrder::Turn> turn = order_->next(left)) {
    if (turn->is_default) {
      take_default(turn->problem);
      left -= 0.1;
      ++defaults;
      EXPECT_EQ(turns, 0U);
    } else {
      take(*turn, 100 - static_cast<double>(turn->problem % 5));
      left -= 0.2;
      ++turns;
    }
  }
  EXPECT_EQ(defaults, 96U);
  EXPECT_GT(turns, 200U);
  EXPECT_GT(left, -0.2);
  std::size_t searched = 0;
  for (std::size_t i = 0; i < 96; ++i) searched += order_->was_searched(i);
  EXPECT_EQ(searched, 96U);
}

}  // namespace
}  // namespace mgtune
