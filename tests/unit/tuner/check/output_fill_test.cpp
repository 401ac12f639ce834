// Inputs that are outputs of another operator of the family.

#include "tensors/output_fill.h"

#include "tests/helpers/kernels/checker_fixture.h"

namespace mgtune {
namespace {

using ::testing::HasSubstr;

// y[r] = factor * sum of x[r, :], which planted.scale gave as its output `sum`: a variant that
// copies the input `total` is right where both come from the same x.
constexpr char kTotalJson[] = R"json({
  "format": 1,
  "dims": {"rows": "dynamic", "columns": "dynamic"},
  "dtypes": {"T": ["f32", "f16"]},
  "scalars": {"factor": {"dtype": "f32", "check": 5.0}},
  "tensors": {
    "x": {"role": "in", "dtype": "T", "shape": ["rows", "columns"], "fill": "uniform(1, 2)"},
    "total": {"role": "in", "dtype": "f32", "shape": ["rows"],
              "fill": {"op": "planted.scale", "output": "sum"}},
    "y": {"role": "out", "dtype": "f32", "shape": ["rows"]}
  },
  "cost": {"bytes": "rows", "flops": "rows"},
  "check": {"reference": "total_reference", "measure": "relative_l2", "tolerance": {"f32": 1e-6}},
  "designs": {"copy": {
    "source": "total.cu", "params": {"FLAG": [0]},
    "launches": [{"kernel": "total_copy", "grid": ["rows"], "block": ["1"],
                  "args": ["total", "y"]}],
    "defaults": [{"FLAG": 0}]}}
})json";

constexpr char kTotalSource[] =
    "__global__ void total_copy(const float* total, float* y) { y[blockIdx.x] = total[blockIdx.x]; "
    "}\n";

constexpr char kTotalReference[] = R"cuda(
template <typename T, class Problem>
__global__ void total_reference(const T* x, const float* total, double* y, Problem problem) {
  for (long long row = blockIdx.x * blockDim.x + threadIdx.x; row < problem.rows;
       row += gridDim.x * blockDim.x) {
    double sum = 0;
    for (long long column = 0; column < problem.columns; ++column) {
      sum += static_cast<double>(problem.factor) *
             mg::to_float(x[row * problem.columns + column]);
    }
    y[row] = sum;
  }
}
)cuda";

class OutputFillTest : public CheckerTest {
 protected:
  void use_total(std::string json = kTotalJson, const std::string& reference = kTotalReference) {
    use("total", {{"total.json", std::move(json)},
                  {"total.cu", kTotalSource},
                  {"scale.json", kScaleJson},
                  {"scale.cu", kScaleSource},
                  {"reference.cu", kScaleReference + reference}});
  }

  Status status_of(const std::string& json) {
    use_total(json);
    const Result<Problem> problem =
        bind_problem(*op_, {{"rows", "4"}, {"columns", "100"}, {"T", "f16"}});
    if (!problem.ok()) return problem.status();
    return Checker::make(*device_, builder_, *problem).status();
  }

  static std::string with(const std::string& from, const std::string& to) {
    std::string json = kTotalJson;
    json.replace(json.find(from), from.size(), to);
    return json;
  }
};

TEST_F(OutputFillTest, ComesFromTheSameInputsAndScalars) {
  use_total();
  for (const char* dtype : {"f32", "f16"}) {
    bind({{"rows", "4"}, {"columns", "100"}, {"T", dtype}});
    const CheckRecord record = check("copy FLAG=0");
    EXPECT_EQ(record.outcome, Outcome::ok) << record.message;
  }
}

TEST_F(OutputFillTest, AnotherShapeIsRefused) {
  const Status status = status_of(with(R"("shape": ["rows"],
              "fill")",
                                       R"("shape": ["columns"],
              "fill")"));
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("tensor total is not like the output sum"));
}

TEST_F(OutputFillTest, AnOperatorThatCannotBeBoundIsNamed) {
  std::string json = kTotalJson, reference = kTotalReference;
  for (std::string* text : {&json, &reference}) {
    for (std::size_t at = 0; (at = text->find("columns", at)) != std::string::npos;) {
      text->replace(at, 7, "width");
    }
  }
  use_total(json, reference);
  const Result<Problem> problem =
      bind_problem(*op_, {{"rows", "4"}, {"width", "100"}, {"T", "f16"}});
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  const Status status = Checker::make(*device_, builder_, *problem).status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("planted.scale"));
  EXPECT_THAT(status.message(), HasSubstr("columns"));
}

TEST_F(OutputFillTest, AChainIsRefused) {
  const Status status = status_of(with("planted.scale", "planted.total"));
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_THAT(status.message(), HasSubstr("inputs from another operator itself"));
}

TEST_F(OutputFillTest, TheReferenceHashFollowsTheOtherOperator) {
  use_total();
  const std::string before = reference_hash(*op_);
  std::string scale = kScaleJson;
  scale.replace(scale.find("\"check\": 3.0"), 12, "\"check\": 4.0");
  use("total", {{"total.json", kTotalJson},
                {"total.cu", kTotalSource},
                {"scale.json", scale},
                {"scale.cu", kScaleSource},
                {"reference.cu", std::string(kScaleReference) + kTotalReference}});
  EXPECT_NE(reference_hash(*op_), before);
}

}  // namespace
}  // namespace mgtune
