// attention.decode where softmax goes wrong, on the cpu device: logits of 1e4, one value
// everywhere, NaN behind the last key, rows and parts that see nothing, V of ones, log-sum-exp to
// the last digits, the same bits again; parts added by the last block, by a second kernel, in a
// cluster (of one block there), and keys that are shared out evenly in one to seven runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/helpers/kernels/attention_head.h"
#include "tests/helpers/kernels/cpu_module.h"

namespace mgtune {
namespace {

// Keys are cut into parts of `chunk`, or into equal `runs`.
struct Way {
  const char* name;
  int chunk, runs = 0;
};

std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }

constexpr Way kLastBlock{"COMBINE::last_block", 32}, kTwoKernels{"COMBINE::kernel", 64};
constexpr Way kCluster{"cluster", 0};
constexpr Way kOneRun{"one run", 0, 1}, kThreeRuns{"three runs", 0, 3};
constexpr Way kSevenRuns{"seven runs", 0, 7};
constexpr int kMaxKeys = 300;

class AttentionDecodeNumerics : public AttentionHeadTest<AttentionDecodeNumerics> {
 public:
  static constexpr Way kWays[] = {kLastBlock, kTwoKernels, kCluster,
                                  kOneRun,    kThreeRuns,  kSevenRuns};

  static void SetUpTestSuite() {
    std::vector<std::string> kernels, even_kernels;
    for (const char* type : {"__half", "__nv_bfloat16"}) {
      for (const Way& way : {kLastBlock, kTwoKernels, kCluster}) {
        kernels.push_back(kernel(type, way));
      }
      kernels.push_back(combine(type));
      even_kernels.push_back(even_kernel(type));
    }
    module_ = new CpuModule(CpuModule::build("kernels/attention", "decode.cu", kernels).value());
    even_module_ = new CpuModule(
        CpuModule::build("kernels/attention", "decode_even.cu", even_kernels).value());
  }

  static void TearDownTestSuite() {
    delete std::exchange(even_module_, nullptr);
    AttentionHeadTest::TearDownTestSuite();
  }

  // Tiles of 16 keys, two warps, two stages; causal, with log-sum-exp.
  static std::string kernel(const std::string& type, const Way& way) {
    const bool in_cluster = way.chunk == 0;
    return (in_cluster ? "attention_decode_cluster<" : "attention_decode<") + type +
           ", 64, 16, 16, 2, 2, 1, " + (in_cluster ? "1" : way.name) +
           ", false, false, true, false, false, true>";
  }
  static std::string even_kernel(const std::string& type) {
    return "attention_decode_even<" + type +
           ", 64, 16, 16, 2, 2, 1, false, false, true, false, false, true>";
  }
  static std::string combine(const std::string& type) {
    return "attention_decode_combine<" + type + ", 64, 16, 128, false, false, true>";
  }

  // What the kernels make of the head; behind the last key lies NaN, and so it does in the parts
  // that nobody wrote.
  static AttentionOutput run(const AttentionHead& head, const Way& way) {
    const bool is_even = way.runs != 0;
    Device& device = is_even ? even_module_->device() : module_->device();
    const auto upload = [&](int rows, const AttentionHead::Element& element) {
      return DeviceTensor::upload(device, dtype(), attention_rows(rows, element)).value();
    };
    const auto q = upload(head.queries, head.q), k = upload(head.keys, head.k);
    const auto v = upload(head.keys, head.v);
    const auto lens =
        DeviceTensor::upload(device, DType::i32, {static_cast<double>(head.keys)}).value();
    const std::int32_t max_parts = way.chunk == 0 ? 1 : kMaxKeys / way.chunk;
    const auto parts = static_cast<std::size_t>(is_even ? 2 * way.runs : max_parts);
    const auto sums = DeviceTensor::poisoned(device, DType::f32, parts * 16 * 64).value();
    const auto weights = DeviceTensor::poisoned(device, DType::f32, parts * 16 * 4).value();
    const auto counters =
        DeviceTensor::upload(device, DType::i32, std::vector<double>(parts, 0)).value();
    const auto rows = static_cast<std::size_t>(head.queries);
    const auto o = DeviceTensor::poisoned(device, dtype(), rows * AttentionHead::kDim).value();
    const auto lse = DeviceTensor::poisoned(device, DType::f32, rows).value();

    void *q_data = q.data(), *k_data = k.data(), *v_data = v.data(), *lens_data = lens.data();
    void *o_data = o.data(), *lse_data = lse.data(), *sums_data = sums.data();
    void *weights_data = weights.data(), *counters_data = counters.data(), *table = nullptr;
    float scale = head.scale, softcap = 1;
    std::int32_t one = 1, none = 0, q_len = head.queries, kv_len = kMaxKeys, chunk = way.chunk;
    std::int32_t parts_argument = max_parts;
    std::int64_t sb = 0, ss = AttentionHead::kDim, sh = AttentionHead::kDim;
    std::vector<void*> args = {&q_data, &k_data, &v_data, &lens_data, &table, &o_data, &lse_data};
    if (way.chunk != 0 || is_even) {
      args.insert(args.end(), {&sums_data, &weights_data, &counters_data});
    }
    args.insert(args.end(), {&scale, &softcap, &q_len, &kv_len, &one, &one, &none, &one, &none});
    if (is_even) {  // one sequence, column, pass and block of rows; runs of one tile or more
      args.insert(args.end(), {&one, &one, &one, &one, &one});
    } else {
      args.insert(args.end(), {&chunk, &none});
    }
    args.insert(args.end(), {&sb, &ss, &sh, &sb, &ss, &sh, &sb, &ss, &sh, &sb, &ss, &sh});
    const std::uint32_t rings = (16 + 2 * 2 * 2 * 16) * 64 * 2;
    Status status;
    if (is_even) {
      status =
          even_module_->launch_with(even_kernel(GetParam()), static_cast<std::uint32_t>(way.runs),
                                    64, rings + 4 * 2 * 16 * 76 + 64, args.data());
    } else {
      status = module_->launch_with(kernel(GetParam(), way),
                                    {1, static_cast<std::uint32_t>(max_parts), 1}, 64,
                                    rings + 32 * 16 * 64 / 4, args.data());
    }
    EXPECT_TRUE(status.ok()) << status.message();
    if (way.chunk == kTwoKernels.chunk) {
      void* combine_args[] = {&lens_data,      &o_data, &lse_data, &sums_data, &weights_data,
                              &q_len,          &one,    &one,      &none,      &chunk,
                              &parts_argument, &sb,     &ss,       &sh};
      status = module_->launch_with(combine(GetParam()), {2, 1, 1}, 128, 0, combine_args);
      EXPECT_TRUE(status.ok()) << status.message();
    }
    EXPECT_THAT(counters.download().value(), testing::Each(0.0));
    return {o.download().value(), lse.download().value()};
  }

 private:
  static inline CpuModule* even_module_ = nullptr;
};

TEST_P(AttentionDecodeNumerics, LogSumExpIsThatOfTheFormula) {
  for (const int keys : {1, 31, 32, 33, 64, 65, 250, 300}) {
    expect_close({3, keys, wave, wave, wave, 0.5F}, 2);
  }
}

// The bound of the lengths picks the parts, and nothing else: the last one has what is left.
TEST_P(AttentionDecodeNumerics, ASequenceMayBeLongerThanTheBound) {
  expect_close({5, kMaxKeys + 90, wave, wave, wave, 0.5F}, 2);
}

// The largest may come in any part.
TEST_P(AttentionDecodeNumerics, LogitsMayBeTenThousand) {
  const auto ramp = [](int sign) {
    return [sign](int row, int column) { return column == 0 ? sign * row * 1.0 : 0.0; };
  };
  const auto large = [](int, int column) { return column == 0 ? 64.0 : 0.0; };
  expect_close({4, 200, large, ramp(1), wave, 1.0F}, 2);
  expect_close({4, 200, large, ramp(-1), wave, 1.0F}, 2);
  const auto peaks = [](int row, int column) {
    return column == 0 ? (row % 37 == 3 ? 160.0 : -160.0) : 0.0;
  };
  expect_close({4, 200, large, peaks, wave, 1.0F}, 2);
}

TEST_P(AttentionDecodeNumerics, OneLogitEverywhereGivesTheMean) {
  const auto one = [](int, int) { return 1.0; };
  expect_close({1, 190, one, one, wave, 0.125F}, 2);
}

TEST_P(AttentionDecodeNumerics, ValuesOfOneGiveExactlyOne) {
  const auto one = [](int, int) { return 1.0; };
  const auto alike = [](int row, int column) {
    return column == 0 ? (row == 0 ? 0.0 : -0.6875) : 0.0;
  };
  const auto first = [](int, int column) { return column == 0 ? 1.0 : 0.0; };
  for (const AttentionHead& head :
       {AttentionHead{3, 200, wave, wave, one, 0.7F}, AttentionHead{1, 9, wave, wave, one, 3.0F},
        AttentionHead{2, 170, first, alike, one, 1.0F}}) {
    for (const Way& way : kWays) {
      for (const double value : run(head, way).o) ASSERT_EQ(value, 1.0) << way.name;
    }
  }
}

TEST_P(AttentionDecodeNumerics, RowsThatSeeNothingAreZero) {
  expect_close({16, 5, wave, wave, wave, 0.5F}, 2);
  const AttentionHead empty{7, 0, wave, wave, wave, 0.5F};
  for (const Way& way : kWays) {
    const AttentionOutput out = run(empty, way);
    EXPECT_THAT(out.o, testing::Each(0.0));
    EXPECT_THAT(out.lse, testing::Each(-INFINITY));
  }
}

TEST_P(AttentionDecodeNumerics, TheSameBitsComeAgain) {
  expect_the_same_bits_again({5, 230, wave, wave, wave, 1.5F});
}

INSTANTIATE_TEST_SUITE_P(EachType, AttentionDecodeNumerics,
                         testing::Values("__half", "__nv_bfloat16"), attention_type_name);

}  // namespace
}  // namespace mgtune
