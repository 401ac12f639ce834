#include "tensors/tensor_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "family/operator.h"
#include "family/problem.h"

namespace mgtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kOperator[] = R"json({
  "format": 1,
  "dims": {"rows": "dynamic", "columns": "dynamic",
           "stride": {"kind": "dynamic", "default": "columns"}},
  "dtypes": {"T": ["f32", "bf16"]},
  "flags": {"paged": "bool"},
  "tensors": {
    "x": {"role": "in", "dtype": "T", "shape": ["rows", "columns"], "strides": ["stride", "1"],
          "align": 16, "fill": "normal"},
    "table": {"role": "in", "when": "paged", "dtype": "i32", "shape": ["rows - 2"],
              "fill": "uniform(0, 9)"},
    "y": {"role": "out", "dtype": "T", "shape": ["columns", "rows", "2"]},
    "norm": {"role": "out", "dtype": "f32", "shape": ["rows"], "optional": true}
  },
  "cost": {"bytes": "rows", "flops": "rows"},
  "check": {"reference": "layout_reference", "measure": "relative_l2",
            "tolerance": {"f32": 1e-6, "bf16": 1e-2}},
  "designs": {"only": {"source": "layout.cu", "params": {"N": [1]},
    "launches": [{"kernel": "layout<T, N>", "grid": ["rows"], "block": ["32"], "args": ["x", "y"]}],
    "defaults": [{"N": 1}]}}
})json";

class TensorLayoutTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto sources = std::make_shared<SourceTree>();
    sources->folder = "layout";
    sources->files = {{"layout.json", kOperator}, {"layout.cu", ""}, {"reference.cu", ""}};
    Result<Operator> decoded = decode_operator("layout", "layout", sources);
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    op_ = std::make_unique<Operator>(std::move(*decoded));
  }

  Result<std::vector<TensorLayout>> layouts(const std::map<std::string, std::string>& values) {
    const Result<Problem> problem = bind_problem(*op_, values);
    EXPECT_TRUE(problem.ok()) << problem.status().message();
    return tensor_layouts(*problem);
  }

  std::unique_ptr<Operator> op_;
};

TEST_F(TensorLayoutTest, ShapesStridesAndPresence) {
  const auto all = layouts({{"rows", "3"}, {"columns", "4"}, {"stride", "6"}, {"T", "bf16"}});
  ASSERT_TRUE(all.ok()) << all.status().message();
  const TensorLayout &x = (*all)[0], &table = (*all)[1], &y = (*all)[2], &norm = (*all)[3];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.dtype, DType::bf16);
  EXPECT_THAT(x.shape, ElementsAre(3, 4));
  EXPECT_THAT(x.strides, ElementsAre(6, 1));
  EXPECT_EQ(x.count, 12);
  EXPECT_EQ(x.span, 16);
  EXPECT_EQ(x.bytes(), 32U);
  EXPECT_EQ(x.align, 16);
  EXPECT_FALSE(x.is_output());

  EXPECT_FALSE(table.present);
  EXPECT_EQ(table.bytes(), 0U);
  EXPECT_FALSE(norm.present);

  EXPECT_TRUE(y.is_output());
  EXPECT_THAT(y.strides, ElementsAre(6, 2, 1));
  EXPECT_EQ(y.span, 24);
  EXPECT_EQ(y.align, 2);
}

TEST_F(TensorLayoutTest, OptionalAndConditionalTensorsAppear) {
  const auto all =
      layouts({{"rows", "3"}, {"columns", "4"}, {"T", "f32"}, {"norm", "true"}, {"paged", "true"}});
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE((*all)[1].present);
  EXPECT_THAT((*all)[1].shape, ElementsAre(1));
  EXPECT_TRUE((*all)[3].present);
  EXPECT_EQ((*all)[3].dtype, DType::f32);
}

TEST_F(TensorLayoutTest, AnEmptyTensorHasNoBytes) {
  const auto all = layouts({{"rows", "0"}, {"columns", "4"}, {"T", "f32"}});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ((*all)[0].count, 0);
  EXPECT_EQ((*all)[0].bytes(), 0U);
}

TEST_F(TensorLayoutTest, ANegativeExtentIsNamed) {
  const auto all = layouts({{"rows", "1"}, {"columns", "4"}, {"T", "f32"}, {"paged", "true"}});
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(all.status().message(), "tensor table: rows - 2 is -1");
}

TEST_F(TensorLayoutTest, WhatNoMemoryHoldsIsRefused) {
  const auto all = layouts({{"rows", "3000000000"}, {"columns", "3000000000"}, {"T", "f32"}});
  ASSERT_FALSE(all.ok());
  EXPECT_THAT(all.status().message(), HasSubstr("tensor x of shape [3000000000, 3000000000]"));
  EXPECT_THAT(all.status().message(), HasSubstr("too large"));
}

TEST(TensorLayout, ElementsHaveNamesAndPlaces) {
  TensorLayout layout;
  layout.name = "y";
  layout.shape = {2, 3, 2};
  layout.strides = {100, 10, 1};
  layout.count = 12;
  EXPECT_EQ(element_name(layout, 0), "y[0, 0, 0]");
  EXPECT_EQ(element_name(layout, 9), "y[1, 1, 1]");
  std::vector<std::int64_t> offsets;
  for_each_element(layout, [&](std::int64_t element, std::int64_t offset) {
    EXPECT_EQ(element, static_cast<std::int64_t>(offsets.size()));
    offsets.push_back(offset);
  });
  EXPECT_THAT(offsets, ElementsAre(0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121));
}

TEST(TensorLayout, ATensorWithoutDimsIsOneElement) {
  TensorLayout layout;
  layout.name = "loss";
  layout.count = layout.span = 1;
  EXPECT_EQ(element_name(layout, 0), "loss[]");
  int visits = 0;
  for_each_element(layout, [&](std::int64_t, std::int64_t offset) {
    EXPECT_EQ(offset, 0);
    ++visits;
  });
  EXPECT_EQ(visits, 1);
}

}  // namespace
}  // namespace mgtune
