// OperatorCheck: a shipped operator on the cpu device. Variants of it, ladder and seeded sample, go
// through the tuner's own check (check/checker.h: fresh inputs of two seeds, guard bands, poisoned
// outputs, threads forward, reversed and shuffled) on the problems of a test. Under a sanitizer the
// threads run forward alone: it finds bad addresses and races in every order, and the other orders
// are three of the five launches of a check. Kernels of one design are compiled together.
// Header-only; for one thread.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "build/builder.h"
#include "check/checker.h"
#include "device/registry.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "family/variant.h"
#include "launch/loaded_variant.h"
#include "space/space.h"
#include "system/file_system.h"
#include "tests/helpers/all_variants.h"
#include "tests/helpers/kernels/ladders.h"
#include "tests/helpers/long_lane.h"
#include "tests/helpers/test_folder.h"

namespace mgtune {

class OperatorCheck {
 public:
  static constexpr Checker::Orders kOrders =
      kUnderSanitizer ? Checker::Orders::forward : Checker::Orders::all;

  explicit OperatorCheck(const std::string& name)
      : catalog_(FileSystem::real()),
        op_(*catalog_.find_operator(name).value()),
        device_(open_device("cpu").value()),
        builder_(BuildCache(FileSystem::real(), cache_.path())) {}

  const Operator& op() const { return op_; }

  // On every problem ("rows=3,hidden=7,T=f32"), the ladder's variants that it admits, and those of
  // `samples` others, drawn from all the problems' spaces, give what the reference gives.
  void expect_right(const std::vector<std::string>& texts, std::size_t samples) {
    std::vector<Problem> problems;
    for (const std::string& text : texts) {
      auto problem = bind_problem(op_, parse_assignments(text).value());
      ASSERT_TRUE(problem.ok()) << problem.status().message();
      problems.push_back(*std::move(problem));
    }
    const std::vector<Variant> variants = choose(problems, samples);
    std::vector<std::pair<Problem, std::vector<Variant>>> cases;
    std::vector<std::set<std::string>> kernels(op_.designs.size());
    for (const Problem& problem : problems) {
      const Space space(problem, device_->info().limits);
      cases.emplace_back(problem, std::vector<Variant>());
      for (const Variant& variant : variants) {
        if (!space.serves(variant)) continue;
        cases.back().second.push_back(variant);
        const auto names = kernel_names(op_, variant, slots(problem, variant)).value();
        kernels[static_cast<std::size_t>(variant.design)].insert(names.begin(), names.end());
      }
      ASSERT_FALSE(cases.back().second.empty()) << problem.text();
    }
    std::vector<Build> builds;
    for (std::size_t design = 0; design < kernels.size(); ++design) {
      if (kernels[design].empty()) {
        builds.emplace_back();
        continue;
      }
      auto build = builder_.build({op_.sources.get(),
                                   op_.designs[design].source,
                                   {kernels[design].begin(), kernels[design].end()},
                                   device_->info().arch});
      ASSERT_TRUE(build.ok()) << build.status().message();
      builds.push_back(*std::move(build));
    }
    for (const auto& [problem, admitted] : cases) {
      auto checker = Checker::make(*device_, builder_, problem);
      ASSERT_TRUE(checker.ok()) << checker.status().message();
      for (const Variant& variant : admitted) {
        SCOPED_TRACE(problem.text() + ": " + variant_text(op_, variant));
        const auto loaded = LoadedVariant::load(*device_, problem.binding(), variant,
                                                builds[static_cast<std::size_t>(variant.design)]);
        ASSERT_TRUE(loaded.ok()) << loaded.status().message();
        const auto record = (*checker)->check(**loaded, kOrders);
        ASSERT_TRUE(record.ok()) << record.status().message();
        EXPECT_EQ(record->outcome, Outcome::ok) << record->message;
      }
    }
  }

  // Each variant ("row VEC=8 ...") on each of its problems gives what the reference gives.
  void expect_right(const std::vector<std::pair<std::string, std::vector<std::string>>>& cases) {
    for (const auto& [text, problems] : cases) {
      const Result<Variant> variant = parse_variant(op_, text);
      ASSERT_TRUE(variant.ok()) << variant.status().message();
      for (const std::string& words : problems) {
        SCOPED_TRACE(words + ": " + text);
        const auto problem = bind_problem(op_, parse_assignments(words).value());
        ASSERT_TRUE(problem.ok()) << problem.status().message();
        ASSERT_TRUE(Space(*problem, device_->info().limits).serves(*variant));
        const auto request =
            variant_build_request(op_, *variant, slots(*problem, *variant), device_->info().arch);
        ASSERT_TRUE(request.ok()) << request.status().message();
        const auto build = builder_.build(*request);
        ASSERT_TRUE(build.ok()) << build.status().message();
        const auto loaded = LoadedVariant::load(*device_, problem->binding(), *variant, *build);
        ASSERT_TRUE(loaded.ok()) << loaded.status().message();
        auto checker = Checker::make(*device_, builder_, *problem);
        ASSERT_TRUE(checker.ok()) << checker.status().message();
        const auto record = (*checker)->check(**loaded, kOrders);
        ASSERT_TRUE(record.ok()) << record.status().message();
        EXPECT_EQ(record->outcome, Outcome::ok) << record->message;
        EXPECT_LT(record->error, record->tolerance);
      }
    }
  }

  // The ladder's first variant for a problem, among those that satisfy `wanted`; "none".
  template <class Wanted>
  std::string first_of_ladder(const std::string& words, const DeviceLimits& device,
                              const Wanted& wanted) const {
    const auto problem = bind_problem(op_, parse_assignments(words).value());
    if (!problem.ok()) return problem.status().message();
    const Space space(*problem, device);
    for (const Variant& variant : space.ladder()) {
      if (wanted(variant)) return variant_text(op_, variant);
    }
    return "none";
  }
  std::string first_of_ladder(const std::string& words, const DeviceLimits& device) const {
    return first_of_ladder(words, device, [](const Variant&) { return true; });
  }

  std::int64_t value(const Variant& variant, const std::string& parameter) const {
    const auto& params = op_.designs[static_cast<std::size_t>(variant.design)].params;
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (params[i].name == parameter) return variant.values[i];
    }
    ADD_FAILURE() << "no parameter " << parameter;
    return 0;
  }

  std::uint64_t count(const std::string& words, const DeviceLimits& device) const {
    return count_variants(
        Space(bind_problem(op_, parse_assignments(words).value()).value(), device));
  }

 private:
  std::vector<Variant> choose(const std::vector<Problem>& problems, std::size_t samples) const {
    std::vector<Variant> chosen = ladders_of(problems, device_->info().limits), others;
    for (const Problem& problem : problems) {
      for (const Variant& variant : all_variants(Space(problem, device_->info().limits))) {
        const auto known = [&](const auto& list) {
          return std::ranges::find(list, variant) != list.end();
        };
        if (!known(chosen) && !known(others)) others.push_back(variant);
      }
    }
    std::mt19937 random(1);
    std::ranges::shuffle(others, random);
    others.resize(std::min(samples, others.size()));
    chosen.insert(chosen.end(), others.begin(), others.end());
    return chosen;
  }

  Slots slots(const Problem& problem, const Variant& variant) const {
    return compile_slots(problem.binding(), variant, device_->info().limits).value();
  }

  TestFolder cache_;
  Catalog catalog_;
  const Operator& op_;
  std::unique_ptr<Device> device_;
  Builder builder_;
};

}  // namespace mgtune
