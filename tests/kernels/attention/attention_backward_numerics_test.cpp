// Both designs of attention.backward where they go wrong: logits of 1e4, one value everywhere, NaN
// next to what is read, rows that see nothing, a workspace of NaN, the same bits again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/helpers/kernels/attention_head.h"
#include "tests/helpers/kernels/cpu_module.h"

namespace mgtune {
namespace {

struct HeadGradients {
  std::vector<double> dq, dk, dv;
};

double rounded_to(DType dtype, double value) {
  unsigned char bits[2];
  put_element(bits, 0, dtype, value);
  return element_as_double(bits, 0, dtype);
}

// Gradients in fp64 of the inputs rounded to `dtype`, and the sums of what was added up for them,
// without signs: the size that errors are relative to.
struct ExactGradients {
  HeadGradients values, sizes;
};

ExactGradients exact_gradients(const AttentionHead& head, const AttentionHead::Element& dout,
                               DType dtype) {
  constexpr int kDim = AttentionHead::kDim;
  const AttentionOutput forward = exact_attention(head, dtype);
  const auto scale = static_cast<double>(head.scale);
  const auto at = [&](const AttentionHead::Element& element, int row, int column) {
    return rounded_to(dtype, element(row, column));
  };
  const std::vector<double> of_q(static_cast<std::size_t>(head.queries * kDim));
  const std::vector<double> of_k(static_cast<std::size_t>(head.keys * kDim));
  ExactGradients out{{of_q, of_k, of_k}, {of_q, of_k, of_k}};
  for (int i = 0; i < head.queries; ++i) {
    const auto query = static_cast<std::size_t>(i);
    double delta = 0, delta_size = 0;
    for (int d = 0; d < kDim; ++d) {
      const double product = at(dout, i, d) * forward.o[query * kDim + static_cast<std::size_t>(d)];
      delta += product;
      delta_size += std::abs(product);
    }
    for (int j = 0; j < head.keys && j <= i + head.keys - head.queries; ++j) {
      double logit = 0, dp = 0;
      for (int d = 0; d < kDim; ++d) {
        logit += at(head.q, i, d) * at(head.k, j, d);
        dp += at(dout, i, d) * at(head.v, j, d);
      }
      const double p = std::exp(logit * scale - forward.lse[query]);
      const double ds = scale * p * (dp - delta);
      const double ds_size = scale * p * (std::abs(dp) + delta_size);
      for (int d = 0; d < kDim; ++d) {
        const std::size_t of_query = query * kDim + static_cast<std::size_t>(d);
        const auto of_key = static_cast<std::size_t>(j * kDim + d);
        const double q = at(head.q, i, d), k = at(head.k, j, d), gradient = at(dout, i, d);
        out.values.dq[of_query] += ds * k;
        out.values.dk[of_key] += ds * q;
        out.values.dv[of_key] += p * gradient;
        out.sizes.dq[of_query] += ds_size * std::abs(k);
        out.sizes.dk[of_key] += ds_size * std::abs(q);
        out.sizes.dv[of_key] += p * std::abs(gradient);
      }
    }
  }
  return out;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected,
                 const std::vector<double>& sizes, double error) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    // Small numbers of f16 are multiples of 2^-24.
    ASSERT_NEAR(actual[i], expected[i], error * sizes[i] + 0x1p-22) << i;
  }
}

double other_wave(int row, int column) { return std::cos(0.61 * row + 0.7 * column * row); }

struct BackwardKernels {
  bool is_wgmma;
  const char* type;

  const char* source() const { return is_wgmma ? "backward_wgmma.cu" : "backward.cu"; }

  // mma_sync has 64 own rows, tiles of 32 and two stages; wgmma has 128, tiles of 64 and two
  // stages.
  std::string kernel(const std::string& pass, bool causal) const {
    const std::string arguments = "<" + std::string(type) + ", 64, ";
    const std::string begin = "attention_backward_" + pass, end = causal ? "true>" : "false>";
    if (pass == "rows") return begin + arguments + "256>";
    if (is_wgmma) return begin + "_wgmma" + arguments + "2, 64, 2, SCHEDULE::dynamic, 1, " + end;
    return begin + arguments + "64, 32, 4, 2, false, 1, " + end;
  }
};

class AttentionBackwardNumerics : public testing::TestWithParam<BackwardKernels> {
 protected:
  static void SetUpTestSuite() {
    for (const bool is_wgmma : {false, true}) {
      std::vector<std::string> kernels;
      for (const char* type : {"__half", "__nv_bfloat16"}) {
        const BackwardKernels of{is_wgmma, type};
        kernels.push_back(of.kernel("rows", true));
        for (const bool causal : {false, true}) {
          for (const char* pass : {"dkv", "dq"}) kernels.push_back(of.kernel(pass, causal));
        }
      }
      const char* const source = BackwardKernels{is_wgmma, ""}.source();
      modules_[is_wgmma ? 1 : 0] =
          new CpuModule(CpuModule::build("kernels/attention", source, kernels).value());
    }
  }
  static void TearDownTestSuite() {
    for (CpuModule*& module : modules_) delete std::exchange(module, nullptr);
  }

  static const CpuModule& module() { return *modules_[GetParam().is_wgmma ? 1 : 0]; }
  static std::string kernel(const std::string& pass, bool causal) {
    return GetParam().kernel(pass, causal);
  }
  static DType dtype() {
    return std::string(GetParam().type) == "__half" ? DType::f16 : DType::bf16;
  }
  static double rounding() { return dtype() == DType::f16 ? 0x1p-11 : 0x1p-8; }

  // The map of `rows` rows of a matrix of the head, of which a copy moves `box`.
  static EncodedTensorMap map_of(const DeviceTensor& matrix, int rows, std::uint32_t box) {
    constexpr std::uint64_t kDim = AttentionHead::kDim;
    const auto extent = static_cast<std::uint64_t>(rows), bytes = extent * kDim * 2;
    const TensorMapRequest request{matrix.data(),
                                   dtype(),
                                   5,
                                   {kDim, extent, 1, 1, 1},
                                   {kDim * 2, kDim * 2, bytes, bytes},
                                   {kDim, box, 1, 1, 1},
                                   TensorMap::Swizzle::bytes_128,
                                   TensorMap::L2::none};
    EncodedTensorMap map;
    EXPECT_TRUE(module().device().encode_tensor_map(request, map).ok());
    return map;
  }

  // What the kernels make of the head. Behind the last row of each matrix lie 64 rows of NaN, and
  // the workspace is NaN.
  static HeadGradients run(const AttentionHead& head, const AttentionHead::Element& dout,
                           bool causal = true) {
    Device& device = module().device();
    const auto upload = [&](int rows, const AttentionHead::Element& element) {
      return DeviceTensor::upload(device, dtype(), attention_rows(rows, element)).value();
    };
    const AttentionOutput forward = exact_attention(head, dtype());
    const auto element_of_o = [&](int row, int column) {
      return forward.o[static_cast<std::size_t>(row * AttentionHead::kDim + column)];
    };
    const auto q = upload(head.queries, head.q), k = upload(head.keys, head.k);
    const auto v = upload(head.keys, head.v), gradient = upload(head.queries, dout);
    const auto o = upload(head.queries, element_of_o);
    const auto lse = DeviceTensor::upload(device, DType::f32, forward.lse).value();
    const std::int32_t padded = (head.queries + 127) / 128 * 128;
    const auto poisoned = [&](DType type, std::int64_t count) {
      return DeviceTensor::poisoned(device, type, static_cast<std::size_t>(count)).value();
    };
    const auto lse2 = poisoned(DType::f32, padded), delta = poisoned(DType::f32, padded);
    const std::int64_t row = AttentionHead::kDim;
    const std::int64_t of_q = head.queries * row, of_k = head.keys * row;
    const auto dq = poisoned(dtype(), of_q), dk = poisoned(dtype(), of_k);
    const auto dv = poisoned(dtype(), of_k);
    const std::int32_t one = 1, queries = head.queries, keys = head.keys;
    const auto expect_ok = [](const Status& status) {
      EXPECT_TRUE(status.ok()) << status.message();
    };
    const auto blocks = [](int rows, int size) {
      return static_cast<std::uint32_t>((rows + size - 1) / size);
    };
    expect_ok(module().launch(kernel("rows", causal), blocks(padded, 32), 256, o.data(),
                              gradient.data(), lse.data(), lse2.data(), delta.data(),
                              std::int64_t{padded}, queries, padded, one, of_q, row, row, of_q, row,
                              row));
    if (GetParam().is_wgmma) {
      constexpr std::uint32_t kTiles = 2 * (128 + 2 * 64) * 64 * 2, kFigures = 8 * 2 * 64;
      const auto counter = DeviceTensor::upload(device, DType::i32, {0}).value();
      // One block does all jobs.
      const auto launch = [&](const char* pass, std::uint32_t shared, const auto&... args) {
        const void* pointers[] = {&args...};
        expect_ok(module().launch_with(kernel(pass, causal), 1, 384, shared,
                                       const_cast<void* const*>(pointers)));
      };
      const auto jobs = [](int rows) { return std::int32_t{(rows + 127) / 128}; };
      launch("dkv", kTiles + kFigures, map_of(q, queries, 64), map_of(k, keys, 128),
             map_of(v, keys, 128), map_of(gradient, queries, 64), lse2.data(), delta.data(),
             dk.data(), dv.data(), counter.data(), jobs(keys), head.scale, one, queries, keys,
             padded, one, one, one, of_k, row, row, of_k, row, row);
      launch("dq", kTiles, map_of(q, queries, 128), map_of(k, keys, 64), map_of(v, keys, 64),
             map_of(gradient, queries, 128), lse2.data(), delta.data(), dq.data(), counter.data(),
             jobs(queries), head.scale, one, queries, keys, padded, one, one, one, of_q, row, row);
    } else {
      constexpr std::uint32_t kShared = 2 * (64 + 2 * 32) * 64 * 2 + 8 * 2 * 32;
      expect_ok(module().launch_with_shared(
          kernel("dkv", causal), blocks(keys, 64), 128, kShared, q.data(), k.data(), v.data(),
          gradient.data(), lse2.data(), delta.data(), dk.data(), dv.data(), head.scale, one,
          queries, keys, padded, one, one, of_q, row, row, of_k, row, row, of_k, row, row, of_q,
          row, row, of_k, row, row, of_k, row, row));
      expect_ok(module().launch_with_shared(
          kernel("dq", causal), blocks(queries, 64), 128, kShared, q.data(), k.data(), v.data(),
          gradient.data(), lse2.data(), delta.data(), dq.data(), head.scale, one, queries, keys,
          padded, one, one, of_q, row, row, of_k, row, row, of_k, row, row, of_q, row, row, of_q,
          row, row));
    }
    return {dq.download().value(), dk.download().value(), dv.download().value()};
  }

  // dS, delta and the result are rounded to the dtype. Probabilities may have a further error.
  static void expect_close(const AttentionHead& head, const AttentionHead::Element& dout,
                           double error_of_p = 0, bool causal = true) {
    const ExactGradients exact = exact_gradients(head, dout, dtype());
    const HeadGradients out = run(head, dout, causal);
    const double error = 3 * rounding() + error_of_p;
    expect_near(out.dq, exact.values.dq, exact.sizes.dq, error);
    expect_near(out.dk, exact.values.dk, exact.sizes.dk, error);
    expect_near(out.dv, exact.values.dv, exact.sizes.dv, error);
  }

  static inline CpuModule* modules_[2] = {nullptr, nullptr};
};

TEST_P(AttentionBackwardNumerics, NothingBehindTheRowsIsRead) {
  expect_close({70, 100, wave, wave, other_wave, 0.5F}, other_wave);
  expect_close({130, 67, wave, other_wave, wave, 0.25F}, wave);
}

// An exponent of 1e4 * log2(e) has a last place of 2^-10: half of it in lse and in its product with
// log2(e), and a quarter in the factor of logits. Each query sees a few keys whose logits are near
// the largest.
TEST_P(AttentionBackwardNumerics, LogitsMayBeTenThousand) {
  const auto ramp = [](int row, int column) {
    return column == 0 ? row * 2.0 : column == 1 ? row % 3 * 0.25 : 0.0;
  };
  const auto large = [](int row, int column) {
    return column == 0 ? 64.0 : column == 1 ? 1.0 : row % 2 * 0.5;
  };
  const auto peaks = [](int row, int column) {
    return column == 0 ? (row % 7 == 3 ? 160.0 : -160.0) : column == 1 ? row % 5 * 0.5 : 0.0;
  };
  expect_close({70, 90, large, peaks, other_wave, 1.0F}, wave, 0x1p-9);
  const HeadGradients out = run({70, 70, large, ramp, other_wave, 1.0F}, wave);
  for (const auto* const values : {&out.dq, &out.dk, &out.dv}) {
    for (const double value : *values) ASSERT_TRUE(std::isfinite(value));
  }
}

// Keys behind the last one are zeros in shared memory. Their logits of 0 are far above those that
// there are, so that their exponentials would be infinite. The one query sees every key.
TEST_P(AttentionBackwardNumerics, LogitsMayBeFarBelowThoseOfAbsentKeys) {
  const auto negative = [](int row, int column) {
    return column == 0 ? -160.0 : column == 1 ? row % 5 * 0.5 : 0.0;
  };
  const auto positive = [](int, int column) { return column == 0 ? 64.0 : 1.0; };
  expect_close({1, 41, positive, negative, other_wave, 1.0F}, wave, 0x1p-9, false);
  expect_close({1, 41, positive, negative, other_wave, 1.0F}, wave, 0x1p-9, true);
}

// dP does not depend on the key, so dS is 0, up to the rounding of delta.
TEST_P(AttentionBackwardNumerics, EqualValuesGiveNoGradientOfLogits) {
  const auto one = [](int, int) { return 1.0; };
  const HeadGradients out = run({70, 100, wave, wave, one, 0.5F}, other_wave);
  for (const double value : out.dq) ASSERT_NEAR(value, 0.0, 1e-4);
  for (const double value : out.dk) ASSERT_NEAR(value, 0.0, 1e-4);
}

TEST_P(AttentionBackwardNumerics, RowsThatSeeNothingAreZeroAndAddNothing) {
  const AttentionHead head{100, 30, wave, wave, other_wave, 0.5F};
  expect_close(head, other_wave);
  const HeadGradients out = run(head, other_wave);
  for (std::size_t i = 0; i < 70 * AttentionHead::kDim; ++i) ASSERT_EQ(out.dq[i], 0.0) << i;
  // What the first 70 queries hold, infinities too, has no part in the gradients of keys.
  const auto wild = [](const AttentionHead::Element& element) {
    return [element](int row, int column) { return row < 70 ? 3e4 : element(row, column); };
  };
  AttentionHead other = head;
  other.q = wild(wave);
  const HeadGradients again = run(other, wild(other_wave));
  EXPECT_EQ(again.dk, out.dk);
  EXPECT_EQ(again.dv, out.dv);
}

TEST_P(AttentionBackwardNumerics, TheSameBitsComeAgain) {
  const AttentionHead head{70, 130, wave, wave, other_wave, 1.5F};
  const HeadGradients once = run(head, other_wave);
  for (const auto kind : {ThreadOrder::Kind::reversed, ThreadOrder::Kind::shuffled}) {
    ASSERT_TRUE(module().device().set_thread_order({kind, 3}).ok());
    const HeadGradients again = run(head, other_wave);
    EXPECT_EQ(again.dq, once.dq);
    EXPECT_EQ(again.dk, once.dk);
    EXPECT_EQ(again.dv, once.dv);
  }
  ASSERT_TRUE(module().device().set_thread_order({}).ok());
}

INSTANTIATE_TEST_SUITE_P(EachDesignAndType, AttentionBackwardNumerics,
                         testing::Values(BackwardKernels{false, "__half"},
                                         BackwardKernels{false, "__nv_bfloat16"},
                                         BackwardKernels{true, "__half"},
                                         BackwardKernels{true, "__nv_bfloat16"}),
                         [](const auto& tested) {
                           return std::string(tested.param.is_wgmma ? "wgmma" : "mma_sync") +
                                  (std::string(tested.param.type) == "__half" ? "_f16" : "_bf16");
                         });

}  // namespace
}  // namespace mgtune
