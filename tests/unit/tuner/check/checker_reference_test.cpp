// What a check says of its own reference and fill kernels: no variant is charged with them.

#include "tests/helpers/kernels/checker_fixture.h"
#include "tests/helpers/operators/in_place_family.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(CheckerTest, AnUnservedFillIsUnsupported) {
  std::string json = kAddJson;
  const std::string fill = R"({"kernel": "fill_index"})";
  json.replace(json.find(fill), fill.size(), R"({"op": "other.forward", "output": "o"})");
  use("add", {{"add.json", json}, {"add.cu", kAddSource}, {"reference.cu", kAddReference}});
  const Status status = making_status({{"count", "5"}});
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_THAT(status.message(), HasSubstr("tensor index"));
  EXPECT_THAT(status.message(), HasSubstr("other.forward"));
}

TEST_F(CheckerTest, AReferenceThatDoesNotCompileIsNamed) {
  use("scale",
      {{"scale.json", kScaleJson},
       {"scale.cu", kScaleSource},
       {"reference.cu",
        "template <typename T, class Problem> __global__ void scale_reference(T* x) { x }"}});
  const Status status = making_status(kSmall);
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
  const Status status = making_status(kSmall);
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(
      status.message(),
      StartsWith("planted/reference.cu: scale_reference: scale_reference<float, Problem>: "));
  EXPECT_THAT(status.message(), HasSubstr("__shfl_xor_sync"));
}

TEST_F(CheckerTest, AReferenceWithOtherParametersIsNamed) {
  use("scale", {{"scale.json", kScaleJson},
                {"scale.cu", kScaleSource},
                {"reference.cu",
                 "template <typename T, class Problem> __global__ void scale_reference(T* x) {}"}});
  EXPECT_THAT(making_status(kSmall).message(),
              HasSubstr("scale_reference<float, Problem> takes 1 parameters, the operator gives it "
                        "4"));
}

// Dims, scalars and flags have names in the struct, so none can be taken for another one.
TEST_F(CheckerTest, AReferenceThatNamesAMissingMemberDoesNotCompile) {
  std::string reference = kScaleReference;
  reference.replace(reference.find("problem.columns"), 15, "problem.colums");
  use("scale",
      {{"scale.json", kScaleJson}, {"scale.cu", kScaleSource}, {"reference.cu", reference}});
  const Status status = making_status(kSmall);
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), StartsWith("planted/reference.cu: scale_reference: "));
  EXPECT_THAT(status.message(), HasSubstr("colums"));
  const auto before = reference.begin() + static_cast<std::ptrdiff_t>(reference.find("colums"));
  const auto line = 1 + std::count(reference.begin(), before, '\n');
  EXPECT_THAT(status.message(), HasSubstr("planted/reference.cu:" + std::to_string(line)));
}

TEST_F(CheckerTest, AReferenceWhoseLastParameterIsNoStructIsNamed) {
  use("scale", {{"scale.json", kScaleJson},
                {"scale.cu", kScaleSource},
                {"reference.cu",
                 "template <typename T, class Problem>\n"
                 "__global__ void scale_reference(const T*, double*, double*, long long) {}"}});
  EXPECT_THAT(making_status(kSmall).message(),
              HasSubstr("the last parameter of scale_reference<float, Problem> has 8 bytes; it has "
                        "to be the struct Problem, which has 40"));
}

}  // namespace
}  // namespace mgtune
