// How a plan is cut into shards, and that 64 shards find what one process finds (under a sanitizer
// eight, because starting their workers takes most of the time).

#include "plan/shard_cut.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "plan/variant_cost.h"
#include "tests/helpers/long_lane.h"
#include "tests/helpers/problem_sweep_fixture.h"

namespace mgtune {
namespace {

using testing::UnorderedElementsAreArray;

class ShardCutTest : public ProblemSweepTest {
 protected:
  using Found = std::pair<std::string, std::string>;  // a problem and a variant

  Problem problem_of(const std::string& rows, const std::string& hidden) const {
    return bind_problem(*problem_.op, {{"rows", rows}, {"hidden", hidden}, {"T", "f32"}}).value();
  }

  ShardCut cut(std::vector<PlannedProblem> problems,
               std::optional<std::int64_t> evaluations = {}) const {
    return ShardCut::make(std::move(problems), DeviceKind::cuda, evaluations).value();
  }

  std::vector<Found> visited_by(const std::vector<PlannedProblem>& problems) const {
    std::vector<Found> found;
    for (const PlannedProblem& planned : problems) {
      planned.visited().for_each([&](const Variant& variant) {
        found.emplace_back(planned.problem.text(), variant_text(*problem_.op, variant));
        return true;
      });
    }
    return found;
  }

  std::string default_of(const PlannedProblem& planned) const {
    return variant_text(*problem_.op, planned.space.ladder().at(0));
  }

  const std::vector<Problem> problems_ = {problem_of("4", "64"), problem_of("64", "64"),
                                          problem_of("4", "4096"), problem_of("8192", "8192")};
};

TEST_F(ShardCutTest, SharesAreEqualAndEachVariantIsOfOneShard) {
  const std::vector<PlannedProblem> all = planned(problems_);
  const ShardCut line = cut(all);
  for (const std::int64_t count : {2, 3, 16}) {
    std::map<Found, int> owners;
    for (std::int64_t index = 1; index <= count; ++index) {
      const Shard shard{index, count};
      const double share = line.seconds_of(shard) * static_cast<double>(count) / line.seconds();
      EXPECT_NEAR(share, 1, 0.05) << shard.text();
      for (const Found& found : visited_by(line.problems_of(shard))) ++owners[found];
    }
    EXPECT_EQ(owners.size(), visited_by(all).size());
    std::set<Found> defaults;
    for (const PlannedProblem& problem : all) {
      defaults.emplace(problem.problem.text(), default_of(problem));
    }
    for (const auto& [found, shards] : owners) {
      if (!defaults.contains(found)) {
        EXPECT_EQ(shards, 1) << found.first << ' ' << found.second;
      }
    }
  }
}

TEST_F(ShardCutTest, EveryPieceHasTheSameShareOfEachDesign) {
  const std::vector<PlannedProblem> all = planned({problem_of("4", "4096")});
  const ShardCut line = cut(all);
  const auto of_designs = [&](const PlannedProblem& problem) {
    std::vector<double> counts(problem.space.design_count());
    problem.visited().for_each([&](const Variant& variant) {
      ++counts[static_cast<std::size_t>(variant.design)];
      return true;
    });
    return counts;
  };
  const std::vector<double> whole = of_designs(all[0]);
  for (std::int64_t index = 1; index <= 4; ++index) {
    const std::vector<PlannedProblem> part = line.problems_of({index, 4});
    ASSERT_EQ(part.size(), 1U);
    const std::vector<double> counts = of_designs(part[0]);
    for (std::size_t design = 0; design < whole.size(); ++design) {
      EXPECT_NEAR(counts[design], whole[design] / 4, 2) << "and the default";
    }
  }
}

// Problems that share builds lie together: a build is compiled by one shard.
TEST_F(ShardCutTest, ABuildIsOfOneShard) {
  const ShardCut line = cut(planned({problems_[0], problems_[1]}));
  const std::vector<Found> first = visited_by(line.problems_of({1, 2}));
  std::set<std::string> of_first, of_second;
  for (const Found& found : first) of_first.insert(found.second);
  for (const Found& found : visited_by(line.problems_of({2, 2}))) of_second.insert(found.second);
  std::vector<std::string> both;
  std::ranges::set_intersection(of_first, of_second, std::back_inserter(both));
  EXPECT_LE(both.size(), 2U) << "the default, and the build where the line is cut";
  EXPECT_EQ(first.size(), 2 * of_first.size()) << "both problems have each variant";
}

TEST_F(ShardCutTest, TheEvaluationsOfABudgetAreShared) {
  const std::vector<PlannedProblem> all = planned(problems_);
  const ShardCut line = cut(all, 30);
  for (const PlannedProblem& problem : all) {
    std::int64_t sum = 0;
    std::int64_t shards = 0;
    for (std::int64_t index = 1; index <= 8; ++index) {
      for (const PlannedProblem& part : line.problems_of({index, 8})) {
        if (part.problem.text() != problem.problem.text()) continue;
        ++shards;
        sum += part.evaluations.value_or(30);
        EXPECT_EQ(visited_by({part}).size(), part.admissible);
      }
    }
    EXPECT_EQ(sum - (shards - 1), 30) << "all shards but one have the default in addition";
  }
}

TEST_F(ShardCutTest, ASpaceThatNobodyCountedIsCutByAHash) {
  PlannedProblem large = planned({problem_of("4", "4096")}).front();
  const std::size_t size = visited_by({large}).size();
  large.counted = false;
  const ShardCut line = cut({large}, 30);
  std::set<Found> found;
  std::size_t sum = 0;
  for (std::int64_t index = 1; index <= 3; ++index) {
    const std::vector<PlannedProblem> part = line.problems_of({index, 3});
    ASSERT_EQ(part.size(), 1U);
    EXPECT_EQ(part[0].evaluations, 10);
    const std::vector<Found> own = visited_by(part);
    EXPECT_NEAR(static_cast<double>(own.size()), static_cast<double>(size) / 3,
                static_cast<double>(size) / 10);
    sum += own.size();
    found.insert(own.begin(), own.end());
  }
  EXPECT_EQ(found.size(), size);
  EXPECT_EQ(sum, size + 2) << "each has the default";
  const std::vector<PlannedProblem> one_of_two = cut({large, large}).problems_of({2, 2});
  ASSERT_EQ(one_of_two.size(), 1U);
  EXPECT_FALSE(one_of_two[0].part.has_value()) << "there are as many shards as problems";
}

// The proof that a fleet loses nothing: the rows of all merged files are those of one sweep.
TEST_F(ShardCutTest, ShardsMergedAreOneProcess) {
  const std::int64_t shards = in_long_lane<std::int64_t>(64, 64, 8);
  options_.budget = {};
  options_.strategy = "exhaustive";
  const auto narrowing = std::make_shared<const Narrowing>(
      parse_narrowing(*problem_.op, {"VEC == 4 && LOAD == normal && STORE == normal"}).value());
  std::vector<PlannedProblem> all;
  for (const Problem& problem : {problems_[0], problems_[1]}) {
    all.push_back(plan_problem(problem, devices_.front(), kCountedNodes, narrowing));
  }
  const std::vector<Found> variants = visited_by(all);
  const Variable fastest("FAKE_WORKER_FAST", variants.back().second);
  const auto run = [&](const std::vector<PlannedProblem>& problems, Store& store) {
    return run_sweep(
               options_, devices_, problems, store, [](const SweepProgress&) {},
               [] { return false; })
        .value();
  };
  const auto outcomes = [](Store& store) {
    std::vector<std::tuple<std::string, std::string, Outcome, double>> found;
    for (const OutcomeView& row : store.outcomes().value()) {
      found.emplace_back(row.problem, row.variant, row.outcome, row.measurement->median_ns);
    }
    return found;
  };
  const SweepSummary one = run(all, store_);

  const ShardCut line = cut(all);
  std::vector<std::string> files;
  std::int64_t evaluated = 0;
  std::int64_t extra = 0;  // defaults that a shard measures although they are another one's
  for (std::int64_t index = 1; index <= shards; ++index) {
    const Shard shard{index, shards};
    options_.command = "mgtune sweep --shard " + shard.text();
    files.push_back(shard.path(folder_.file("fleet.db")));
    Store store = Store::open(files.back(), Store::Mode::read_write).value();
    const std::vector<PlannedProblem> part = line.problems_of(shard);
    evaluated += run(part, store).evaluated;
    extra += std::ssize(part);
  }
  extra -= std::ssize(all);
  EXPECT_EQ(line.visits(shards), one.evaluated + extra);
  EXPECT_EQ(evaluated, one.evaluated + extra);
  Store merged = Store::open(folder_.file("fleet.db"), Store::Mode::read_write).value();
  const MergeCounts counts = merged.merge(files).value();
  EXPECT_EQ(counts.outcomes, evaluated);
  EXPECT_THAT(outcomes(merged), UnorderedElementsAreArray(outcomes(store_)));
  EXPECT_EQ(merged.merge(files)->outcomes, 0);

  options_.command = "mgtune sweep --finals";
  options_.finals = true;
  const SweepSummary finals = run(all, merged);
  EXPECT_EQ(finals.evaluated, 0);
  ASSERT_EQ(finals.picks.size(), one.picks.size());
  for (std::size_t i = 0; i < one.picks.size(); ++i) {
    EXPECT_EQ(finals.picks[i].tuned.variant, one.picks[i].tuned.variant);
  }
  EXPECT_EQ(merged.merge(files)->undecided, 0);
}

// The cut knows what a variant of a problem costs on the average, and not that some take three
// times as long as others. What two processes compile and measure is counted, each piece with the
// cost that a stand-in has for it.
TEST_F(ShardCutTest, TwoShardsDoTheSameWorkThoughVariantsCostDifferently) {
  options_.budget = {};
  const std::vector<PlannedProblem> all = planned(problems_);
  const ShardCut line = cut(all);
  std::map<std::string, VariantCost> costs;
  for (const PlannedProblem& planned : all) {
    std::string word = planned.problem.text();
    std::ranges::replace(word, ' ', ',');
    costs[word] = estimated_cost(planned.problem, DeviceKind::cuda).value();
  }
  std::set<std::string> compiled;  // the fakes have no cache: a build of two problems counts once
  const auto cost_of = [&](const WorkerEvent& event) {
    if (event.event != "begins" || event.kind == "final") return 0.0;
    const VariantCost& cost = costs.at(event.problem);
    if (event.kind == "compile") {
      const std::string build = event.problem.substr(event.problem.find(',')) + event.variant;
      return compiled.insert(build).second ? cost.compile_seconds : 0;
    }
    const bool is_late = event.variant.find(" WEIGHT=late") != std::string::npos;
    return cost.measure_seconds * (is_late ? 1.5 : 0.5);
  };
  std::vector<double> work;
  for (std::int64_t index = 1; index <= 2; ++index) {
    const Shard shard{index, 2};
    Store store = Store::open(shard.path(folder_.file("two.db")), Store::Mode::read_write).value();
    const std::size_t before = events().size();
    const Result<SweepSummary> summary = run_sweep(
        options_, devices_, line.problems_of(shard), store, [](const SweepProgress&) {},
        [] { return false; });
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    const std::vector<WorkerEvent> all_events = events();
    compiled.clear();
    double sum = 0;
    for (std::size_t i = before; i < all_events.size(); ++i) sum += cost_of(all_events[i]);
    work.push_back(sum);
  }
  EXPECT_NEAR(work[0] / work[1], 1, 0.05) << work[0] << " s and " << work[1] << " s";
}

}  // namespace
}  // namespace mgtune
