// rmsnorm.forward on the cpu device: ladder variants and a seeded sample of the space over edge
// shapes equal the fp64 reference within the operator's tolerance, in any order of a block's
// threads; and the ladder serves every size, dtype, stride and alignment.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "family/operator.h"
#include "family/problem.h"
#include "family/variant.h"
#include "tests/helpers/cpu_module.h"
#include "tests/helpers/long_lane.h"

namespace mgtune {
namespace {

constexpr DType kDTypes[] = {DType::f32, DType::f16, DType::bf16};
constexpr float kEps = 0.0625f;  // large enough for a kernel that forgot it to fail
constexpr DeviceLimits kOldestGpu{
    .compute_capability = 75, .sm_count = 40, .max_shared_bytes = 65536, .l2_bytes = 4 << 20};

struct Shape {
  std::int64_t rows, hidden, x_stride;
};

// One element, fewer columns than threads, a warp less and more one, whole vectors, several steps.
constexpr Shape kShapes[] = {{17, 1, 1},      {5, 2, 2},       {2, 7, 9},       {5, 31, 31},
                             {5, 33, 40},     {17, 127, 127},  {1, 256, 256},   {17, 64, 72},
                             {2, 1000, 1000}, {5, 1000, 1003}, {1, 4097, 4097}, {1, 20001, 20001}};

const Operator& forward() {
  static const Operator op = [] {
    auto tree = read_source_tree(FileSystem::real(), MGTUNE_SOURCE_DIR "/kernels/rmsnorm");
    EXPECT_TRUE(tree.ok()) << tree.status().message();
    auto decoded =
        decode_operator("rmsnorm", "forward", std::make_shared<const SourceTree>(*std::move(tree)));
    EXPECT_TRUE(decoded.ok()) << decoded.status().message();
    return *std::move(decoded);
  }();
  return op;
}

Binding bind(std::int64_t hidden, DType dtype, bool with_rstd) {
  auto binding = bind_static(forward(), {{"hidden", std::to_string(hidden)},
                                         {"T", std::string(to_string(dtype))},
                                         {"rstd", with_rstd ? "true" : "false"}});
  EXPECT_TRUE(binding.ok()) << binding.status().message();
  return *std::move(binding);
}

// A variant with all that a launch of it needs to know, when it can serve the shape.
struct Candidate {
  Variant variant;
  Slots slots;
};

std::optional<Candidate> candidate(const Binding& binding, const Variant& variant,
                                   const Shape& shape) {
  auto slots = compile_slots(binding, variant, kOldestGpu);
  if (!slots.ok() || !is_admissible(forward(), variant, *slots)) return std::nullopt;
  for (const Dim& dim : forward().dims) {
    if (dim.name == "rows") (*slots)[std::size_t(dim.slot)] = shape.rows;
    if (dim.name == "x_stride") (*slots)[std::size_t(dim.slot)] = shape.x_stride;
  }
  if (!serves(forward(), variant, *slots)) return std::nullopt;
  return Candidate{variant, *std::move(slots)};
}

std::vector<Variant> whole_space() {
  std::vector<Variant> space{Variant{}};
  for (const Parameter& parameter : forward().designs[0].params) {
    std::vector<Variant> longer;
    for (const Variant& variant : space) {
      for (const std::int64_t value : parameter.values) {
        longer.push_back(variant);
        longer.back().values.push_back(value);
      }
    }
    space = std::move(longer);
  }
  return space;
}

std::int64_t parameter_value(const Variant& variant, const std::string& name) {
  const auto& params = forward().designs[0].params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].name == name) return variant.values[i];
  }
  ADD_FAILURE() << "no parameter " << name;
  return 0;
}

// The ladder's variants that serve the shape, then `samples` others.
std::vector<Candidate> choose(const Binding& binding, const Shape& shape, std::size_t samples) {
  std::vector<Candidate> chosen;
  std::vector<Variant> taken;
  const auto take = [&](const Variant& variant) {
    if (std::ranges::find(taken, variant) != taken.end()) return false;
    auto found = candidate(binding, variant, shape);
    if (!found) return false;
    taken.push_back(variant);
    chosen.push_back(*std::move(found));
    return true;
  };
  for (const Variant& variant : default_ladder(forward())) take(variant);
  std::vector<Variant> space = whole_space();
  std::mt19937 random(static_cast<std::uint32_t>(shape.hidden));
  std::ranges::shuffle(space, random);
  for (const Variant& variant : space) {
    if (samples == 0) break;
    if (take(variant)) --samples;
  }
  return chosen;
}

std::string kernel_of(const Candidate& candidate) {
  auto names = kernel_names(forward(), candidate.variant, candidate.slots);
  EXPECT_TRUE(names.ok()) << names.status().message();
  return names->at(0);
}

std::uint32_t evaluated(const Expression& expression, const Slots& slots) {
  auto value = expression.evaluate(slots);
  EXPECT_TRUE(value.ok()) << value.status().message();
  return static_cast<std::uint32_t>(*value);
}

std::vector<double> normal_values(std::int64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = normal(random);
  return values;
}

double relative_l2(const std::vector<double>& actual, const std::vector<double>& expected) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    error += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(error / norm);  // NaN when an element is
}

// The tensors of one problem in the device's memory, and the reference's outputs.
struct Bench {
  Shape shape;
  DType dtype;
  DeviceTensor x, weight, y, rstd;
  std::vector<double> expected_y, expected_rstd;

  static Result<Bench> make(const CpuModule& reference, const Shape& shape, DType dtype) {
    Device& device = reference.device();
    const auto count = static_cast<std::size_t>(shape.rows * shape.hidden);
    const auto rows = static_cast<std::size_t>(shape.rows);
    const std::int64_t in_memory = (shape.rows - 1) * shape.x_stride + shape.hidden;
    MGTUNE_ASSIGN(DeviceTensor x, DeviceTensor::upload(device, dtype, normal_values(in_memory, 1)));
    MGTUNE_ASSIGN(DeviceTensor weight,
                  DeviceTensor::upload(device, dtype, normal_values(shape.hidden, 2)));
    MGTUNE_ASSIGN(DeviceTensor y, DeviceTensor::poisoned(device, dtype, count));
    MGTUNE_ASSIGN(DeviceTensor rstd, DeviceTensor::poisoned(device, DType::f32, rows));
    MGTUNE_ASSIGN(const DeviceTensor exact_y, DeviceTensor::poisoned(device, DType::f64, count));
    MGTUNE_ASSIGN(const DeviceTensor exact_rstd, DeviceTensor::poisoned(device, DType::f64, rows));
    const std::string kernel = "rmsnorm_forward_reference<" + std::string(cuda_name(dtype)) + ">";
    MGTUNE_TRY(reference.launch(kernel, 64, 128, x.data(), weight.data(), exact_y.data(),
                                exact_rstd.data(), kEps, shape.rows, shape.hidden, shape.x_stride));
    MGTUNE_ASSIGN(std::vector<double> expected_y, exact_y.download());
    MGTUNE_ASSIGN(std::vector<double> expected_rstd, exact_rstd.download());
    return Bench{shape,        dtype,           std::move(x),          std::move(weight),
                 std::move(y), std::move(rstd), std::move(expected_y), std::move(expected_rstd)};
  }

  Status run(const CpuModule& module, const Candidate& candidate, bool with_rstd,
             ThreadOrder order) {
    const Launch& launch = forward().designs[0].launches[0];
    MGTUNE_TRY(y.poison());
    MGTUNE_TRY(rstd.poison());
    MGTUNE_TRY(module.device().set_thread_order(order));
    return module.launch(kernel_of(candidate), evaluated(launch.grid[0], candidate.slots),
                         evaluated(launch.block[0], candidate.slots), x.data(), weight.data(),
                         y.data(), with_rstd ? rstd.data() : nullptr, shape.rows, shape.x_stride,
                         kEps);
  }
};

void expect_right_in_every_order(const CpuModule& module, Bench& bench, const Candidate& candidate,
                                 bool with_rstd) {
  const std::map<DType, double>& tolerance = forward().check.tolerance;
  const ThreadOrder orders[] = {{ThreadOrder::Kind::forward, 0},
                                {ThreadOrder::Kind::reversed, 0},
                                {ThreadOrder::Kind::shuffled, 1},
                                {ThreadOrder::Kind::shuffled, 2}};
  std::vector<unsigned char> first_bits;
  for (const ThreadOrder& order : orders) {
    const Status status = bench.run(module, candidate, with_rstd, order);
    ASSERT_TRUE(status.ok()) << status.message();
    const auto bits = bench.y.download_bytes();
    ASSERT_TRUE(bits.ok()) << bits.status().message();
    if (first_bits.empty()) first_bits = *bits;
    EXPECT_TRUE(*bits == first_bits) << "the result depends on the order of threads";
  }
  const auto y = bench.y.download();
  const auto rstd = bench.rstd.download();
  ASSERT_TRUE(y.ok() && rstd.ok());
  EXPECT_LE(relative_l2(*y, bench.expected_y), tolerance.at(bench.dtype));
  if (with_rstd) {
    EXPECT_LE(relative_l2(*rstd, bench.expected_rstd), tolerance.at(DType::f32));
  } else {
    EXPECT_THAT(*rstd, testing::Each(testing::IsNan()));
  }
}

class RmsnormForward : public testing::TestWithParam<DType> {};

TEST_P(RmsnormForward, EqualsTheReferenceInEveryThreadOrder) {
  struct Case {
    Shape shape;
    bool with_rstd;
    std::vector<Candidate> candidates;
  };
  std::vector<Case> cases;
  std::set<std::string> kernels;
  bool with_rstd = false;
  for (const Shape& shape : kShapes) {
    with_rstd = !with_rstd;
    cases.push_back({shape, with_rstd,
                     choose(bind(shape.hidden, GetParam(), with_rstd), shape,
                            in_long_lane<std::size_t>(12, 4))});
    ASSERT_FALSE(cases.back().candidates.empty()) << shape.hidden;
    for (const Candidate& each : cases.back().candidates) kernels.insert(kernel_of(each));
  }
  const auto reference =
      CpuModule::build("kernels/rmsnorm", "reference.cu",
                       {"rmsnorm_forward_reference<" + std::string(cuda_name(GetParam())) + ">"});
  ASSERT_TRUE(reference.ok()) << reference.status().message();
  const auto module =
      CpuModule::build("kernels/rmsnorm", "forward.cu", {kernels.begin(), kernels.end()});
  ASSERT_TRUE(module.ok()) << module.status().message();

  for (const Case& each : cases) {
    auto bench = Bench::make(*reference, each.shape, GetParam());
    ASSERT_TRUE(bench.ok()) << bench.status().message();
    for (const Candidate& chosen : each.candidates) {
      SCOPED_TRACE(std::to_string(each.shape.rows) + " rows, stride " +
                   std::to_string(each.shape.x_stride) + ": " + kernel_of(chosen));
      expect_right_in_every_order(*module, *bench, chosen, each.with_rstd);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EachDType, RmsnormForward, testing::ValuesIn(kDTypes),
                         [](const auto& each) { return std::string(to_string(each.param)); });

TEST(RmsnormForwardLadder, ServesEverySizeDTypeStrideAndAlignment) {
  std::vector<std::int64_t> sizes{65535, 65536, 50001, 16384, 16385, 32768, 32769, 32770, 49152};
  for (std::int64_t hidden = 1; hidden <= 600; ++hidden) sizes.push_back(hidden);
  for (std::int64_t hidden = 1009; hidden <= 65536; hidden += 509) sizes.push_back(hidden);
  const std::vector<Variant> ladder = default_ladder(forward());
  for (const DType dtype : kDTypes) {
    for (const std::int64_t hidden : sizes) {
      const Binding binding = bind(hidden, dtype, false);
      for (const std::int64_t x_stride : {hidden, hidden + 1}) {
        // Pointers aligned to one element leave only VEC = 1; it must be among those that serve.
        const bool served = std::ranges::any_of(ladder, [&](const Variant& variant) {
          return parameter_value(variant, "VEC") == 1 &&
                 candidate(binding, variant, {1, hidden, x_stride}).has_value();
        });
        EXPECT_TRUE(served) << to_string(dtype) << " hidden=" << hidden << " stride=" << x_stride;
      }
    }
  }
}

TEST(RmsnormForwardLadder, PrefersTheWidestLoadsAndTheFewestThreadsThatHoldARow) {
  const auto first = [](std::int64_t hidden, std::int64_t x_stride, DType dtype) -> std::string {
    for (const Variant& variant : default_ladder(forward())) {
      if (candidate(bind(hidden, dtype, false), variant, {1, hidden, x_stride})) {
        return variant_text(forward(), variant);
      }
    }
    return "none";
  };
  const auto text = [](int threads, int rows, int vec, const std::string& keep) {
    return "row THREADS_PER_ROW=" + std::to_string(threads) +
           " ROWS_PER_BLOCK=" + std::to_string(rows) + " VEC=" + std::to_string(vec) +
           " KEEP=" + keep;
  };
  EXPECT_EQ(first(4096, 4096, DType::bf16), text(64, 2, 8, "registers"));
  EXPECT_EQ(first(4096, 4100, DType::bf16), text(64, 2, 4, "registers"));
  EXPECT_EQ(first(4096, 4097, DType::bf16), text(256, 1, 1, "registers"));
  EXPECT_EQ(first(4096, 4096, DType::f32), text(64, 2, 4, "registers"));
  EXPECT_EQ(first(128, 128, DType::f16), text(16, 8, 8, "registers"));
  EXPECT_EQ(first(65536, 65536, DType::f16), text(1024, 1, 8, "registers"));
  EXPECT_EQ(first(65536, 65536, DType::f32), text(1024, 1, 4, "reread"));
  EXPECT_EQ(first(65535, 65535, DType::f32), text(1024, 1, 1, "reread"));
  EXPECT_EQ(first(1, 1, DType::bf16), text(8, 16, 1, "registers"));
}

TEST(RmsnormForwardSpace, HasAsManyVariantsAsItsConstraintsAllow) {
  const auto size = [](std::int64_t hidden, DType dtype) {
    const Binding binding = bind(hidden, dtype, false);
    return std::ranges::count_if(whole_space(), [&](const Variant& variant) {
      return candidate(binding, variant, {16, hidden, hidden}).has_value();
    });
  };
  EXPECT_EQ(whole_space().size(), 320u);
  EXPECT_EQ(size(256, DType::f32), 83);
  EXPECT_EQ(size(256, DType::bf16), 102);
  EXPECT_EQ(size(333, DType::bf16), 33);
  EXPECT_EQ(size(4096, DType::f32), 114);
  EXPECT_EQ(size(4096, DType::bf16), 154);
  EXPECT_EQ(size(65536, DType::f32), 30);
}

TEST(RmsnormForwardLaunch, OfNoRowsHasAnEmptyGrid) {
  const auto found =
      candidate(bind(256, DType::bf16, false), default_ladder(forward())[0], {0, 256, 256});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(evaluated(forward().designs[0].launches[0].grid[0], found->slots), 0u);
}

}  // namespace
}  // namespace mgtune
