// What a check says of its own reference and fill kernels: no variant is charged with them.

#include "tests/helpers/kernels/checker_fixture.h"
#include "tests/helpers/in_place_family.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(CheckerTest, AnUnservedFillIsUnsupported) {
  std::string json = kAddJson;
  const std::string fill = R"({"kernel": "fill_index"})";
  json.replace(json.find(fill), fill.size(), R"({"op": "other.forward", "output": "o"})");
  use("add", {{"add.json", json}, {"add.cu", kAddSource}, {"reference.cu", kAddReference}});
  const Result<Problem> problem = bind_problem(*op_, {{"count", "5"}});
  ASSERT_TRUE(problem.ok());
  const Status status = Checker::make(*device_, builder_, *problem).status();
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_THAT(status.message(), HasSubstr("tensor index"));
  EXPECT_THAT(status.message(), HasSubstr("other.forward"));
}

TEST_F(CheckerTest, AReferenceThatDoesNotCompileIsNamed) {
  use("scale",
      {{"scale.json", kScaleJson},
       {"scale.cu", kScaleSource},
       {"reference.cu", "template <typename T> __global__ void scale_reference(T* x) { x }"}});
  const Result<Problem> problem = bind_problem(*op_, kSmall);
  ASSERT_TRUE(problem.ok());
  const Status status = Checker::make(*device_, builder_, *problem).status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), StartsWith("planted/reference.cu: scale_reference: "));
  EXPECT_THAT(status.message(), HasSubstr("planted/reference.cu:1"));
}

TEST_F(CheckerTest, AReferenceThatDoesNotRunIsNamed) {
  std::string reference = kScaleReference;
  const std::string start = "  for (long long row";
  reference.insert(reference.find(start),
                   "  if (threadIdx.x % 2 == 0) __shfl_xor_sync(0xffffffffu, 1.0f, 1);\n");
  use("scale",
      {{"scale.json", kScaleJson}, {"scale.cu", kScaleSource}, {"reference.cu", reference}});
  const Result<Problem> problem = bind_problem(*op_, kSmall);
  ASSERT_TRUE(problem.ok());
  const Status status = Checker::make(*device_, builder_, *problem).status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(),
              StartsWith("planted/reference.cu: scale_reference: scale_reference<float>: "));
  EXPECT_THAT(status.message(), HasSubstr("__shfl_xor_sync"));
}

TEST_F(CheckerTest, AReferenceWithOtherParametersIsNamed) {
  use("scale",
      {{"scale.json", kScaleJson},
       {"scale.cu", kScaleSource},
       {"reference.cu", "template <typename T> __global__ void scale_reference(T* x) {}"}});
  const Result<Problem> problem = bind_problem(*op_, kSmall);
  ASSERT_TRUE(problem.ok());
  EXPECT_THAT(Checker::make(*device_, builder_, *problem).status().message(),
              HasSubstr("scale_reference<float> takes 1 parameters, the operator gives it 8"));
}

}  // namespace
}  // namespace mgtune
