#include "sweep/proposals.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "tests/helpers/operators/toy_operators.h"

namespace mgtune {
namespace {

// Thinks before its second variant, until somebody lets it go on.
class ThoughtfulSearch final : public Search {
 public:
  ThoughtfulSearch(std::atomic<bool>& may_go_on, std::atomic<int>& thoughts)
      : may_go_on_(may_go_on), thoughts_(thoughts) {}

  std::optional<Variant> next() override {
    EXPECT_EQ(thoughts_, given_ == 0 ? 0 : 1);
    if (given_ == 3) return std::nullopt;
    return Variant{0, {32 << given_++, 1}};  // of the toy norm
  }
  std::function<void()> long_work() override {
    if (given_ != 1 || thoughts_ == 1) return nullptr;
    return [this] {
      while (!may_go_on_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_EQ(reported_, 1) << "what was reported before";
      ++thoughts_;
    };
  }
  void report(const Evaluation&) override { ++reported_; }
  double chance_of_gain(double) const override { return 0; }

  int reported() const { return reported_; }

 private:
  std::atomic<bool>& may_go_on_;
  std::atomic<int>& thoughts_;
  int given_ = 0;
  int reported_ = 0;
};

class ProposalsTest : public ::testing::Test {
 protected:
  void let_it_think() {
    may_go_on_ = true;
    while (proposals_.is_thinking()) {
      WaitSet waiting;
      proposals_.join(waiting);
      waiting.wait();
      proposals_.take_thought();
    }
  }

  const Operator op_ = toy_norm();
  std::atomic<bool> may_go_on_ = false;
  std::atomic<int> thoughts_ = 0;
  ThoughtfulSearch* const search_ =
      new ThoughtfulSearch(may_go_on_, thoughts_);  // of the proposals
  Proposals proposals_{op_, std::make_shared<WalkLimit>(), std::unique_ptr<Search>(search_)};
};

TEST_F(ProposalsTest, WhileTheSearchThinksTheCallerGoesOn) {
  const std::optional<Variant> first = proposals_.next({});
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(proposals_.is_reached(0.98));
  proposals_.report({*first, Outcome::ok, 1});
  EXPECT_FALSE(proposals_.next({}).has_value());
  EXPECT_TRUE(proposals_.is_thinking());
  EXPECT_FALSE(proposals_.exhausted());
  proposals_.report({*first, Outcome::ok, 1});
  EXPECT_FALSE(proposals_.next({}).has_value()) << "it still thinks";
  proposals_.take_thought();
  EXPECT_TRUE(proposals_.is_thinking());
  EXPECT_FALSE(proposals_.is_reached(0.98)) << "nobody asks it";
  let_it_think();
  EXPECT_EQ(search_->reported(), 2) << "what was reported meanwhile has arrived";
  EXPECT_TRUE(proposals_.next({}).has_value());
  EXPECT_TRUE(proposals_.next({}).has_value());
  EXPECT_FALSE(proposals_.next({}).has_value());
  EXPECT_TRUE(proposals_.exhausted());
}

TEST_F(ProposalsTest, WhatIsTriedAgainDoesNotWaitForTheSearch) {
  proposals_.report({*proposals_.next({}), Outcome::ok, 1});
  EXPECT_FALSE(proposals_.next({}).has_value());
  const Variant again{0, {256, 1}};
  proposals_.retry(again);
  EXPECT_EQ(proposals_.next({}), again);
  EXPECT_TRUE(proposals_.is_thinking());
  let_it_think();
  EXPECT_TRUE(proposals_.next({}).has_value());
}

TEST_F(ProposalsTest, ASearchThatThinksMayBeGivenUp) {
  {
    Proposals given_up(op_, std::make_shared<WalkLimit>(),
                       std::make_unique<ThoughtfulSearch>(may_go_on_, thoughts_));
    given_up.report({*given_up.next({}), Outcome::ok, 1});
    EXPECT_FALSE(given_up.next({}).has_value());
    EXPECT_TRUE(given_up.is_thinking());
    may_go_on_ = true;
  }
  EXPECT_EQ(thoughts_, 1) << "the end waits for it";
}

// Proposes these, in their order.
class ListedSearch final : public Search {
 public:
  std::optional<Variant> next() override {
    if (given_ == 6) return std::nullopt;
    return Variant{0, {32 << given_++, 1}};
  }
  void report(const Evaluation&) override {}

 private:
  int given_ = 0;
};

TEST(ProposalsInOrder, WhatIsLikelyToCompileLongestComesFirst) {
  const Operator op = toy_norm();
  Proposals proposals(op, std::make_shared<WalkLimit>(), std::make_unique<ListedSearch>(),
                      CompileOrder(1));
  const auto variant = [](std::int64_t threads) { return Variant{0, {threads, 1}}; };
  EXPECT_TRUE(proposals.exclude(variant_text(op, variant(1024))));  // its result is known
  EXPECT_EQ(proposals.next({}), variant(32));
  EXPECT_EQ(proposals.next({}), variant(256)) << "the first two are spread";
  EXPECT_EQ(proposals.likely_seconds(variant(512)), std::nullopt);
  proposals.report_compiled(variant(64), 1);
  proposals.report_compiled(variant(128), 100);
  proposals.report_compiled(variant(512), 10);
  EXPECT_GT(proposals.likely_seconds(variant(128)), 20);
  EXPECT_LT(proposals.likely_seconds(variant(64)), 5);
  for (const std::int64_t threads : {128, 512, 64}) {
    EXPECT_EQ(proposals.next({}), variant(threads));
  }
  EXPECT_FALSE(proposals.next({}).has_value());
  EXPECT_TRUE(proposals.exhausted());
}

}  // namespace
}  // namespace mgtune
