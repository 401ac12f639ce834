// AttentionHead: one head of causal attention whose elements a test gives as functions of row and
// column; what the formula makes of it, and how near to that a kernel comes. Header-only.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "tests/helpers/kernels/cpu_module.h"

namespace mgtune {

struct AttentionHead {
  static constexpr int kDim = 64;
  using Element = std::function<double(int, int)>;

  int queries, keys;
  Element q, k, v;
  float scale;
};

struct AttentionOutput {
  std::vector<double> o, lse;
};

inline double wave(int row, int column) {
  return std::sin(0.37 * row + 1.3 * column + row * column);
}

// `rows` of a matrix of the head, then as many of NaN as a tile may reach.
inline std::vector<double> attention_rows(int rows, const AttentionHead::Element& element) {
  std::vector<double> values;
  for (int i = 0; i < rows * AttentionHead::kDim; ++i) {
    values.push_back(element(i / AttentionHead::kDim, i % AttentionHead::kDim));
  }
  values.resize(values.size() + 64 * AttentionHead::kDim, NAN);
  return values;
}

// In fp64, of the inputs rounded to `dtype`. Query i sees key j where j <= i + keys - queries.
inline AttentionOutput exact_attention(const AttentionHead& head, DType dtype) {
  const auto rounded = [&](double value) {
    unsigned char bits[2];
    put_element(bits, 0, dtype, value);
    return element_as_double(bits, 0, dtype);
  };
  AttentionOutput out;
  for (int i = 0; i < head.queries; ++i) {
    std::vector<double> logits;
    for (int j = 0; j < head.keys && j <= i + head.keys - head.queries; ++j) {
      double dot = 0;
      for (int d = 0; d < AttentionHead::kDim; ++d) {
        dot += rounded(head.q(i, d)) * rounded(head.k(j, d));
      }
      logits.push_back(dot * static_cast<double>(head.scale));
    }
    const double largest =
        logits.empty() ? -INFINITY : *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit - largest);
    for (int d = 0; d < AttentionHead::kDim; ++d) {
      double o = 0;
      for (std::size_t j = 0; j < logits.size(); ++j) {
        o += std::exp(logits[j] - largest) / sum * rounded(head.v(static_cast<int>(j), d));
      }
      out.o.push_back(o);
    }
    out.lse.push_back(logits.empty() ? -INFINITY : largest + std::log(sum));
  }
  return out;
}

// Errors of o up to `factor` roundings to `dtype`, of lse up to 1e-6 of what it is made of.
inline void expect_close_to(const AttentionOutput& out, const AttentionOutput& expected,
                            DType dtype, double factor) {
  const double rounding = dtype == DType::f16 ? 0x1p-11 : 0x1p-8;
  ASSERT_EQ(out.o.size(), expected.o.size());
  ASSERT_EQ(out.lse.size(), expected.lse.size());
  for (std::size_t i = 0; i < out.o.size(); ++i) {
    ASSERT_NEAR(out.o[i], expected.o[i], factor * rounding) << i;
  }
  for (std::size_t i = 0; i < out.lse.size(); ++i) {
    if (std::isinf(expected.lse[i])) {
      ASSERT_EQ(out.lse[i], expected.lse[i]) << i;
    } else {
      ASSERT_NEAR(out.lse[i], expected.lse[i], 1e-6 * (2 + std::abs(expected.lse[i]))) << i;
    }
  }
}

// Tests of one operator in every dtype and by every way of computing it. `Suite` has kWays and
// run(head, way); its SetUpTestSuite() makes module_.
template <typename Suite>
class AttentionHeadTest : public testing::TestWithParam<const char*> {
 protected:
  static void TearDownTestSuite() { delete std::exchange(module_, nullptr); }

  static DType dtype() { return std::string(GetParam()) == "__half" ? DType::f16 : DType::bf16; }

  static void expect_close(const AttentionHead& head, double factor) {
    const AttentionOutput expected = exact_attention(head, dtype());
    for (const auto& way : Suite::kWays) {
      SCOPED_TRACE(way);
      expect_close_to(Suite::run(head, way), expected, dtype(), factor);
    }
  }

  static void expect_the_same_bits_again(const AttentionHead& head) {
    for (const auto& way : Suite::kWays) {
      const AttentionOutput once = Suite::run(head, way);
      for (const auto kind : {ThreadOrder::Kind::reversed, ThreadOrder::Kind::shuffled}) {
        ASSERT_TRUE(module_->device().set_thread_order({kind, 3}).ok());
        const AttentionOutput again = Suite::run(head, way);
        EXPECT_EQ(again.o, once.o);
        EXPECT_EQ(again.lse, once.lse);
      }
      ASSERT_TRUE(module_->device().set_thread_order({}).ok());
    }
  }

  static inline CpuModule* module_ = nullptr;
};

inline std::string attention_type_name(const testing::TestParamInfo<const char*>& each) {
  return std::string(each.param) == "__half" ? "f16" : "bf16";
}

}  // namespace mgtune
