// The reference of attention.backward, run on the cpu device, is the derivative of the forward's
// formula: of attention in fp64, with heads that share keys, full and causal.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "tests/helpers/kernels/cpu_module.h"
#include "tests/helpers/kernels/reference_problems.h"
#include "tests/helpers/kernels/relative_l2.h"

namespace mgtune {
namespace {

constexpr std::size_t kGradientBatch = 2, kGradientHeads = 4, kGradientKvHeads = 2;
constexpr std::size_t kGradientDim = 8;
constexpr double kGradientScale = 0.4375;

// Contiguous tensors: batch, rows, heads, columns.
struct AttentionInputs {
  std::size_t queries, keys;
  bool causal;
  std::vector<double> q, k, v, dout;

  std::size_t q_row(std::size_t b, std::size_t i, std::size_t head) const {
    return ((b * queries + i) * kGradientHeads + head) * kGradientDim;
  }
  std::size_t k_row(std::size_t b, std::size_t j, std::size_t head) const {
    const std::size_t kv_head = head / (kGradientHeads / kGradientKvHeads);
    return ((b * keys + j) * kGradientKvHeads + kv_head) * kGradientDim;
  }
};

AttentionInputs attention_inputs(std::size_t queries, std::size_t keys, bool causal) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  const auto values = [&](std::size_t rows, std::size_t heads) {
    std::vector<double> result(kGradientBatch * rows * heads * kGradientDim);
    for (double& value : result) value = normal(random);
    return result;
  };
  return {queries,
          keys,
          causal,
          values(queries, kGradientHeads),
          values(keys, kGradientKvHeads),
          values(keys, kGradientKvHeads),
          values(queries, kGradientHeads)};
}

struct AttentionResults {
  std::vector<double> o, lse;
};

AttentionResults attention_in_fp64(const AttentionInputs& in) {
  AttentionResults out{std::vector<double>(in.q.size()), {}};
  for (std::size_t b = 0; b < kGradientBatch; ++b) {
    for (std::size_t head = 0; head < kGradientHeads; ++head) {
      for (std::size_t i = 0; i < in.queries; ++i) {
        double sum = 0;
        const std::size_t row = in.q_row(b, i, head);
        for (std::size_t j = 0; j < in.keys; ++j) {
          if (in.causal && j + in.queries > i + in.keys) continue;
          const std::size_t key = in.k_row(b, j, head);
          double logit = 0;
          for (std::size_t d = 0; d < kGradientDim; ++d) logit += in.q[row + d] * in.k[key + d];
          const double weight = std::exp(kGradientScale * logit);
          sum += weight;
          for (std::size_t d = 0; d < kGradientDim; ++d) out.o[row + d] += weight * in.v[key + d];
        }
        for (std::size_t d = 0; d < kGradientDim && sum > 0; ++d) out.o[row + d] /= sum;
        out.lse.push_back(std::log(sum));
      }
    }
  }
  return out;
}

// How a loss that grows by dout for each o changes with each of `numbers`, a part of `in`.
std::vector<double> slopes_of(const AttentionInputs& in, std::vector<double>& numbers) {
  const auto loss = [&] {
    const std::vector<double> o = attention_in_fp64(in).o;
    double sum = 0;
    for (std::size_t i = 0; i < o.size(); ++i) sum += in.dout[i] * o[i];
    return sum;
  };
  std::vector<double> slopes;
  for (double& number : numbers) {
    constexpr double kStep = 1e-5;
    const double at = number;
    number = at + kStep;
    const double above = loss();
    number = at - kStep;
    const double below = loss();
    number = at;
    slopes.push_back((above - below) / (2 * kStep));
  }
  return slopes;
}

class AttentionBackwardReference : public testing::TestWithParam<bool> {};

// More keys than queries, as many, and fewer, so that causal queries see nothing.
TEST_P(AttentionBackwardReference, IsTheDerivativeOfTheForward) {
  const std::string kernel = "attention_backward_reference<float, Problem>";
  const auto module =
      CpuModule::build_reference("kernels/attention", kAttentionBackwardReferenceProblemText,
                                 {kernel}, "backward_reference.cu");
  ASSERT_TRUE(module.ok()) << module.status().message();
  Device& device = module->device();
  const auto upload = [&](const std::vector<double>& values) {
    return DeviceTensor::upload(device, DType::f32, values).value();
  };
  for (const auto& [queries, keys] : {std::pair{3U, 20U}, {5U, 5U}, {6U, 4U}}) {
    SCOPED_TRACE(std::to_string(queries) + " queries");
    AttentionInputs in = attention_inputs(queries, keys, GetParam());
    const AttentionResults forward = attention_in_fp64(in);
    const DeviceTensor q = upload(in.q), k = upload(in.k), v = upload(in.v), o = upload(forward.o);
    const DeviceTensor dout = upload(in.dout), lse = upload(forward.lse);
    const auto dq = DeviceTensor::poisoned(device, DType::f64, in.q.size()).value();
    const auto dk = DeviceTensor::poisoned(device, DType::f64, in.k.size()).value();
    const auto dv = DeviceTensor::poisoned(device, DType::f64, in.k.size()).value();
    constexpr long long kDim = kGradientDim, kQueryRow = kGradientHeads * kDim;
    constexpr long long kKeyRow = kGradientKvHeads * kDim;
    const AttentionBackwardReferenceProblem problem{.batch = kGradientBatch,
                                                    .seq_q = queries,
                                                    .seq_k = keys,
                                                    .heads = kGradientHeads,
                                                    .kv_heads = kGradientKvHeads,
                                                    .head_dim = kDim,
                                                    .q_sb = queries * kQueryRow,
                                                    .q_ss = kQueryRow,
                                                    .q_sh = kDim,
                                                    .k_sb = keys * kKeyRow,
                                                    .k_ss = kKeyRow,
                                                    .k_sh = kDim,
                                                    .v_sb = keys * kKeyRow,
                                                    .v_ss = kKeyRow,
                                                    .v_sh = kDim,
                                                    .o_sb = queries * kQueryRow,
                                                    .o_ss = kQueryRow,
                                                    .o_sh = kDim,
                                                    .dout_sb = queries * kQueryRow,
                                                    .dout_ss = kQueryRow,
                                                    .dout_sh = kDim,
                                                    .scale = static_cast<float>(kGradientScale),
                                                    .causal = GetParam()};
    const Status ran =
        module->launch(kernel, 4, 128, q.data(), k.data(), v.data(), o.data(), dout.data(),
                       lse.data(), dq.data(), dk.data(), dv.data(), problem);
    ASSERT_TRUE(ran.ok()) << ran.message();
    EXPECT_LE(relative_l2(dq.download().value(), slopes_of(in, in.q)), 2e-6);
    EXPECT_LE(relative_l2(dk.download().value(), slopes_of(in, in.k)), 2e-6);
    EXPECT_LE(relative_l2(dv.download().value(), slopes_of(in, in.v)), 2e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(FullAndCausal, AttentionBackwardReference, testing::Bool(),
                         [](const auto& each) { return each.param ? "causal" : "full"; });

}  // namespace
}  // namespace mgtune
