// The counter sets against the real libcupti, whose host half needs no GPU: which chips have which
// counters, and in how many passes.

#include "counters/counter_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "counters/chip_counters.h"
#include "counters/metric_host.h"
#include "tests/helpers/fakes/fake_counters.h"

namespace mgtune {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CounterSets, NamesAreOneEachAndPlain) {
  std::set<std::string_view> names;
  for (const CounterSet& set : counter_sets()) {
    EXPECT_TRUE(set.tier >= 1 && set.tier <= kTiers) << set.name;
    for (const Counter& counter : set.counters) {
      EXPECT_TRUE(names.insert(counter.name).second) << counter.name;
      EXPECT_EQ(find_counter(counter.name), &counter);
      for (const char c : counter.name) {
        EXPECT_TRUE(std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_') << counter.name;
      }
      EXPECT_FALSE(counter.meaning.empty()) << counter.name;
      EXPECT_LE(counter.meaning.size(), 70U) << counter.name;
      EXPECT_FALSE(counter.metric.empty()) << counter.name;
      EXPECT_GT(counter.scale, 0) << counter.name;
      const bool is_sum = counter.metric.ends_with(".sum");
      EXPECT_EQ(counter.kind == CounterKind::per_launch, is_sum) << counter.name;
    }
  }
  EXPECT_EQ(counter_set("stalls").counters.size(), 19U);
  // The report begins with these shares for every finalist, so a sweep counts them.
  EXPECT_EQ(counter_set("throughput").tier, 1);
  EXPECT_EQ(find_counter("dram_red_bytes"), nullptr);
}

class RealMetrics : public testing::Test {
 protected:
  void SetUp() override {
    // libcupti opens a library with RTLD_DEEPBIND, at which a sanitizer ends the process.
    if (std::string(MGTUNE_SANITIZE) != "") GTEST_SKIP() << "not under a sanitizer";
    Result<CounterLibrary> library = open_counter_library();
    if (!library.ok()) {
      std::cout << "SKIPPED, NO METRIC WAS CHECKED: " << library.status().message() << std::endl;
      GTEST_SKIP() << library.status().message();
    }
    library_ = *std::move(library);
  }

  MetricHost host(const std::string& chip) {
    Result<MetricHost> host = MetricHost::open(library_, chip);
    EXPECT_TRUE(host.ok()) << host.status().message();
    return std::move(host).value();
  }

  std::int64_t passes(const CounterSet& set, const MetricHost& host) {
    const Result<MetricConfig> config = host.schedule(counters_of_chip(set, host).metrics);
    EXPECT_TRUE(config.ok()) << config.status().message();
    return config.ok() ? config->passes : -1;
  }

  CounterLibrary library_;
};

TEST_F(RealMetrics, TheEssentialsTakeTwoPassesOnEveryChip) {
  for (const char* chip : {"GH100", "AD102", "TU102", "GB202", "GA100", "GA102", "GB100"}) {
    EXPECT_LE(passes(counter_set("essentials"), host(chip)), 2) << chip;
  }
}

TEST_F(RealMetrics, PassesAreKnownBeforehand) {
  struct Row {
    const char* chip;
    std::int64_t essentials, throughput, stalls;
  };
  // Of CUPTI 13.0. Another release may schedule them otherwise, within these bounds or not: look.
  for (const Row& row :
       {Row{"GH100", 2, 9, 7}, {"AD102", 2, 7, 6}, {"TU102", 2, 7, 5}, {"GB202", 2, 8, 7}}) {
    const MetricHost of = host(row.chip);
    EXPECT_LE(passes(counter_set("essentials"), of), row.essentials) << row.chip;
    EXPECT_LE(passes(counter_set("throughput"), of), row.throughput) << row.chip;
    EXPECT_LE(passes(counter_set("stalls"), of), row.stalls) << row.chip;
  }
}

TEST_F(RealMetrics, WhatAChipLacksIsNamed) {
  const auto left_out = [this](const CounterSet& set, const char* chip) {
    return counters_of_chip(set, host(chip)).left_out;
  };
  EXPECT_THAT(left_out(counter_set("essentials"), "GH100"), IsEmpty());
  EXPECT_THAT(left_out(counter_set("stalls"), "GH100"), IsEmpty());
  for (const char* chip : {"AD102", "TU102", "GB202"}) {
    EXPECT_THAT(left_out(counter_set("essentials"), chip),
                ElementsAre("wgmma_instructions: " + std::string(chip) + " has no metric for it"));
    EXPECT_THAT(left_out(counter_set("throughput"), chip), IsEmpty());
    EXPECT_THAT(left_out(counter_set("stalls"), chip), Contains(HasSubstr("stall_gmma")));
  }
  EXPECT_THAT(left_out(counter_set("stalls"), "GB202"), Contains(HasSubstr("stall_imc_miss")));
}

TEST_F(RealMetrics, TheSecondNameIsTakenWhereTheFirstIsNot) {
  const auto metric_of = [this](const char* chip) -> std::string {
    const ChipCounters chosen = counters_of_chip(counter_set("essentials"), host(chip));
    for (std::size_t i = 0; i < chosen.counters.size(); ++i) {
      if (chosen.counters[i]->name == "dram_read_bytes") return chosen.metrics[i];
    }
    return "none";
  };
  EXPECT_EQ(metric_of("GH100"), "dram__bytes_read.sum");
  EXPECT_EQ(metric_of("GB202"), "fbpa__dram_read_bytes.sum");
}

TEST_F(RealMetrics, AChipHasThousandsOfMetricsWithTexts) {
  const MetricHost hopper = host("GH100");
  const auto metrics = hopper.base_metrics();
  ASSERT_TRUE(metrics.ok()) << metrics.status().message();
  EXPECT_GT(metrics->size(), 1000U);
  EXPECT_THAT(*metrics, Contains("dram__bytes_read"));
  const auto text = hopper.describe("dram__bytes_read");
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(text->description, HasSubstr("DRAM"));
  EXPECT_EQ(text->unit, "byte");
  EXPECT_EQ(hopper.describe("dram__bytes_red").status().code(), StatusCode::not_found);
  EXPECT_FALSE(hopper.can_count("dram__bytes_red.sum"));
  EXPECT_FALSE(hopper.can_count("dram__bytes_read"));  // without a rollup
  EXPECT_TRUE(hopper.can_count("dram__bytes_read.sum"));
}

TEST_F(RealMetrics, AnUnknownChipIsNamedWithThoseThereAre) {
  const Status status = MetricHost::open(library_, "GH10").status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("unknown chip 'GH10'; did you mean 'GH100'?"));
  EXPECT_THAT(status.message(), HasSubstr("AD102"));
}

}  // namespace
}  // namespace mgtune
