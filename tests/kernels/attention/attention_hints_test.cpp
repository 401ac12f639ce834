// The hints of attention.varlen (max_q, max_k) on the cpu device: hints that are too small, exact
// and too large give the same bits, and these are right. The launch is that of the operator file.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compiler.h"
#include "device/registry.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "family/variant.h"
#include "launch/loaded_variant.h"
#include "space/space.h"
#include "system/file_system.h"
#include "tests/helpers/kernels/attention_problems.h"
#include "tests/helpers/kernels/cpu_module.h"

namespace mgtune {
namespace {

constexpr int kHintHeads = 2, kHintHeadDim = 64;
constexpr float kScale = 0.25F;
// No query, no key, one query, and a sequence that is longer than the small hints.
const std::vector<int> kQStarts = {0, 0, 5, 6, 301};
const std::vector<int> kKStarts = {0, 5, 5, 6, 276};

struct Hints {
  int max_q, max_k;
};
constexpr Hints kExact{295, 270}, kTooLarge{1000, 900}, kTooSmall{76, 69};

struct VarlenOutput {
  std::vector<double> o, lse;
  bool operator==(const VarlenOutput&) const = default;
};

double wave(int i, int phase) { return std::sin(i * 0.7 + phase); }

std::vector<double> waves(int rows, int heads, int phase) {
  std::vector<double> all;
  for (int i = 0; i < rows * heads * kHintHeadDim; ++i) all.push_back(wave(i, phase));
  return all;
}

class AttentionVarlenHints : public testing::Test {
 protected:
  Problem problem(const Hints& hints) const {
    const auto words = parse_assignments(
        "sequences=4,tokens_q=301,tokens_k=276,heads=2,kv_heads=1,head_dim=64,causal=true,"
        "lse=true,T=f16,max_q=" +
        std::to_string(hints.max_q) + ",max_k=" + std::to_string(hints.max_k));
    return bind_problem(op_, words.value()).value();
  }

  // The whole ladder, and variants that are built differently.
  std::vector<Variant> variants() const {
    const Space space(problem(kExact), device_->info().limits);
    std::vector<Variant> chosen;
    for (const Variant& rung : space.ladder()) {
      if (space.admits(rung)) chosen.push_back(rung);
    }
    for (const MmaSync& other :
         {MmaSync{64, 32, 4, 2, false, false, "alu", "seldom", 2, 16},
          MmaSync{128, 32, 4, 2, true, true, "mma", "seldom", 2, 16}, MmaSync{192, 32, 4, 1},
          MmaSync{256, 32, 8, 3, true, false, "alu", "seldom", 1}}) {
      chosen.push_back(parse_variant(op_, other.text()).value());
      EXPECT_TRUE(space.admits(chosen.back())) << other.text();
    }
    return chosen;
  }

  Build build(const std::vector<Variant>& variants) const {
    std::set<std::string> names;
    for (const Variant& variant : variants) {
      const Slots slots =
          compile_slots(problem(kExact).binding(), variant, device_->info().limits).value();
      const auto kernels = kernel_names(op_, variant, slots).value();
      names.insert(kernels.begin(), kernels.end());
    }
    const auto compiler = make_compiler("cpu").value();
    return compiler->compile({op_.sources.get(), "prefill.cu", {names.begin(), names.end()}, "cpu"})
        .value();
  }

  VarlenOutput run(const LoadedVariant& variant, const Hints& hints) const {
    const auto upload = [&](DType dtype, const std::vector<double>& values) {
      return DeviceTensor::upload(*device_, dtype, values).value();
    };
    const auto starts = [&](const std::vector<int>& of) {
      return upload(DType::i32, {of.begin(), of.end()});
    };
    const std::size_t rows = std::size_t{kHintHeads} * 301;
    const auto q = upload(DType::f16, waves(301, kHintHeads, 1));
    const auto k = upload(DType::f16, waves(276, 1, 2)), v = upload(DType::f16, waves(276, 1, 3));
    const auto q_starts = starts(kQStarts), k_starts = starts(kKStarts);
    const auto o = DeviceTensor::poisoned(*device_, DType::f16, rows * kHintHeadDim).value();
    const auto lse = DeviceTensor::poisoned(*device_, DType::f32, rows).value();

    const Problem bound = problem(hints);
    std::vector<std::int64_t> dims;
    for (const Dim& dim : op_.dims) {
      if (dim.kind != DimKind::fixed) dims.push_back(bound.dim(dim.name));
    }
    std::vector<void*> tensors = {q.data(),        k.data(), v.data(),  q_starts.data(),
                                  k_starts.data(), o.data(), lse.data()};
    std::vector<ScalarValue> scalars(op_.scalars.size());
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      encode_scalar(op_.scalars[i].name == "scale" ? kScale : 1.0, op_.scalars[i].dtype,
                    scalars[i]);
    }
    const Status status = variant.launch({dims, tensors, scalars, nullptr, nullptr});
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(device_->synchronize(nullptr).ok());
    return {o.download().value(), lse.download().value()};
  }

  Catalog catalog_{FileSystem::real()};
  const Operator& op_ = *catalog_.find_operator("attention.varlen").value();
  std::unique_ptr<Device> device_ = open_device("cpu").value();
};

// The formula, for one row of the longest sequence.
double expected(int row, int head, int column) {
  const int queries = 295, keys = 270, first_q = 6, first_k = 6;
  double sum = 0, out = 0;
  for (int key = 0; key < keys && key <= row + keys - queries; ++key) {
    double logit = 0;
    for (int d = 0; d < kHintHeadDim; ++d) {
      logit += wave(((first_q + row) * kHintHeads + head) * kHintHeadDim + d, 1) *
               wave((first_k + key) * kHintHeadDim + d, 2);
    }
    const double weight = std::exp(kScale * logit);
    sum += weight;
    out += weight * wave((first_k + key) * kHintHeadDim + column, 3);
  }
  return sum == 0 ? 0 : out / sum;
}

TEST_F(AttentionVarlenHints, NeverChangeTheResult) {
  const std::vector<Variant> all = variants();
  const Build built = build(all);
  for (const Variant& variant : all) {
    SCOPED_TRACE(variant_text(op_, variant));
    const auto loaded = LoadedVariant::load(*device_, problem(kExact).binding(), variant, built);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const VarlenOutput exact = run(**loaded, kExact);
    for (const int row : {0, 24, 25, 63, 64, 127, 128, 200, 255, 256, 294}) {
      const auto at = static_cast<std::size_t>(((6 + row) * kHintHeads + 1) * kHintHeadDim + 3);
      EXPECT_NEAR(exact.o[at], expected(row, 1, 3), 4e-3) << row;
    }
    EXPECT_TRUE(std::ranges::none_of(exact.o, [](double o) { return std::isnan(o); }));
    EXPECT_TRUE(run(**loaded, kTooLarge) == exact);
    EXPECT_TRUE(run(**loaded, kTooSmall) == exact);
  }
}

}  // namespace
}  // namespace mgtune
