#include "plan/problem_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/helpers/operators/golden_operators.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// T and W combine freely but for the constraint.
constexpr const char* kToyForward = R"({
  "format": 1,
  "dims": {"rows": "dynamic", "hidden": "static"},
  "dtypes": {"T": ["f32", "f16", "bf16"], "W": ["f32", "f16", "bf16"]},
  "constraints": ["W == T || W == f32", "hidden <= 65536"],
  "tensors": {"x": {"role": "in", "dtype": "T", "shape": ["rows", "hidden"], "fill": "normal"},
              "w": {"role": "in", "dtype": "W", "shape": ["hidden"], "fill": "normal"},
              "y": {"role": "out", "dtype": "T", "shape": ["rows", "hidden"]}},
  "cost": {"bytes": "8 * rows * hidden", "flops": "rows * hidden"},
  "check": {"reference": "toy_reference", "measure": "relative_l2",
            "tolerance": {"f32": 1e-6, "f16": 1e-3, "bf16": 1e-2}},
  "problems": {
    "default": [{"rows": 4096, "hidden": 4096, "T": "bf16", "W": "bf16"}],
    "emulation": [{"rows": 2, "hidden": 8}],
    "model": [{"rows": "tokens", "hidden": "heads * head_dim", "W": "f32"}]
  },
  "designs": {
    "flat": {"source": "toy.cu", "params": {"A": [1, 2]},
             "launches": [{"kernel": "flat<A>", "grid": ["rows"], "block": ["32"],
                           "args": ["x", "w", "y"]}],
             "defaults": [{"A": 1}]}
  }
})";

class ProblemSetTest : public ::testing::Test {
 protected:
  std::vector<std::string> texts(const ProblemRequest& request,
                                 DeviceKind device = DeviceKind::cpu) const {
    const Result<std::vector<Problem>> problems = make_problems({&op_}, request, device);
    EXPECT_TRUE(problems.ok()) << problems.status().message();
    std::vector<std::string> texts;
    if (problems.ok()) {
      for (const Problem& problem : *problems) texts.push_back(problem.text());
    }
    return texts;
  }

  std::string refusal(const ProblemRequest& request) const {
    const Result<std::vector<Problem>> problems = make_problems({&op_}, request, DeviceKind::cpu);
    EXPECT_EQ(problems.status().code(), StatusCode::invalid_argument);
    return problems.status().message();
  }

  const Operator op_ = *decode_text("toy.forward", kToyForward);
};

TEST_F(ProblemSetTest, DefaultsAreTheDevicesInEveryAllowedDType) {
  EXPECT_THAT(texts({}), ElementsAre("rows=2 hidden=8 T=f32 W=f32", "rows=2 hidden=8 T=f16 W=f32",
                                     "rows=2 hidden=8 T=f16 W=f16", "rows=2 hidden=8 T=bf16 W=f32",
                                     "rows=2 hidden=8 T=bf16 W=bf16"));
  EXPECT_THAT(texts({}, DeviceKind::cuda), ElementsAre("rows=4096 hidden=4096 T=bf16 W=bf16"));
}

TEST_F(ProblemSetTest, DTypesNarrowWhatIsLeftOpen) {
  EXPECT_THAT(texts({.problems = {}, .model = {}, .dtypes = {DType::bf16}}),
              ElementsAre("rows=2 hidden=8 T=bf16 W=bf16"));
  EXPECT_THAT(texts({.problems = {"rows=1,hidden=4,W=f32"}, .model = {}, .dtypes = {DType::bf16}}),
              ElementsAre("rows=1 hidden=4 T=bf16 W=f32"));
}

TEST_F(ProblemSetTest, DTypesNeverWidenWhatIsFixed) {
  const auto asked = [](const std::vector<std::string>& problems, DType dtype) {
    return ProblemRequest{.problems = problems, .model = {}, .dtypes = {dtype}};
  };
  EXPECT_EQ(refusal(asked({"rows=1,hidden=4,T=bf16,W=bf16"}, DType::f16)),
            "--dtype f16 contradicts --problem rows=1,hidden=4,T=bf16,W=bf16, which names its "
            "dtypes itself");
  EXPECT_THAT(texts(asked({"rows=1,hidden=4,T=bf16,W=f32"}, DType::f32)),
              ElementsAre("rows=1 hidden=4 T=bf16 W=f32"));
  const Result<std::vector<Problem>> problems =
      make_problems({&op_}, asked({}, DType::f16), DeviceKind::cuda);  // its own is bf16
  EXPECT_EQ(problems.status().message(),
            "--dtype f16: no problem of toy.forward has it; name one with --problem");
}

// W follows T where nothing is said of it, and no problem then says so.
TEST_F(ProblemSetTest, ADTypeWithADefaultIsNotTakenInTurn) {
  std::string text = kToyForward;
  const std::string open = R"("W": ["f32", "f16", "bf16"])";
  text.replace(text.find(open), open.size(),
               R"("W": {"values": ["f32", "f16", "bf16"], "default": "T"})");
  const Operator op = *decode_text("toy.forward", text);
  const auto texts = [&](const ProblemRequest& request) {
    std::vector<std::string> result;
    for (const Problem& problem : make_problems({&op}, request, DeviceKind::cpu).value()) {
      result.push_back(problem.text());
    }
    return result;
  };
  EXPECT_THAT(texts({}), ElementsAre("rows=2 hidden=8 T=f32", "rows=2 hidden=8 T=f16",
                                     "rows=2 hidden=8 T=bf16"));
  EXPECT_THAT(texts({.problems = {}, .model = {}, .dtypes = {DType::bf16}}),
              ElementsAre("rows=2 hidden=8 T=bf16"));
  EXPECT_THAT(texts({.problems = {"rows=1,hidden=4,T=bf16,W=f32", "rows=1,hidden=4,T=f16,W=f16"},
                     .model = {},
                     .dtypes = {}}),
              ElementsAre("rows=1 hidden=4 T=bf16 W=f32", "rows=1 hidden=4 T=f16"));
  const Status refused =
      make_problems({&op},
                    {.problems = {"rows=1,hidden=4,T=f32"}, .model = {}, .dtypes = {DType::f16}},
                    DeviceKind::cpu)
          .status();
  EXPECT_THAT(refused.message(), HasSubstr("--dtype f16 contradicts"));
}

// Twelve variables of ten dtypes: 10^12 problems.
TEST_F(ProblemSetTest, CombinationsBeyondTheLimitAreRefusedAndNotListed) {
  std::string more;
  for (int i = 0; i < 12; ++i) {
    more += ", \"U" + std::to_string(i) +
            R"(": ["f64", "f32", "f16", "bf16", "i64", "u64", "i32", "u32", "i8", "u8"])";
  }
  std::string text = kToyForward;
  const std::string last = R"("W": ["f32", "f16", "bf16"])";
  text.insert(text.find(last) + last.size(), more);
  const Operator op = *decode_text("toy.forward", text);
  const Result<std::vector<Problem>> all = make_problems({&op}, {}, DeviceKind::cpu);
  EXPECT_EQ(all.status().code(), StatusCode::invalid_argument);
  EXPECT_THAT(all.status().message(),
              AllOf(HasSubstr("toy.forward have more than 100000 combinations of dtypes"),
                    HasSubstr("--dtype"), HasSubstr("for example T=f32")));
  const Result<Problem> first = first_problem(op, DeviceKind::cpu);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_THAT(first->text(), ::testing::StartsWith("rows=2 hidden=8 T=f32 W=f32 U0=f64 U1=f64"));
  const Result<std::vector<Problem>> one =
      make_problems({&op}, {.problems = {}, .model = {}, .dtypes = {DType::f32}}, DeviceKind::cpu);
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_EQ(one->size(), 1U);
}

TEST_F(ProblemSetTest, TheFirstProblemIsTheFirstOfAll) {
  EXPECT_EQ(first_problem(op_, DeviceKind::cpu)->text(), "rows=2 hidden=8 T=f32 W=f32");
  EXPECT_EQ(first_problem(op_, DeviceKind::cuda)->text(), "rows=4096 hidden=4096 T=bf16 W=bf16");
}

TEST_F(ProblemSetTest, ShapesAreEvaluated) {
  ProblemRequest request;
  request.problems = {"rows=9223372036854775807,hidden=4,T=f32,W=f32"};
  EXPECT_THAT(refusal(request),
              ::testing::StartsWith("kernels/toy/forward.json: /tensors/x/shape: toy.forward "
                                    "rows=9223372036854775807 hidden=4 T=f32 W=f32: "));
}

TEST_F(ProblemSetTest, EachProblemOnce) {
  EXPECT_THAT(texts({.problems = {"rows=1 hidden=4 T=f32 W=f32", "hidden=4,rows=1,T=f32,W=f32"},
                     .model = {},
                     .dtypes = {}}),
              ElementsAre("rows=1 hidden=4 T=f32 W=f32"));
}

TEST_F(ProblemSetTest, AModelsFieldsBecomeDims) {
  ProblemRequest request;
  request.model = ModelShapes{"toy model", {{"heads", 4}, {"head_dim", 16}}, {1, 32}};
  request.dtypes = {DType::f16};
  EXPECT_THAT(texts(request),
              ElementsAre("rows=1 hidden=64 T=f16 W=f32", "rows=32 hidden=64 T=f16 W=f32"));
}

// Of the operators of a family, one may serve fewer models than the others.
TEST_F(ProblemSetTest, OneOfSeveralOperatorsMayRefuseAModel) {
  std::string text = kToyForward;
  text.replace(text.find("hidden <= 65536"), 15, "hidden != 64");
  const Operator narrow = *decode_text("toy.narrow", text);
  ProblemRequest request{.problems = {}, .model = {}, .dtypes = {DType::f32}};
  request.model = ModelShapes{"toy model", {{"heads", 4}, {"head_dim", 16}}, {1}};
  const auto problems = make_problems({&narrow, &op_}, request, DeviceKind::cpu);
  ASSERT_TRUE(problems.ok()) << problems.status().message();
  ASSERT_EQ(problems->size(), 1U);
  EXPECT_EQ(problems->front().op, &op_);

  const auto refusal_of = [&](const std::vector<const Operator*>& operators) {
    return make_problems(operators, request, DeviceKind::cpu).status().message();
  };
  EXPECT_THAT(refusal_of({&narrow}), HasSubstr("hidden != 64"));
  EXPECT_THAT(refusal_of({&narrow, &narrow}), HasSubstr("hidden != 64"));
  request.problems = {"rows=1,hidden=64"};
  EXPECT_THAT(refusal_of({&op_, &narrow}), HasSubstr("hidden != 64"));
}

TEST_F(ProblemSetTest, AModelWithoutTheFieldIsNamed) {
  ProblemRequest request;
  request.model = ModelShapes{"toy model", {{"heads", 4}}, {1}};
  EXPECT_THAT(refusal(request),
              HasSubstr("/problems/model, for toy model: unknown name 'head_dim'"));
}

TEST_F(ProblemSetTest, WrongWordsAreNamed) {
  const auto problem = [](const char* text) {
    ProblemRequest request;
    request.problems = {text};
    return request;
  };
  EXPECT_THAT(refusal(problem("rows=-1,hidden=4")), HasSubstr("rows"));
  EXPECT_THAT(refusal(problem("rows=many,hidden=4")), HasSubstr("many"));
  EXPECT_THAT(refusal(problem("row=1,hidden=4")), HasSubstr("did you mean 'rows'?"));
  EXPECT_THAT(refusal(problem("rows,hidden=4")), HasSubstr("rows"));
  EXPECT_THAT(refusal(problem("rows=4")),
              HasSubstr("needs `hidden`: add it to --problem, for example --problem "
                        "rows=4,hidden=4096"));
  EXPECT_THAT(refusal(problem("rows=1,hidden=70000")), HasSubstr("hidden <= 65536"));
  EXPECT_THAT(refusal({.problems = {}, .model = {}, .dtypes = {DType::f64}}),
              AllOf(HasSubstr("--dtype f64 leaves nothing to sweep: "),
                    HasSubstr(" has T in f32, f16, bf16")));
}

}  // namespace
}  // namespace mgtune
