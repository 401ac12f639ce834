#include "plan/problem_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/helpers/operators/golden_operators.h"
#include "tests/helpers/operators/toy_operators.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;

constexpr const char* kNorm = R"({
  "format": 1,
  "dims": {"rows": "dynamic", "hidden": "static", "stride": {"kind": "dynamic", "default": "hidden"}},
  "dtypes": {"T": ["f32"]},
  "tensors": {
    "x": {"role": "in", "dtype": "T", "shape": ["rows", "hidden"], "strides": ["stride", "1"],
          "fill": "normal"},
    "rstd": {"role": "out", "dtype": "T", "shape": ["rows - 1"], "optional": true},
    "y": {"role": "out", "dtype": "T", "shape": ["rows", "hidden"]}},
  "cost": {"bytes": "8 * rows", "flops": "rows"},
  "check": {"reference": "norm_reference", "measure": "relative_l2", "tolerance": {"f32": 1e-6}},
  "designs": {"row": {
    "source": "norm.cu",
    "params": {"THREADS": [32, 64], "SPLIT": [false, true]},
    "constraints": ["THREADS <= hidden"],
    "let": {"groups": "hidden / 16 - 4", "resident": "build.blocks_per_sm / 2"},
    "workspace": {"sums": {"when": "rows > 8", "dtype": "f32", "shape": ["hidden"]}},
    "launches": [{"kernel": "norm<T, THREADS>", "grid": ["rows"], "block": ["THREADS"],
                  "args": ["x", "rstd", "y", "rows:i64"]}],
    "defaults": [{"THREADS": 64, "SPLIT": false}, {"THREADS": 32, "SPLIT": false}]}}
})";

// What checking kNorm with `from` replaced by `to` says of a problem; "" when all is well.
std::string said(const std::string& from, const std::string& to,
                 const std::map<std::string, std::string>& words = {{"rows", "4"},
                                                                    {"hidden", "64"}}) {
  const Result<Operator> op = decode_text("norm.forward", replaced(kNorm, from, to));
  EXPECT_TRUE(op.ok()) << op.status().message();
  const Result<Problem> problem = bind_problem(*op, words);
  EXPECT_TRUE(problem.ok()) << problem.status().message();
  Status status = check_tensors(*problem);
  if (status.ok()) status = check_launches(*problem, kL4);
  EXPECT_TRUE(status.ok() || status.code() == StatusCode::invalid_argument);
  return status.message();
}

constexpr const char* kShapeOfY = R"("y": {"role": "out", "dtype": "T", "shape": ["rows")";
const std::string kOfY = R"("y": {"role": "out", "dtype": "T", "shape": ["rows )";

TEST(ProblemCheck, GoldenOperatorsAreWell) {
  const Operator op = golden_operator("rmsnorm.forward");
  const Problem problem = *bind_problem(op, {{"rows", "7"}, {"hidden", "4096"}, {"T", "bf16"}});
  EXPECT_TRUE(check_tensors(problem).ok());
  for (const DeviceLimits& device : {kT4, kL4, kH200}) {
    const Status status = check_launches(problem, device);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  EXPECT_EQ(said("8 * rows", "8 * rows"), "");
}

TEST(ProblemCheck, ShapesAndStridesNameFilePathProblemAndPlace) {
  EXPECT_EQ(said(kShapeOfY, kOfY + "/ 0\""),
            "kernels/norm/forward.json: /tensors/y/shape/0: norm.forward rows=4 hidden=64 T=f32: "
            "division by zero\n"
            "  rows / 0\n"
            "       ^");
  EXPECT_EQ(said(kShapeOfY, kOfY + "- 5\""),
            "kernels/norm/forward.json: /tensors/y/shape/0: norm.forward rows=4 hidden=64 T=f32: "
            "-1 is below 0\n"
            "  rows - 5\n"
            "  ^~~~~~~~");
  EXPECT_THAT(said(kShapeOfY, kOfY + "* 9223372036854775807\""), HasSubstr("integer overflow"));
  EXPECT_THAT(said(R"(["stride", "1"])", R"(["stride", "-1"])"),
              HasSubstr("/tensors/x/strides/1: norm.forward rows=4 hidden=64 T=f32: -1 is below"));
}

TEST(ProblemCheck, TensorsFitIntoMemory) {
  EXPECT_THAT(said(kShapeOfY, kOfY + "* 1000000000000000000\""),
              HasSubstr("/tensors/y/shape: norm.forward rows=4 hidden=64 T=f32: a tensor of f32 "
                        "with shape [4000000000000000000, 64] is larger than memory can be"));
  EXPECT_THAT(said("8 * rows", "8 * rows",
                   {{"rows", "4"}, {"hidden", "64"}, {"stride", "4611686018427387904"}}),
              HasSubstr("with shape [4, 64] and strides [4611686018427387904, 1]"));
  EXPECT_EQ(said("8 * rows", "8 * rows",
                 {{"rows", "0"}, {"hidden", "64"}, {"stride", "4611686018427387904"}}),
            "");
}

TEST(ProblemCheck, AbsentTensorsHaveNoShape) {
  EXPECT_EQ(said("8 * rows", "8 * rows", {{"rows", "0"}, {"hidden", "64"}}), "");
  EXPECT_THAT(said("8 * rows", "8 * rows", {{"rows", "0"}, {"hidden", "64"}, {"rstd", "true"}}),
              HasSubstr("/tensors/rstd/shape/0"));
}

TEST(ProblemCheck, CostIsANumberOfBytes) {
  EXPECT_THAT(said("8 * rows", "rows - 8"), HasSubstr("/cost/bytes: norm.forward rows=4"));
  EXPECT_THAT(said(R"("flops": "rows")", R"("flops": "rows % 0")"), HasSubstr("/cost/flops"));
}

TEST(ProblemCheck, LaunchesThatFailInEveryVariant) {
  const std::string grid = R"("grid": ["rows"])";
  EXPECT_EQ(said(grid, R"("grid": ["rows - 5"])"),
            "kernels/norm/forward.json: /designs/row/launches/0/grid/0: norm.forward rows=4 "
            "hidden=64 T=f32: -1 is below 0\n"
            "  rows - 5\n"
            "  ^~~~~~~~");
  EXPECT_THAT(said(grid, R"("grid": ["rows / groups"])"),
              HasSubstr("/designs/row/launches/0/grid/0: norm.forward rows=4 hidden=64 T=f32: "
                        "division by zero"));
  EXPECT_THAT(said(R"(["THREADS"])", R"(["hidden - 64"])"), HasSubstr("/launches/0/block/0"));
  EXPECT_THAT(said(R"("rows:i64")", R"("rows / 0:i64")"), HasSubstr("/launches/0/args/3"));
  EXPECT_THAT(said(R"("rows > 8", "dtype": "f32", "shape": ["hidden"])",
                   R"("rows < 8", "dtype": "f32", "shape": ["-hidden"])"),
              HasSubstr("/designs/row/workspace/sums/shape/0"));
}

TEST(ProblemCheck, WhatHangsOnAParamOrABuildBelongsToTheVariant) {
  const std::string grid = R"("grid": ["rows"])";
  EXPECT_EQ(said(grid, R"("grid": ["rows - THREADS"])"), "");
  EXPECT_EQ(said(grid, R"("grid": ["rows / resident"])"), "");
  EXPECT_EQ(said(grid, R"("when": "SPLIT", "grid": ["rows / 0"])"), "");
  EXPECT_EQ(said(grid, R"("when": "rows > 4", "grid": ["rows / 0"])"), "");
  // The first default that the problem admits decides; without one, nothing does.
  EXPECT_THAT(said(grid, R"("grid": ["rows - 5"])", {{"rows", "4"}, {"hidden", "32"}}),
              HasSubstr("/grid/0"));
  EXPECT_EQ(said(grid, R"("grid": ["rows - 5"])", {{"rows", "4"}, {"hidden", "16"}}), "");
}

TEST(ProblemCheck, EveryStageOfLetsIsThere) {
  const Operator op = *decode_text("toy.split", kToySplit);
  const Problem problem = *bind_problem(op, {{"batch", "8"}, {"length", "1024"}, {"width", "64"}});
  EXPECT_TRUE(check_tensors(problem).ok());
  EXPECT_TRUE(check_launches(problem, kL4).ok());
}

}  // namespace
}  // namespace mgtune
