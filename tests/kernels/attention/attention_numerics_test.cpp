// attention.prefill where softmax goes wrong: logits of 1e4, one value everywhere, NaN next to what
// is read, rows that see nothing, V of ones, log-sum-exp to the last digits, the same bits again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/helpers/kernels/attention_head.h"
#include "tests/helpers/kernels/cpu_module.h"

namespace mgtune {
namespace {

class AttentionNumerics : public AttentionHeadTest<AttentionNumerics> {
 public:
  static void SetUpTestSuite() {
    std::vector<std::string> kernels;
    for (const char* type : {"__half", "__nv_bfloat16"}) {
      for (const char* way : kWays) kernels.push_back(kernel(type, way));
    }
    module_ = new CpuModule(CpuModule::build("kernels/attention", "prefill.cu", kernels).value());
  }

  // Of 64 rows, 32 keys and two stages; causal.
  static constexpr const char* kWays[] = {"false, ROW_SUM::alu, RESCALE::seldom",
                                          "true, ROW_SUM::mma, RESCALE::always"};
  static std::string kernel(const std::string& type, const std::string& way) {
    return "attention_prefill<" + type + ", 64, 64, 64, 32, 4, 2, false, " + way +
           ", 2, 1, true, false, false, true>";
  }

  // What the kernel makes of the head; behind the last row of each matrix lie 64 rows of NaN.
  static AttentionOutput run(const AttentionHead& head, const char* way) {
    Device& device = module_->device();
    const auto upload = [&](int rows, const AttentionHead::Element& element) {
      return DeviceTensor::upload(device, dtype(), attention_rows(rows, element)).value();
    };
    const auto q = upload(head.queries, head.q), k = upload(head.keys, head.k);
    const auto v = upload(head.keys, head.v);
    const auto rows = static_cast<std::size_t>(head.queries);
    const auto o = DeviceTensor::poisoned(device, dtype(), rows * AttentionHead::kDim).value();
    const auto lse = DeviceTensor::poisoned(device, DType::f32, rows).value();
    const auto batch_stride = [](int count) { return std::int64_t{count} * AttentionHead::kDim; };
    const std::int64_t row = AttentionHead::kDim;
    const Status status = module_->launch_with_shared(
        kernel(GetParam(), way), static_cast<std::uint32_t>((head.queries + 63) / 64), 128,
        (64 + 4 * 32) * AttentionHead::kDim * 2, q.data(), k.data(), v.data(), o.data(), lse.data(),
        head.scale, 1.0F, std::int32_t{1}, std::int32_t{head.queries}, std::int32_t{head.keys},
        std::int32_t{1}, std::int32_t{1}, std::int32_t{0}, batch_stride(head.queries), row, row,
        batch_stride(head.keys), row, row, batch_stride(head.keys), row, row,
        batch_stride(head.queries), row, row);
    EXPECT_TRUE(status.ok()) << status.message();
    return {o.download().value(), lse.download().value()};
  }
};

TEST_P(AttentionNumerics, LogSumExpIsThatOfTheFormula) {
  expect_close({70, 100, wave, wave, wave, 0.5F}, 2);
}

// The largest may come first, last or in the middle, once or often.
TEST_P(AttentionNumerics, LogitsMayBeTenThousand) {
  const auto ramp = [](int sign) {
    return [sign](int row, int column) { return column == 0 ? sign * row * 4.0 : 0.0; };
  };
  const auto hundred = [](int, int column) { return column == 0 ? 64.0 : 0.0; };
  expect_close({70, 70, hundred, ramp(1), wave, 1.0F}, 2);
  expect_close({70, 70, hundred, ramp(-1), wave, 1.0F}, 2);
  const auto peaks = [](int row, int column) {
    return column == 0 ? (row % 7 == 3 ? 160.0 : -160.0) : 0.0;
  };
  expect_close({70, 90, hundred, peaks, wave, 1.0F}, 2);
}

TEST_P(AttentionNumerics, OneLogitEverywhereGivesTheMean) {
  const auto one = [](int, int) { return 1.0; };
  const auto zero = [](int, int) { return 0.0; };
  expect_close({40, 40, one, one, wave, 0.125F}, 2);
  expect_close({40, 40, zero, wave, wave, 0.125F}, 2);
}

TEST_P(AttentionNumerics, ValuesOfOneGiveExactlyOne) {
  const auto one = [](int, int) { return 1.0; };
  // 0.502 of the largest: every p is rounded in the same direction, by almost half a last place.
  const auto alike = [](int row, int column) {
    return column == 0 ? (row == 0 ? 0.0 : -0.6875) : 0.0;
  };
  const auto first = [](int, int column) { return column == 0 ? 1.0 : 0.0; };
  for (const AttentionHead& head :
       {AttentionHead{70, 100, wave, wave, one, 0.7F}, AttentionHead{9, 9, wave, wave, one, 3.0F},
        AttentionHead{70, 70, first, alike, one, 1.0F}}) {
    for (const char* way : kWays) {
      for (const double value : run(head, way).o) ASSERT_EQ(value, 1.0);
    }
  }
}

TEST_P(AttentionNumerics, RowsThatSeeNothingAreZero) {
  const AttentionHead head{100, 30, wave, wave, wave, 0.5F};
  expect_close(head, 2);
  for (const char* way : kWays) {
    const AttentionOutput out = run(head, way);
    for (std::size_t i = 0; i < 70; ++i) {
      ASSERT_EQ(out.lse[i], -INFINITY);
      ASSERT_EQ(out.o[i * AttentionHead::kDim + 5], 0.0);
    }
  }
}

TEST_P(AttentionNumerics, TheSameBitsComeAgain) {
  expect_the_same_bits_again({70, 130, wave, wave, wave, 1.5F});
}

INSTANTIATE_TEST_SUITE_P(EachType, AttentionNumerics, testing::Values("__half", "__nv_bfloat16"),
                         attention_type_name);

}  // namespace
}  // namespace mgtune
