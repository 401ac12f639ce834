// The reference of rmsnorm.forward, run on the cpu device, against golden values that NumPy
// computed in double precision (tests/golden/rmsnorm/make_golden.py).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/helpers/kernels/cpu_module.h"
#include "tests/helpers/kernels/reference_problems.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

constexpr double kTolerance = 1e-12;
constexpr DType kDTypes[] = {DType::f32, DType::f16, DType::bf16};

struct Golden {
  std::string name = {};
  std::int64_t rows = 0, hidden = 0, x_stride = 0;
  float eps = 0;
  std::vector<double> x = {}, weight = {}, y = {}, rstd = {};
};

std::vector<double> read_numbers(std::istream& in, const std::string& label, std::int64_t count) {
  std::string word;
  in >> word;
  EXPECT_EQ(word, label);
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (double& number : numbers) {
    in >> word;
    number = std::strtod(word.c_str(), nullptr);  // unlike >>, it reads nan
  }
  return numbers;
}

Golden parse_golden(const std::string& name, const std::string& text) {
  Golden golden{.name = name};
  std::istringstream in(text);
  std::string label;
  in >> label >> golden.rows >> label >> golden.hidden >> label >> golden.x_stride >> label >>
      golden.eps;
  const std::int64_t in_memory = (golden.rows - 1) * golden.x_stride + golden.hidden;
  golden.x = read_numbers(in, "x", in_memory);
  golden.weight = read_numbers(in, "weight", golden.hidden);
  golden.y = read_numbers(in, "y", golden.rows * golden.hidden);
  golden.rstd = read_numbers(in, "rstd", golden.rows);
  EXPECT_TRUE(in) << name << " ends early";
  return golden;
}

std::vector<Golden> read_goldens() {
  const std::string folder = source_path("tests/golden/rmsnorm");
  std::vector<Golden> goldens;
  const std::vector<std::string> files = FileSystem::real().list_files(folder).value();
  for (const std::string& file : files) {
    if (!file.ends_with(".txt")) continue;
    const std::string text = FileSystem::real().read_file(folder + "/" + file).value();
    goldens.push_back(parse_golden(file, text));
  }
  return goldens;
}

std::string kernel_name(DType dtype) {
  const std::string type(cuda_name(dtype));
  return "rmsnorm_forward_reference<" + type + ", " + type + ", Problem>";
}

// The first place where the two differ by more than the tolerance; "" when there is none.
std::string first_difference(const std::vector<double>& actual,
                             const std::vector<double>& expected) {
  if (actual.size() != expected.size()) return "sizes differ";
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!(std::abs(actual[i] - expected[i]) <= kTolerance * std::abs(expected[i]))) {
      std::ostringstream text;
      text.precision(17);
      text << "[" << i << "] is " << actual[i] << ", not " << expected[i];
      return text.str();
    }
  }
  return "";
}

class RmsnormReference : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::vector<std::string> kernels;
    for (const DType dtype : kDTypes) kernels.push_back(kernel_name(dtype));
    auto built =
        CpuModule::build_reference("kernels/rmsnorm", kRmsnormReferenceProblemText, kernels);
    ASSERT_TRUE(built.ok()) << built.status().message();
    module_.emplace(*std::move(built));
  }
  static void TearDownTestSuite() { module_.reset(); }
  void SetUp() override { ASSERT_TRUE(module_.has_value()); }

  struct Outputs {
    std::vector<double> y, rstd;
  };

  static Result<Outputs> run(const Golden& golden, DType dtype, bool with_rstd,
                             float weight_offset = 0) {
    Device& device = module_->device();
    MGTUNE_ASSIGN(const DeviceTensor x, DeviceTensor::upload(device, dtype, golden.x));
    MGTUNE_ASSIGN(const DeviceTensor weight, DeviceTensor::upload(device, dtype, golden.weight));
    MGTUNE_ASSIGN(const DeviceTensor y,
                  DeviceTensor::poisoned(device, DType::f64, golden.y.size()));
    MGTUNE_ASSIGN(const DeviceTensor rstd,
                  DeviceTensor::poisoned(device, DType::f64, golden.rstd.size()));
    const RmsnormReferenceProblem problem{.rows = golden.rows,
                                          .hidden = golden.hidden,
                                          .x_stride = golden.x_stride,
                                          .eps = golden.eps,
                                          .weight_offset = weight_offset};
    MGTUNE_TRY(module_->launch(kernel_name(dtype), 64, 128, x.data(), weight.data(), y.data(),
                               with_rstd ? rstd.data() : nullptr, problem));
    Outputs outputs;
    MGTUNE_ASSIGN(outputs.y, y.download());
    MGTUNE_ASSIGN(outputs.rstd, rstd.download());
    return outputs;
  }

  static inline std::optional<CpuModule> module_;
};

TEST_F(RmsnormReference, EqualsGoldenValuesInEveryDtype) {
  const std::vector<Golden> goldens = read_goldens();
  EXPECT_GE(goldens.size(), 12u);
  for (const Golden& golden : goldens) {
    for (const DType dtype : kDTypes) {
      SCOPED_TRACE(golden.name + " " + std::string(to_string(dtype)));
      const auto outputs = run(golden, dtype, true);
      ASSERT_TRUE(outputs.ok()) << outputs.status().message();
      EXPECT_EQ(first_difference(outputs->y, golden.y), "");
      EXPECT_EQ(first_difference(outputs->rstd, golden.rstd), "");
    }
  }
}

TEST_F(RmsnormReference, LeavesAnAbsentRstdAlone) {
  for (const Golden& golden : read_goldens()) {
    SCOPED_TRACE(golden.name);
    const auto outputs = run(golden, DType::f32, false);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    EXPECT_EQ(first_difference(outputs->y, golden.y), "");
    for (const double value : outputs->rstd) EXPECT_TRUE(std::isnan(value));
  }
}

TEST_F(RmsnormReference, AddsTheWeightOffset) {
  for (Golden golden : read_goldens()) {
    SCOPED_TRACE(golden.name);
    const auto outputs = run(golden, DType::f32, true, 0.5F);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    for (std::size_t i = 0; i < golden.y.size(); ++i) {
      const double weight = static_cast<float>(golden.weight[i % golden.weight.size()]);
      if (weight == 0) continue;
      const double expected = golden.y[i] / weight * (weight + 0.5);
      EXPECT_NEAR(outputs->y[i], expected, 1e-12 * (1 + std::abs(expected))) << i;
    }
  }
}

TEST_F(RmsnormReference, OfARowOfZerosWithoutEpsIsNaN) {
  Golden zeros{.rows = 1, .hidden = 3, .x_stride = 3, .x = {0, 0, 0}, .weight = {1, 1, 1}};
  zeros.y.resize(3);
  zeros.rstd.resize(1);
  const auto outputs = run(zeros, DType::f32, true);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_TRUE(std::isinf(outputs->rstd[0]));
  for (const double value : outputs->y) EXPECT_TRUE(std::isnan(value));
}

TEST_F(RmsnormReference, OfNoRowsWritesNothing) {
  Golden empty{
      .rows = 0, .hidden = 3, .x_stride = 3, .eps = 1, .x = {1, 2, 3}, .weight = {1, 1, 1}};
  empty.y.resize(3);
  empty.rstd.resize(1);
  const auto outputs = run(empty, DType::f32, true);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_TRUE(std::isnan(outputs->rstd[0]));
  for (const double value : outputs->y) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace mgtune
