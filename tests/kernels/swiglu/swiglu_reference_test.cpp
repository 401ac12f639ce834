// The references of the swiglu operators, run on the cpu device, against golden values computed
// with 60 decimal digits (tests/golden/swiglu/make_golden.py).

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/helpers/kernels/cpu_module.h"
#include "tests/helpers/kernels/reference_problems.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

constexpr double kSwigluTolerance = 1e-13;
constexpr DType kReferenceDTypes[] = {DType::f32, DType::f16, DType::bf16};
constexpr const char* kOperators[] = {"forward", "packed_forward", "backward", "packed_backward"};

using Numbers = std::vector<double>;

struct SwigluGolden {
  Numbers dy, gate, up, y, dgate, dup;
};

SwigluGolden read_golden() {
  std::istringstream in(
      FileSystem::real().read_file(source_path("tests/golden/swiglu/values.txt")).value());
  std::string heading;
  std::getline(in, heading);
  SwigluGolden golden;
  for (double dy, gate, up, y, dgate, dup; in >> dy >> gate >> up >> y >> dgate >> dup;) {
    golden.dy.push_back(dy);
    golden.gate.push_back(gate);
    golden.up.push_back(up);
    golden.y.push_back(y);
    golden.dgate.push_back(dgate);
    golden.dup.push_back(dup);
  }
  return golden;
}

// `values` as rows of `hidden`, each followed by a gap of NaN: rows are `stride` apart.
Numbers with_gaps(const Numbers& values, std::int64_t hidden, std::int64_t stride) {
  Numbers spread;
  for (std::size_t i = 0; i < values.size(); ++i) {
    spread.push_back(values[i]);
    const bool row_ends = (std::int64_t(i) + 1) % hidden == 0 && i + 1 < values.size();
    if (row_ends) spread.insert(spread.end(), std::size_t(stride - hidden), std::nan(""));
  }
  return spread;
}

// Rows of both, side by side.
Numbers packed(const Numbers& left, const Numbers& right, std::int64_t hidden) {
  Numbers rows;
  for (auto row = left.begin(), other = right.begin(); row != left.end();
       row += hidden, other += hidden) {
    rows.insert(rows.end(), row, row + hidden);
    rows.insert(rows.end(), other, other + hidden);
  }
  return rows;
}

class SwigluReference : public testing::Test {
 protected:
  static constexpr std::int64_t kHidden = 11;

  static std::string kernel(const std::string& op, DType dtype) {
    return "swiglu_" + op + "_reference<" + std::string(cuda_name(dtype)) + ", Problem>";
  }

  static void SetUpTestSuite() {
    std::vector<std::string> kernels;
    for (const char* op : kOperators) {
      for (const DType dtype : kReferenceDTypes) kernels.push_back(kernel(op, dtype));
    }
    auto built = CpuModule::build_reference("kernels/swiglu", kSwigluReferenceProblemText, kernels);
    ASSERT_TRUE(built.ok()) << built.status().message();
    module_.emplace(*std::move(built));
  }
  static void TearDownTestSuite() { module_.reset(); }
  void SetUp() override {
    ASSERT_TRUE(module_.has_value());
    ASSERT_EQ(golden_.gate.size(), 132u);
  }

  static DeviceTensor upload(DType dtype, const Numbers& values) {
    return DeviceTensor::upload(module_->device(), dtype, values).value();
  }
  static DeviceTensor output(std::size_t count) {
    return DeviceTensor::poisoned(module_->device(), DType::f64, count).value();
  }

  static void expect_equal(const DeviceTensor& actual, const Numbers& expected) {
    const Numbers values = actual.download().value();
    ASSERT_EQ(values.size(), expected.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(values[i], expected[i], kSwigluTolerance * std::abs(expected[i]) + 1e-300) << i;
    }
  }

  static inline std::optional<CpuModule> module_;
  const SwigluGolden golden_ = read_golden();
  const SwigluReferenceProblem problem_{.rows = 132 / kHidden,
                                        .hidden = kHidden,
                                        .dy_stride = 12,
                                        .gate_stride = 13,
                                        .up_stride = 20,
                                        .gate_up_stride = 25};
};

TEST_F(SwigluReference, ForwardEqualsGoldenValues) {
  for (const DType dtype : kReferenceDTypes) {
    SCOPED_TRACE(std::string(to_string(dtype)));
    const DeviceTensor gate = upload(dtype, with_gaps(golden_.gate, kHidden, 13));
    const DeviceTensor up = upload(dtype, with_gaps(golden_.up, kHidden, 20));
    const DeviceTensor y = output(132);
    const Status ran = module_->launch(kernel("forward", dtype), 64, 128, gate.data(), up.data(),
                                       y.data(), problem_);
    ASSERT_TRUE(ran.ok()) << ran.message();
    expect_equal(y, golden_.y);
  }
}

TEST_F(SwigluReference, PackedForwardEqualsGoldenValues) {
  for (const DType dtype : kReferenceDTypes) {
    SCOPED_TRACE(std::string(to_string(dtype)));
    const Numbers both = packed(golden_.gate, golden_.up, kHidden);
    const DeviceTensor gate_up = upload(dtype, with_gaps(both, 2 * kHidden, 25));
    const DeviceTensor y = output(132);
    const Status ran = module_->launch(kernel("packed_forward", dtype), 64, 128, gate_up.data(),
                                       y.data(), problem_);
    ASSERT_TRUE(ran.ok()) << ran.message();
    expect_equal(y, golden_.y);
  }
}

TEST_F(SwigluReference, BackwardEqualsGoldenValues) {
  for (const DType dtype : kReferenceDTypes) {
    SCOPED_TRACE(std::string(to_string(dtype)));
    const DeviceTensor dy = upload(dtype, with_gaps(golden_.dy, kHidden, 12));
    const DeviceTensor gate = upload(dtype, with_gaps(golden_.gate, kHidden, 13));
    const DeviceTensor up = upload(dtype, with_gaps(golden_.up, kHidden, 20));
    const DeviceTensor dgate = output(132), dup = output(132);
    const Status ran = module_->launch(kernel("backward", dtype), 64, 128, dy.data(), gate.data(),
                                       up.data(), dgate.data(), dup.data(), problem_);
    ASSERT_TRUE(ran.ok()) << ran.message();
    expect_equal(dgate, golden_.dgate);
    expect_equal(dup, golden_.dup);
  }
}

TEST_F(SwigluReference, PackedBackwardEqualsGoldenValues) {
  for (const DType dtype : kReferenceDTypes) {
    SCOPED_TRACE(std::string(to_string(dtype)));
    const DeviceTensor dy = upload(dtype, with_gaps(golden_.dy, kHidden, 12));
    const Numbers both = packed(golden_.gate, golden_.up, kHidden);
    const DeviceTensor gate_up = upload(dtype, with_gaps(both, 2 * kHidden, 25));
    const DeviceTensor dgate_up = output(264);
    const Status ran = module_->launch(kernel("packed_backward", dtype), 64, 128, dy.data(),
                                       gate_up.data(), dgate_up.data(), problem_);
    ASSERT_TRUE(ran.ok()) << ran.message();
    expect_equal(dgate_up, packed(golden_.dgate, golden_.dup, kHidden));
  }
}

TEST_F(SwigluReference, OfNoRowsWritesNothing) {
  const DeviceTensor x = upload(DType::f32, {1, 2, 3}), y = output(3);
  const SwigluReferenceProblem empty{.rows = 0, .hidden = 3, .gate_stride = 3, .up_stride = 3};
  const Status ran =
      module_->launch(kernel("forward", DType::f32), 64, 128, x.data(), x.data(), y.data(), empty);
  ASSERT_TRUE(ran.ok()) << ran.message();
  const Numbers values = y.download().value();
  for (const double value : values) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace mgtune
