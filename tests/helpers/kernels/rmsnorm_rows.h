// What the tests of rmsnorm.forward and rmsnorm.add_forward share: variants chosen for a shape, the
// tensors of a problem on the cpu device with their fp64 reference, and launches by hand.
// Header-only, for one thread.

#pragma once

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
#include <utility>
#include <vector>

#include "family/operator.h"
#include "family/problem.h"
#include "family/variant.h"
#include "space/space.h"
#include "tests/helpers/all_variants.h"
#include "tests/helpers/gpu_limits.h"
#include "tests/helpers/kernels/cpu_module.h"
#include "tests/helpers/kernels/reference_problems.h"
#include "tests/helpers/kernels/relative_l2.h"
#include "tests/helpers/long_lane.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {

inline constexpr float kRmsnormEps = 0.0625f;  // large enough for a kernel that forgot it to fail
inline constexpr float kRmsnormOffset = 0.5f;  // likewise

struct RmsnormTypes {
  DType data, weight;
};
inline constexpr RmsnormTypes kRmsnormBf16{DType::bf16, DType::bf16};

inline std::string text_of(const RmsnormTypes& types) {
  return std::string(to_string(types.data)) + "_" + std::string(to_string(types.weight));
}

struct RmsnormShape {
  std::int64_t rows, hidden, x_stride;
};

inline Operator rmsnorm_operator(const std::string& name) {
  auto tree = read_source_tree(FileSystem::real(), source_path("kernels/rmsnorm"));
  EXPECT_TRUE(tree.ok()) << tree.status().message();
  auto decoded =
      decode_operator("rmsnorm", name, std::make_shared<const SourceTree>(*std::move(tree)));
  EXPECT_TRUE(decoded.ok()) << decoded.status().message();
  return *std::move(decoded);
}

inline Problem rmsnorm_problem(const Operator& op, const RmsnormShape& shape,
                               const RmsnormTypes& types, bool with_rstd) {
  auto problem = bind_problem(op, {{"rows", std::to_string(shape.rows)},
                                   {"hidden", std::to_string(shape.hidden)},
                                   {"x_stride", std::to_string(shape.x_stride)},
                                   {"T", std::string(to_string(types.data))},
                                   {"W", std::string(to_string(types.weight))},
                                   {"rstd", with_rstd ? "true" : "false"}});
  EXPECT_TRUE(problem.ok()) << problem.status().message();
  return *std::move(problem);
}

// A variant with all that a launch of it needs to know.
struct RmsnormVariant {
  std::string kernel;
  std::uint32_t grid, block, shared_bytes;
  std::string source;
  bool takes_rows;  // its kernels are told how many there are
};

inline RmsnormVariant launchable(const Problem& problem, const Variant& variant,
                                 const DeviceLimits& limits = kT4) {
  const Operator& op = *problem.op;
  Slots slots = compile_slots(problem.binding(), variant, limits).value();
  for (const Dim& dim : op.dims) {
    if (dim.kind != DimKind::fixed) slots[std::size_t(dim.slot)] = problem.dim(dim.name);
  }
  slots[kSlotBuildBlocksPerSm] = 1;
  const Design& design = op.designs[std::size_t(variant.design)];
  const Launch& launch = design.launches[0];
  return {kernel_names(op, variant, slots).value().at(0),
          static_cast<std::uint32_t>(launch.grid[0].evaluate(slots).value()),
          static_cast<std::uint32_t>(launch.block[0].evaluate(slots).value()),
          static_cast<std::uint32_t>(launch.shared.evaluate(slots).value()),
          design.source,
          design.name != "bulk"};
}

// Of the ladder's variants that serve the problem the first, the second and the last (in the long
// lane all), then `samples` others.
inline std::vector<RmsnormVariant> chosen_variants(const Problem& problem, std::size_t samples) {
  const Space space(problem, kT4);
  std::vector<Variant> chosen;
  for (const Variant& variant : space.ladder()) {
    if (space.admits(variant)) chosen.push_back(variant);
  }
  if (chosen.size() > in_long_lane<std::size_t>(99, 3)) {
    chosen.erase(chosen.begin() + 2, chosen.end() - 1);
  }
  std::vector<Variant> all = all_variants(space);
  std::mt19937 random(static_cast<std::uint32_t>(problem.dim("hidden")));
  std::ranges::shuffle(all, random);
  for (const Variant& variant : all) {
    if (samples == 0) break;
    if (std::ranges::find(chosen, variant) != chosen.end()) continue;
    chosen.push_back(variant);
    --samples;
  }
  std::vector<RmsnormVariant> result;
  result.reserve(chosen.size());
  for (const Variant& variant : chosen) result.push_back(launchable(problem, variant));
  return result;
}

inline std::vector<double> normal_values(std::int64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = normal(random);
  return values;
}

// The tensors of one problem in the device's memory, and the reference's outputs.
struct RmsnormRows {
  bool add;
  RmsnormShape shape;
  RmsnormTypes types;
  DeviceTensor x, residual, weight, y, residual_out, rstd;
  std::vector<double> expected_y, expected_sum, expected_rstd;

  static std::string reference_kernel(bool add, const RmsnormTypes& types) {
    return std::string(add ? "rmsnorm_add_forward" : "rmsnorm_forward") + "_reference<" +
           std::string(cuda_name(types.data)) + ", " + std::string(cuda_name(types.weight)) +
           ", Problem>";
  }
  static Result<CpuModule> build_reference(bool add, const RmsnormTypes& types) {
    return CpuModule::build_reference("kernels/rmsnorm", kRmsnormReferenceProblemText,
                                      {reference_kernel(add, types)});
  }

  // `x_values`: of a contiguous x, else random ones.
  static Result<RmsnormRows> make(const CpuModule& reference, bool add, const RmsnormShape& shape,
                                  const RmsnormTypes& types, std::vector<double> x_values = {}) {
    Device& device = reference.device();
    const auto count = static_cast<std::size_t>(shape.rows * shape.hidden);
    const auto rows = static_cast<std::size_t>(shape.rows);
    if (x_values.empty()) {
      x_values = normal_values((shape.rows - 1) * shape.x_stride + shape.hidden, 1);
    }
    MGTUNE_ASSIGN(DeviceTensor x, DeviceTensor::upload(device, types.data, x_values));
    MGTUNE_ASSIGN(DeviceTensor residual,
                  DeviceTensor::upload(device, types.data,
                                       normal_values(static_cast<std::int64_t>(count), 3)));
    MGTUNE_ASSIGN(DeviceTensor weight,
                  DeviceTensor::upload(device, types.weight, normal_values(shape.hidden, 2)));
    MGTUNE_ASSIGN(DeviceTensor y, DeviceTensor::poisoned(device, types.data, count));
    MGTUNE_ASSIGN(DeviceTensor residual_out, DeviceTensor::poisoned(device, types.data, count));
    MGTUNE_ASSIGN(DeviceTensor rstd, DeviceTensor::poisoned(device, DType::f32, rows));
    MGTUNE_ASSIGN(const DeviceTensor exact_y, DeviceTensor::poisoned(device, DType::f64, count));
    MGTUNE_ASSIGN(const DeviceTensor exact_sum, DeviceTensor::poisoned(device, DType::f64, count));
    MGTUNE_ASSIGN(const DeviceTensor exact_rstd, DeviceTensor::poisoned(device, DType::f64, rows));
    const std::string kernel = reference_kernel(add, types);
    const RmsnormReferenceProblem problem{.rows = shape.rows,
                                          .hidden = shape.hidden,
                                          .x_stride = shape.x_stride,
                                          .eps = kRmsnormEps,
                                          .weight_offset = kRmsnormOffset};
    if (add) {
      MGTUNE_TRY(reference.launch(kernel, 64, 128, x.data(), residual.data(), weight.data(),
                                  exact_y.data(), exact_sum.data(), exact_rstd.data(), problem));
    } else {
      MGTUNE_TRY(reference.launch(kernel, 64, 128, x.data(), weight.data(), exact_y.data(),
                                  exact_rstd.data(), problem));
    }
    MGTUNE_ASSIGN(std::vector<double> expected_y, exact_y.download());
    MGTUNE_ASSIGN(std::vector<double> expected_sum, exact_sum.download());
    MGTUNE_ASSIGN(std::vector<double> expected_rstd, exact_rstd.download());
    return RmsnormRows{add,
                       shape,
                       types,
                       std::move(x),
                       std::move(residual),
                       std::move(weight),
                       std::move(y),
                       std::move(residual_out),
                       std::move(rstd),
                       std::move(expected_y),
                       std::move(expected_sum),
                       std::move(expected_rstd)};
  }

  // residual_out is residual itself where `in_place`.
  Status run(const CpuModule& module, const RmsnormVariant& variant, bool with_rstd,
             ThreadOrder order, bool in_place = false) {
    MGTUNE_TRY(y.poison());
    MGTUNE_TRY(residual_out.poison());
    MGTUNE_TRY(rstd.poison());
    MGTUNE_TRY(module.device().set_thread_order(order));
    void* const scales = with_rstd ? rstd.data() : nullptr;
    void* const sum = in_place ? residual.data() : residual_out.data();
    // All blocks may prefetch. Design stream has no such parameter and ignores the argument.
    const std::uint32_t pdl_blocks = variant.grid;
    if (!variant.takes_rows && add) {
      return module.launch_with_shared(variant.kernel, variant.grid, variant.block,
                                       variant.shared_bytes, x.data(), residual.data(),
                                       weight.data(), y.data(), sum, scales, shape.x_stride,
                                       kRmsnormEps, kRmsnormOffset, pdl_blocks);
    }
    if (!variant.takes_rows) {
      return module.launch_with_shared(
          variant.kernel, variant.grid, variant.block, variant.shared_bytes, x.data(),
          weight.data(), y.data(), scales, shape.x_stride, kRmsnormEps, kRmsnormOffset, pdl_blocks);
    }
    if (add) {
      return module.launch_with_shared(variant.kernel, variant.grid, variant.block,
                                       variant.shared_bytes, x.data(), residual.data(),
                                       weight.data(), y.data(), sum, scales, shape.rows,
                                       shape.x_stride, kRmsnormEps, kRmsnormOffset, pdl_blocks);
    }
    return module.launch_with_shared(
        variant.kernel, variant.grid, variant.block, variant.shared_bytes, x.data(), weight.data(),
        y.data(), scales, shape.rows, shape.x_stride, kRmsnormEps, kRmsnormOffset, pdl_blocks);
  }
};

inline void expect_right_in_every_order(const Operator& op, const CpuModule& module,
                                        RmsnormRows& rows, const RmsnormVariant& variant,
                                        bool with_rstd) {
  const std::map<DType, double>& tolerance = op.check.tolerance;
  const ThreadOrder orders[] = {{ThreadOrder::Kind::forward, 0},
                                {ThreadOrder::Kind::reversed, 0},
                                {ThreadOrder::Kind::shuffled, 1}};
  std::vector<unsigned char> first_bits;
  for (const ThreadOrder& order : orders) {
    const Status status = rows.run(module, variant, with_rstd, order);
    ASSERT_TRUE(status.ok()) << status.message();
    const auto bits = rows.y.download_bytes();
    ASSERT_TRUE(bits.ok()) << bits.status().message();
    if (first_bits.empty()) first_bits = *bits;
    EXPECT_TRUE(*bits == first_bits) << "the result depends on the order of threads";
  }
  const auto y = rows.y.download();
  const auto sum = rows.residual_out.download();
  const auto rstd = rows.rstd.download();
  ASSERT_TRUE(y.ok() && sum.ok() && rstd.ok());
  EXPECT_LE(relative_l2(*y, rows.expected_y), tolerance.at(rows.types.data));
  if (rows.add) {
    EXPECT_EQ(*sum, rows.expected_sum);  // both are the exact sum, rounded once
  }
  if (with_rstd) {
    EXPECT_LE(relative_l2(*rstd, rows.expected_rstd), tolerance.at(DType::f32));
  } else {
    EXPECT_THAT(*rstd, testing::Each(testing::IsNan()));
  }
}

// `samples` variants that only a Hopper has, those whose texts begin with `prefix`; where the grid
// stays, on three SMs, so that a block has many rows.
inline std::vector<RmsnormVariant> hopper_variants(const Problem& problem,
                                                   const std::string& prefix, std::size_t samples) {
  std::vector<RmsnormVariant> chosen;
  for (const Variant& variant : all_variants(Space(problem, kH200))) {
    if (!variant_text(*problem.op, variant).starts_with(prefix)) continue;
    chosen.push_back(launchable(problem, variant, kH200));
    if (prefix.starts_with("stream")) chosen.back().grid = 3;
  }
  std::mt19937 random(1);
  std::ranges::shuffle(chosen, random);
  chosen.resize(std::min(chosen.size(), samples));
  return chosen;
}

// Every shape: its ladder and `samples` others, or `samples` of those that `hopper` begins,
// compiled together, against the reference.
inline void expect_right_everywhere(const Operator& op, const std::vector<RmsnormShape>& shapes,
                                    const RmsnormTypes& types, std::size_t samples,
                                    const std::string& hopper = "") {
  struct Case {
    RmsnormShape shape;
    bool with_rstd;
    std::vector<RmsnormVariant> variants;
  };
  const bool add = op.name == "add_forward";
  std::vector<Case> cases;
  std::set<std::string> kernels;
  bool with_rstd = false;
  for (const RmsnormShape& shape : shapes) {
    with_rstd = !with_rstd;
    const Problem problem = rmsnorm_problem(op, shape, types, with_rstd);
    cases.push_back({shape, with_rstd,
                     hopper.empty() ? chosen_variants(problem, samples)
                                    : hopper_variants(problem, hopper, samples)});
    ASSERT_FALSE(cases.back().variants.empty()) << shape.hidden;
    for (const RmsnormVariant& each : cases.back().variants) kernels.insert(each.kernel);
  }
  const auto reference = RmsnormRows::build_reference(add, types);
  ASSERT_TRUE(reference.ok()) << reference.status().message();
  const auto module = CpuModule::build("kernels/rmsnorm", cases.front().variants.front().source,
                                       {kernels.begin(), kernels.end()});
  ASSERT_TRUE(module.ok()) << module.status().message();

  for (const Case& each : cases) {
    auto rows = RmsnormRows::make(*reference, add, each.shape, types);
    ASSERT_TRUE(rows.ok()) << rows.status().message();
    for (const RmsnormVariant& variant : each.variants) {
      SCOPED_TRACE(std::to_string(each.shape.rows) + " rows, stride " +
                   std::to_string(each.shape.x_stride) + ": " + variant.kernel);
      expect_right_in_every_order(op, *module, *rows, variant, each.with_rstd);
    }
  }
}

// Whether a rung of the ladder that takes pointers aligned to one element alone serves the problem.
inline bool ladder_serves_any_pointer(const Problem& problem, const DeviceLimits& limits) {
  const Space space(problem, limits);
  return std::ranges::any_of(space.ladder(), [&](const Variant& variant) {
    return variant_text(*problem.op, variant).find(" VEC=1 ") != std::string::npos &&
           space.admits(variant);
  });
}

// What an untuned problem runs.
inline std::string first_of_ladder(const Problem& problem, const DeviceLimits& limits) {
  const Space space(problem, limits);
  for (const Variant& variant : space.ladder()) {
    if (space.admits(variant)) return variant_text(*problem.op, variant);
  }
  return "none";
}

inline void expect_ladder_serves_everything(const Operator& op) {
  std::vector<std::int64_t> sizes{65535, 65536, 65537, 50001,  16384,  16385, 32768,
                                  32769, 32770, 49152, 262144, 262143, 131074};
  for (std::int64_t hidden = 1; hidden <= 600; hidden += hidden < 70 ? 1 : 7) {
    sizes.push_back(hidden);
  }
  for (std::int64_t hidden = 1009; hidden <= 262144; hidden += 4099) sizes.push_back(hidden);
  for (const RmsnormTypes types : {RmsnormTypes{DType::f32, DType::f32},
                                   {DType::bf16, DType::bf16},
                                   {DType::bf16, DType::f32}}) {
    for (const std::int64_t hidden : sizes) {
      for (const std::int64_t rows : {1, 100000}) {
        for (const DeviceLimits& limits : {kT4, kH200}) {
          const Problem problem = rmsnorm_problem(op, {rows, hidden, hidden + 1}, types, false);
          EXPECT_TRUE(ladder_serves_any_pointer(problem, limits)) << problem.text();
        }
      }
    }
  }
}

}  // namespace mgtune
