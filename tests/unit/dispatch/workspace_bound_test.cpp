// workspace_bound(): no launch in the ranges needs more, by trying them all; and the bound is
// close.

#include "launch/workspace_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/helpers/operators/toy_operators.h"
#include "tests/helpers/replaced.h"

namespace mgtune {
namespace {

using Size = LoadedVariant::WorkspaceSize;

class WorkspaceBound : public testing::Test {
 protected:
  WorkspaceBound() { declare_toy_kernels(device_); }

  // The variant of toy.split, whose lets, constraints and buffers may be others.
  void load(const std::vector<std::pair<std::string, std::string>>& changes = {}) {
    std::string text = kToySplit;
    for (const auto& [from, to] : changes) text = replaced(text, from, to);
    loaded_.reset();
    op_ = std::make_unique<Operator>(decode_toy("toy.split", text));
    const Binding binding = bound(*op_, {{"width", "64"}, {"T", "f32"}});
    const Variant variant = must(parse_variant(*op_, "split THREADS=64 WAVES=1"));
    const Slots slots = must(compile_slots(binding, variant, device_.info().limits));
    Builder builder = fake_builder();
    const Build build =
        must(builder.build(must(variant_build_request(*op_, variant, slots, "sm_90"))));
    loaded_ = must(LoadedVariant::load(device_, binding, variant, build));
  }

  // What the launches in the ranges need at most.
  Size tried(const std::vector<DimRange>& ranges) const {
    Size most;
    std::int64_t rest = 0;
    for (std::int64_t batch = ranges[0].low; batch <= ranges[0].high; ++batch) {
      for (std::int64_t length = ranges[1].low; length <= ranges[1].high; ++length) {
        const std::array<std::int64_t, 2> dims = {batch, length};
        const Result<Size> size = loaded_->workspace_size(dims);
        if (!size.ok()) continue;
        most.zeroed_bytes = std::max(most.zeroed_bytes, size->zeroed_bytes);
        rest = std::max(rest, size->bytes - size->zeroed_bytes);
      }
    }
    most.bytes = most.zeroed_bytes + rest;
    return most;
  }

  void expect_close(const std::vector<DimRange>& ranges, const std::string& what) const {
    const Size bound = workspace_bound(*loaded_, ranges), most = tried(ranges);
    const std::int64_t rest = bound.bytes - bound.zeroed_bytes;
    const std::int64_t most_rest = most.bytes - most.zeroed_bytes;
    EXPECT_GE(bound.zeroed_bytes, most.zeroed_bytes) << what;
    EXPECT_GE(rest, most_rest) << what;
    EXPECT_LE(bound.zeroed_bytes, most.zeroed_bytes + most.zeroed_bytes / 16) << what;
    EXPECT_LE(rest, most_rest + most_rest / 16) << what;
  }

  FakeDevice device_;
  std::unique_ptr<Operator> op_;
  std::unique_ptr<LoadedVariant> loaded_;
};

TEST_F(WorkspaceBound, IsThatOfTheLargestLaunch) {
  load();
  const std::vector<std::vector<DimRange>> all = {
      {{1, 64}, {1, 200}},  {{1, 300}, {4000, 4100}}, {{5, 5}, {1, 3000}},
      {{13, 13}, {1, 100}}, {{0, 20}, {0, 40}},       {{700, 1100}, {65530, 65536}}};
  for (const std::vector<DimRange>& ranges : all) {
    expect_close(ranges, std::to_string(ranges[0].low) + " " + std::to_string(ranges[1].low));
  }
}

// A peak at one value of 2^20, between all values that a search would try.
TEST_F(WorkspaceBound, HasPeaksThatNoSearchFinds) {
  load({{R"("shape": ["splits", "batch", "width"])",
         R"("shape": ["batch == 700001 ? 1048576 : 1", "width"])"},
        {R"("when": "splits > 1", "dtype": "f32")", R"("dtype": "f32")"}});
  const std::array<std::int64_t, 2> peak = {700001, 7};
  const Size needed = must(loaded_->workspace_size(peak));
  const Size bound = workspace_bound(*loaded_, {{1, 1 << 20}, {1, 100}});
  EXPECT_GE(bound.bytes - bound.zeroed_bytes, needed.bytes - needed.zeroed_bytes);
}

TEST_F(WorkspaceBound, IsProvenForWideRangesToo) {
  load();
  const std::vector<DimRange> ranges = {{1, 1 << 20}, {1, std::int64_t{1} << 40}};
  const Size bound = workspace_bound(*loaded_, ranges);
  std::mt19937_64 random(1);
  std::int64_t most = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto bits = static_cast<int>(random() % 21);
    const std::int64_t batch = 1 + static_cast<std::int64_t>(random() % (1ULL << bits));
    const std::array<std::int64_t, 2> dims = {batch, std::int64_t{1} << (random() % 41)};
    const Result<Size> size = loaded_->workspace_size(dims);
    if (!size.ok()) continue;
    EXPECT_LE(size->zeroed_bytes, bound.zeroed_bytes);
    const std::int64_t rest = size->bytes - size->zeroed_bytes;
    EXPECT_LE(rest, bound.bytes - bound.zeroed_bytes);
    most = std::max(most, rest);
  }
  EXPECT_LE(bound.bytes - bound.zeroed_bytes, 2 * most);
}

TEST_F(WorkspaceBound, IsNothingIfNoLaunchIsServed) {
  load();
  EXPECT_EQ(workspace_bound(*loaded_, {{13, 13}, {1, 1 << 20}}).bytes, 0);
}

// Shapes and conditions of two levels over batch and length.
TEST_F(WorkspaceBound, HoldsForRandomExpressions) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto number = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    const auto leaf = [&]() -> std::string {
      switch (number(0, 3)) {
        case 0:
          return "batch";
        case 1:
          return "length";
        default:
          return std::to_string(number(1, 40));
      }
    };
    const auto term = [&]() -> std::string {
      const std::string a = leaf(), b = leaf(), c = leaf();
      switch (number(0, 6)) {
        case 0:
          return "min(" + a + ", " + b + ")";
        case 1:
          return "max(" + a + ", " + b + " - " + c + ")";
        case 2:
          return "ceil_div(" + a + " * " + b + ", max(1, " + c + "))";
        case 3:
          return "round_up(" + a + ", max(" + b + ", 1))";
        case 4:
          return "(" + a + " % 7 > 3 ? " + b + " : " + c + ")";
        case 5:
          return "(" + a + " / (" + b + " - 50) + 9)";
        default:
          return "(" + a + " * " + b + ")";
      }
    };
    const std::string rows = term(), splits = term(), when = term() + " > " + term();
    load({{R"("shape": ["splits", "batch", "width"])",
           R"("shape": [")" + splits + R"(", ")" + rows + R"("])"},
          {R"("when": "splits > 1", "dtype")", R"("when": ")" + when + R"(", "dtype")"},
          {R"({"dtype": "u32", "shape": ["batch"])",
           R"({"dtype": "u32", "shape": [")" + term() + R"("])"}});
    const std::int64_t batch = number(0, 40), length = number(0, 60);
    expect_close({{batch, batch + number(0, 15)}, {length, length + number(0, 30)}},
                 "seed " + std::to_string(seed) + ": " + splits + " x " + rows + " if " + when);
  }
}

}  // namespace
}  // namespace mgtune
