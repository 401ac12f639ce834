// rmsnorm.backward and rmsnorm.add_backward on the cpu device: the reference is the derivative of
// the forward's formula; ladder variants and a seeded sample of every design's space equal it over
// edge shapes, in any order of a block's threads; special values go where the formula sends them;
// and the ladder serves every size, dtype, stride and alignment.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "build/builder.h"
#include "build/compiler.h"
#include "check/checker.h"
#include "dispatch/admission.h"
#include "dispatch/loaded_variant.h"
#include "family/catalog.h"
#include "family/problem.h"
#include "family/variant.h"
#include "space/space.h"
#include "tests/helpers/cpu_module.h"
#include "tests/helpers/long_lane.h"
#include "tests/helpers/temporary_folder.h"

namespace mgtune {
namespace {

using Words = std::map<std::string, std::string>;

const Operator& find(const std::string& name) {
  static Catalog catalog(FileSystem::real());
  const auto folder = std::string(MGTUNE_SOURCE_DIR "/kernels/rmsnorm");
  static const auto operators = catalog.find(folder);
  EXPECT_TRUE(operators.ok()) << operators.status().message();
  for (const Operator* op : *operators) {
    if (op->full_name() == name) return *op;
  }
  ADD_FAILURE() << "no " << name;
  std::abort();
}

Problem problem_of(const Operator& op, const std::string& words) {
  auto problem = bind_problem(op, parse_assignments(words).value());
  EXPECT_TRUE(problem.ok()) << words << ": " << problem.status().message();
  return *std::move(problem);
}

// Variants that serve a problem on the cpu device: the first `rungs` of the ladder and, of each
// design, `samples` others.
std::vector<Variant> choose(const Device& device, const Problem& problem, std::size_t rungs,
                            std::size_t samples) {
  const Operator& op = *problem.op;
  std::vector<Variant> chosen;
  const auto take = [&](const Variant& variant, std::size_t& left) {
    if (left == 0 || std::ranges::find(chosen, variant) != chosen.end()) return;
    if (!may_serve(problem, variant, device.info().limits)) return;
    chosen.push_back(variant);
    --left;
  };
  for (const Variant& rung : default_ladder(op)) take(rung, rungs);
  std::vector<Variant> space = Space(problem, device.info().limits).all();
  std::mt19937 random(static_cast<std::uint32_t>(problem.dim("hidden")));
  std::ranges::shuffle(space, random);
  for (std::size_t design = 0; design < op.designs.size(); ++design) {
    std::size_t left = samples;
    for (const Variant& variant : space) {
      if (variant.design == static_cast<int>(design)) take(variant, left);
    }
  }
  return chosen;
}

// Variants of one operator, compiled a source at a time: that takes a tenth of one by one.
class Compiled {
 public:
  bool empty() const { return builds_.empty(); }

  void add(const Problem& problem, const Variant& variant, const Device& device) {
    const Slots slots = compile_slots(problem.binding(), variant, device.info().limits).value();
    const auto names = kernel_names(*problem.op, variant, slots).value();
    names_[source(*problem.op, variant)].insert(names.begin(), names.end());
  }

  Status build(const Operator& op) {
    MGTUNE_ASSIGN(const std::unique_ptr<Compiler> compiler, make_compiler("cpu"));
    for (const auto& [source, names] : names_) {
      MGTUNE_ASSIGN(
          builds_[source],
          compiler->compile({op.sources.get(), source, {names.begin(), names.end()}, "cpu"}));
    }
    return {};
  }

  Result<std::unique_ptr<LoadedVariant>> load(Device& device, const Problem& problem,
                                              const Variant& variant) const {
    return LoadedVariant::load(device, problem.binding(), variant,
                               builds_.at(source(*problem.op, variant)));
  }

 private:
  static std::string source(const Operator& op, const Variant& variant) {
    return op.designs[static_cast<std::size_t>(variant.design)].source;
  }

  std::map<std::string, std::set<std::string>> names_;
  std::map<std::string, Build> builds_;
};

struct Case {
  const char* op;
  const char* dtypes;
};

// One element, fewer columns than threads, a warp less and more one, whole vectors, several steps;
// fewer rows than blocks and several rows a block; with and without dw.
const std::vector<std::string> kShapes = {
    "rows=17,hidden=1,dw=true",   "rows=0,hidden=24,dw=true",
    "rows=5,hidden=33,dw=true",   "rows=70,hidden=64,x_stride=72,dw=true",
    "rows=1,hidden=256",          "rows=19,hidden=1000,x_stride=1002,dw=true",
    "rows=3,hidden=4097,dw=true", "rows=2,hidden=65537,dw=true",
};

class RmsnormBackward : public testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    cache_ = std::make_unique<TemporaryFolder>();
    auto device = open_device("cpu");
    ASSERT_TRUE(device.ok()) << device.status().message();
    device_ = *std::move(device);
  }
  static void TearDownTestSuite() {
    device_.reset();
    cache_.reset();
  }

  static std::string words_of(const Operator& op, std::string shape, const std::string& dtypes) {
    if (op.name == "add_backward") {
      const std::size_t at = shape.find("x_stride");
      if (at != std::string::npos) shape[at] = 's';
    }
    return shape + "," + dtypes;
  }

  inline static std::unique_ptr<TemporaryFolder> cache_;
  inline static std::unique_ptr<Device> device_;
};

TEST_P(RmsnormBackward, EqualsTheReferenceInEveryThreadOrder) {
  const Operator& op = find(GetParam().op);
  Builder builder(BuildCache(FileSystem::real(), cache_->path()));
  std::vector<std::pair<Problem, std::vector<Variant>>> cases;
  Compiled compiled;
  for (const std::string& shape : kShapes) {
    // The kernels are the same but for the residual: every second shape is enough.
    if (op.name == "add_backward" && (&shape - kShapes.data()) % 2 == 1) continue;
    const Problem problem = problem_of(op, words_of(op, shape, GetParam().dtypes));
    auto variants = choose(*device_, problem, 1, in_long_lane<std::size_t>(3, 1));
    ASSERT_FALSE(variants.empty()) << problem.text();
    for (const Variant& variant : variants) compiled.add(problem, variant, *device_);
    cases.emplace_back(problem, std::move(variants));
  }
  const Status built = compiled.build(op);
  ASSERT_TRUE(built.ok()) << built.message();
  for (const auto& [problem, variants] : cases) {
    const auto checker = Checker::make(*device_, builder, problem);
    ASSERT_TRUE(checker.ok()) << checker.status().message();
    for (const Variant& variant : variants) {
      SCOPED_TRACE(problem.text() + ": " + variant_text(op, variant));
      const auto loaded = compiled.load(*device_, problem, variant);
      ASSERT_TRUE(loaded.ok()) << loaded.status().message();
      const auto record = (*checker)->check(**loaded);
      ASSERT_TRUE(record.ok()) << record.status().message();
      EXPECT_EQ(record->outcome, Outcome::ok) << record->message;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EachDType, RmsnormBackward,
                         testing::Values(Case{"rmsnorm.backward", "T=f32"},
                                         Case{"rmsnorm.backward", "T=f16"},
                                         Case{"rmsnorm.backward", "T=bf16,W=f32"},
                                         Case{"rmsnorm.add_backward", "T=f32"},
                                         Case{"rmsnorm.add_backward", "T=bf16"}),
                         [](const auto& each) {
                           std::string name = std::string(each.param.op) + each.param.dtypes;
                           std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
                           return name;
                         });

// What a test gives by hand: rows one after the other, everything that fp32 holds.
struct Inputs {
  std::int64_t rows, hidden;
  std::vector<double> dy, x, weight, rstd;
};

constexpr float kOffset = 0.5f;

Inputs normal_inputs(std::int64_t rows, std::int64_t hidden) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const auto values = [&](std::int64_t count) {
    std::vector<double> result(static_cast<std::size_t>(count));
    for (double& value : result) value = normal(random);
    return result;
  };
  Inputs inputs{rows, hidden, values(rows * hidden), values(rows * hidden), values(hidden), {}};
  for (std::int64_t row = 0; row < rows; ++row) {
    inputs.rstd.push_back(0.5f + 0.25f * static_cast<float>(row));
  }
  return inputs;
}

struct Outputs {
  std::vector<double> dx, dw;
};

// The formula in fp64.
Outputs expected(const Inputs& in) {
  Outputs out{std::vector<double>(in.x.size()), std::vector<double>(in.weight.size())};
  const auto hidden = static_cast<std::size_t>(in.hidden);
  for (std::size_t row = 0; row < in.rstd.size(); ++row) {
    double dot = 0;
    for (std::size_t c = 0; c < hidden; ++c) {
      const double xhat = in.x[row * hidden + c] * in.rstd[row];
      dot += in.dy[row * hidden + c] * (kOffset + in.weight[c]) * xhat;
      out.dw[c] += in.dy[row * hidden + c] * xhat;
    }
    for (std::size_t c = 0; c < hidden; ++c) {
      const double xhat = in.x[row * hidden + c] * in.rstd[row];
      out.dx[row * hidden + c] =
          in.rstd[row] * (in.dy[row * hidden + c] * (kOffset + in.weight[c]) -
                          xhat * dot / static_cast<double>(hidden));
    }
  }
  return out;
}

double relative_l2(const std::vector<double>& actual, const std::vector<double>& wanted) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    error += (actual[i] - wanted[i]) * (actual[i] - wanted[i]);
    norm += wanted[i] * wanted[i];
  }
  return std::sqrt(error / norm);
}

TEST(RmsnormBackwardReference, IsTheDerivativeOfTheForward) {
  constexpr double kEps = 0.125;
  Inputs in = normal_inputs(3, 5);
  const auto hidden = static_cast<std::size_t>(in.hidden);
  const auto rstd_of = [&](std::size_t row) {
    double squares = 0;
    for (std::size_t c = 0; c < hidden; ++c) {
      squares += in.x[row * hidden + c] * in.x[row * hidden + c];
    }
    return 1 / std::sqrt(squares / static_cast<double>(hidden) + kEps);
  };
  // What a loss that grows by dy for each y is, and how it changes with one number.
  const auto loss = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < in.x.size(); ++i) {
      sum += in.dy[i] * in.x[i] * rstd_of(i / hidden) * (kOffset + in.weight[i % hidden]);
    }
    return sum;
  };
  const auto slope = [&](double& of) {
    constexpr double kStep = 1e-5;
    const double at = of;
    of = at + kStep;
    const double above = loss();
    of = at - kStep;
    const double below = loss();
    of = at;
    return (above - below) / (2 * kStep);
  };
  Outputs slopes;
  for (double& x : in.x) slopes.dx.push_back(slope(x));
  for (double& weight : in.weight) slopes.dw.push_back(slope(weight));
  for (std::size_t row = 0; row < in.rstd.size(); ++row) in.rstd[row] = rstd_of(row);

  const auto module = CpuModule::build(
      "kernels/rmsnorm", "reference.cu",
      {"rmsnorm_backward_reference<float, float>", "rmsnorm_add_backward_reference<float, float>"});
  ASSERT_TRUE(module.ok()) << module.status().message();
  Device& device = module->device();
  const auto upload = [&](const std::vector<double>& values) {
    return DeviceTensor::upload(device, DType::f32, values).value();
  };
  const DeviceTensor dy = upload(in.dy), x = upload(in.x), weight = upload(in.weight);
  const DeviceTensor rstd = upload(in.rstd);
  const auto dx = DeviceTensor::poisoned(device, DType::f64, in.x.size()).value();
  const auto dw = DeviceTensor::poisoned(device, DType::f64, hidden).value();
  const Status ran = module->launch("rmsnorm_backward_reference<float, float>", 64, 128, dy.data(),
                                    x.data(), weight.data(), rstd.data(), dx.data(), dw.data(),
                                    kOffset, in.rows, in.hidden, in.hidden);
  ASSERT_TRUE(ran.ok()) << ran.message();
  EXPECT_LE(relative_l2(dx.download().value(), slopes.dx), 1e-6);
  EXPECT_LE(relative_l2(dw.download().value(), slopes.dw), 1e-6);

  // The sum's other branch: its gradient is added, dw stays. dw may be absent.
  const Status added =
      module->launch("rmsnorm_add_backward_reference<float, float>", 64, 128, dy.data(), x.data(),
                     weight.data(), rstd.data(), dy.data(), dx.data(), static_cast<void*>(nullptr),
                     kOffset, in.rows, in.hidden, in.hidden);
  ASSERT_TRUE(added.ok()) << added.message();
  for (std::size_t i = 0; i < in.x.size(); ++i) slopes.dx[i] += in.dy[i];
  EXPECT_LE(relative_l2(dx.download().value(), slopes.dx), 1e-6);
}

// Two clusters of one block; the second launch adds up what they leave.
Result<Outputs> run_cluster(const CpuModule& module, std::span<const std::string> kernels,
                            const Inputs& in) {
  constexpr std::int32_t kBlocks = 2;
  Device& device = module.device();
  std::vector<DeviceTensor> tensors;
  for (const auto* values : {&in.dy, &in.x, &in.weight, &in.rstd}) {
    MGTUNE_ASSIGN(DeviceTensor tensor, DeviceTensor::upload(device, DType::f32, *values));
    tensors.push_back(std::move(tensor));
  }
  for (const std::size_t count : {in.x.size(), in.weight.size(), kBlocks * in.weight.size()}) {
    MGTUNE_ASSIGN(DeviceTensor tensor, DeviceTensor::poisoned(device, DType::f32, count));
    tensors.push_back(std::move(tensor));
  }
  std::vector<void*> pointers;
  for (const DeviceTensor& tensor : tensors) pointers.push_back(tensor.data());
  auto [dy, x, weight, rstd, dx, dw, partials] = std::tuple{
      pointers[0], pointers[1], pointers[2], pointers[3], pointers[4], pointers[5], pointers[6]};
  std::int64_t rows = in.rows, stride = in.hidden;
  float offset = kOffset;
  std::int32_t parts = kBlocks;
  void* rows_args[] = {&dy, &x, &weight, &rstd, &dx, &partials, &rows, &stride, &offset};
  MGTUNE_TRY(
      module.launch_with(kernels[0], kBlocks, 32, 4 * 2 * 2 * 2 * 128 * sizeof(float), rows_args));
  void* dw_args[] = {&partials, &dw, &parts};
  MGTUNE_TRY(module.launch_with(kernels[1], 7, 256, 0, dw_args));
  Outputs outputs;
  MGTUNE_ASSIGN(outputs.dx, tensors[4].download());
  MGTUNE_ASSIGN(outputs.dw, tensors[5].download());
  return outputs;
}

// One variant of each way to compute rmsnorm.backward, in fp32.
class RmsnormBackwardValues : public testing::TestWithParam<const char*> {
 protected:
  static constexpr std::int64_t kRows = 6, kHidden = 40;

  void SetUp() override {
    const auto parsed = parse_variant(op_, GetParam());
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    const Problem problem = problem_of(op_, "rows=6,hidden=40,T=f32,dw=true");
    auto device = open_device("cpu");
    ASSERT_TRUE(device.ok()) << device.status().message();
    device_ = *std::move(device);
    Compiled& compiled = compiled_[GetParam()];
    if (compiled.empty()) {
      compiled.add(problem, *parsed, *device_);
      const Status built = compiled.build(op_);
      ASSERT_TRUE(built.ok()) << built.message();
    }
    auto loaded = compiled.load(*device_, problem, *parsed);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    loaded_ = *std::move(loaded);
  }

  // `shift`: every tensor begins so many elements behind an aligned address.
  Result<Outputs> run(const Inputs& in, std::size_t shift = 0) const {
    std::vector<DeviceTensor> tensors;
    const auto shifted = [&](std::vector<double> values) {
      values.insert(values.begin(), shift, 0.0);
      return DeviceTensor::upload(*device_, DType::f32, values);
    };
    for (const auto* values : {&in.dy, &in.x, &in.weight, &in.rstd}) {
      MGTUNE_ASSIGN(DeviceTensor tensor, shifted(*values));
      tensors.push_back(std::move(tensor));
    }
    for (const auto* like : {&in.x, &in.weight}) {
      MGTUNE_ASSIGN(DeviceTensor tensor,
                    DeviceTensor::poisoned(*device_, DType::f32, like->size() + shift));
      tensors.push_back(std::move(tensor));
    }
    std::vector<void*> pointers;
    for (const DeviceTensor& tensor : tensors) {
      pointers.push_back(static_cast<float*>(tensor.data()) + shift);
    }
    const std::vector<std::int64_t> dims{in.rows, in.hidden};
    MGTUNE_ASSIGN(const auto size, loaded_->workspace_size(dims));
    MGTUNE_ASSIGN(const Buffer workspace,
                  Buffer::allocate(*device_, static_cast<std::size_t>(size.bytes)));
    MGTUNE_TRY(
        device_->fill_bytes(workspace.data(), 0, static_cast<std::size_t>(size.bytes), nullptr));
    ScalarValue offset;
    encode_scalar(kOffset, DType::f32, offset);
    LaunchArguments arguments;
    arguments.dims = dims;
    arguments.tensors = pointers;
    arguments.scalars = {&offset, 1};
    arguments.workspace = workspace.data();
    MGTUNE_TRY(loaded_->launch(arguments));
    MGTUNE_TRY(device_->synchronize(nullptr));
    Outputs outputs;
    MGTUNE_ASSIGN(outputs.dx, tensors[4].download());
    MGTUNE_ASSIGN(outputs.dw, tensors[5].download());
    outputs.dx.erase(outputs.dx.begin(), outputs.dx.begin() + static_cast<std::ptrdiff_t>(shift));
    outputs.dw.erase(outputs.dw.begin(), outputs.dw.begin() + static_cast<std::ptrdiff_t>(shift));
    return outputs;
  }

  void expect_right(const Inputs& in, std::size_t shift = 0) const {
    const auto outputs = run(in, shift);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    EXPECT_LE(relative_l2(outputs->dx, expected(in).dx), 1e-6);
    EXPECT_LE(relative_l2(outputs->dw, expected(in).dw), 1e-6);
  }

  inline static std::map<std::string, Compiled> compiled_;  // by the variant: each is built once
  const Operator& op_ = find("rmsnorm.backward");
  std::unique_ptr<Device> device_;
  std::unique_ptr<LoadedVariant> loaded_;
};

// x times rstd is ordinary, x times x is not; nor is rstd times rstd.
TEST_P(RmsnormBackwardValues, OfLargeAndSmallMagnitudesAreRight) {
  for (const double scale : {1e30, 1e-30}) {
    Inputs in = normal_inputs(kRows, kHidden);
    for (double& x : in.x) x = static_cast<float>(x * scale);
    for (double& rstd : in.rstd) rstd = static_cast<float>(rstd / scale);
    expect_right(in);
  }
}

TEST_P(RmsnormBackwardValues, NaNSpoilsItsRowAndItsColumn) {
  Inputs in = normal_inputs(kRows, kHidden);
  in.x[2 * kHidden + 5] = std::numeric_limits<double>::quiet_NaN();
  in.dy[4 * kHidden + 7] = std::numeric_limits<double>::infinity();
  const auto outputs = run(in);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  for (std::int64_t i = 0; i < kRows * kHidden; ++i) {
    const bool is_ordinary = i / kHidden != 2 && i / kHidden != 4;
    EXPECT_EQ(std::isfinite(outputs->dx[static_cast<std::size_t>(i)]), is_ordinary) << i;
  }
  for (std::int64_t i = 0; i < kHidden; ++i) {
    EXPECT_EQ(std::isfinite(outputs->dw[static_cast<std::size_t>(i)]), i != 5 && i != 7) << i;
  }
}

TEST_P(RmsnormBackwardValues, TakesPointersOfItsAlignmentAlone) {
  const Inputs in = normal_inputs(kRows, kHidden);
  if (std::string(GetParam()).find("VEC=1") != std::string::npos) {
    expect_right(in, 1);
  } else {
    EXPECT_EQ(run(in, 1).status().code(), StatusCode::unsupported);
    expect_right(in, 4);
  }
}

TEST_P(RmsnormBackwardValues, OfNoRowsAreNoGradient) {
  Inputs in = normal_inputs(0, kHidden);
  const auto outputs = run(in);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_THAT(outputs->dw, testing::Each(0.0));
}

INSTANTIATE_TEST_SUITE_P(
    EachWay, RmsnormBackwardValues,
    testing::Values(
        "persistent THREADS_PER_ROW=8 ROWS_PER_BLOCK=4 VEC=4 ROWS_AT_ONCE=1 STAGES=2 LOAD=ldg "
        "BLOCKS_PER_SM=4 PDL=false DW_THREADS=256",
        "persistent THREADS_PER_ROW=32 ROWS_PER_BLOCK=1 VEC=4 ROWS_AT_ONCE=2 STAGES=3 "
        "LOAD=cp_async BLOCKS_PER_SM=4 PDL=false DW_THREADS=256",
        "persistent THREADS_PER_ROW=64 ROWS_PER_BLOCK=2 VEC=1 ROWS_AT_ONCE=1 STAGES=2 LOAD=ldg "
        "BLOCKS_PER_SM=1 PDL=false DW_THREADS=1024",
        "two_pass THREADS_PER_ROW=32 ROWS_PER_BLOCK=4 VEC=4 THREADS=64 ROWS_AT_ONCE=4 "
        "BLOCKS_PER_SM=2"));

// The cpu device has clusters of one block, so the operator's design, which asks for more, is not
// for it. The kernel is, and all but the travel between blocks is as in a larger one.
TEST(RmsnormBackwardCluster, OfOneBlockIsRight) {
  constexpr std::int64_t kRows = 9, kHidden = 200;
  const std::string kernels[] = {
      "rmsnorm_backward_cluster<float, float, 200, 32, 4, 2, 4, 1, 1, false, true>",
      "rmsnorm_backward_dw<float, 200, 256, false>"};
  const auto module = CpuModule::build("kernels/rmsnorm", "backward.cu", {kernels[0], kernels[1]});
  ASSERT_TRUE(module.ok()) << module.status().message();
  for (const std::int64_t rows : {kRows, std::int64_t{1}}) {
    const Inputs in = normal_inputs(rows, kHidden);
    for (const auto order :
         {ThreadOrder::Kind::forward, ThreadOrder::Kind::reversed, ThreadOrder::Kind::shuffled}) {
      ASSERT_TRUE(module->device().set_thread_order({order, 1}).ok());
      const auto outputs = run_cluster(*module, kernels, in);
      ASSERT_TRUE(outputs.ok()) << outputs.status().message();
      EXPECT_LE(relative_l2(outputs->dx, expected(in).dx), 1e-6);
      EXPECT_LE(relative_l2(outputs->dw, expected(in).dw), 1e-6);
    }
  }
}

// Any pointer: of its elements' alignment.
TEST(RmsnormBackwardLadder, ServesEverySizeDTypeStrideAndAlignment) {
  const DeviceLimits oldest{75, 40, 65536, 4 << 20}, newest{90, 132, 232448, 50 << 20};
  std::vector<std::int64_t> sizes{50001, 65535, 65537, 98304, 262143, 262144};
  for (std::int64_t hidden = 1; hidden <= 4200; hidden += hidden < 70 ? 1 : 59) {
    sizes.push_back(hidden);
  }
  for (const char* name : {"rmsnorm.backward", "rmsnorm.add_backward"}) {
    const Operator& op = find(name);
    const std::string stride = op.name == "backward" ? "x_stride" : "s_stride";
    const std::vector<Variant> ladder = default_ladder(op);
    for (const char* dtypes : {"T=f32", "T=bf16", "T=f16,W=f32"}) {
      for (const std::int64_t hidden : sizes) {
        for (const std::int64_t more : {0, 1}) {
          for (const char* dw : {"", ",dw=true"}) {
            const Problem problem =
                problem_of(op, "rows=3,hidden=" + std::to_string(hidden) + "," + stride + "=" +
                                   std::to_string(hidden + more) + "," + dtypes + dw);
            for (const DeviceLimits& limits : {oldest, newest}) {
              EXPECT_TRUE(std::ranges::any_of(ladder,
                                              [&](const Variant& variant) {
                                                return may_serve(problem, variant, limits) &&
                                                       accepts_any_pointer(problem, variant,
                                                                           limits);
                                              }))
                  << problem.text() << " on sm_" << limits.compute_capability;
            }
          }
        }
      }
    }
  }
}

TEST(RmsnormBackwardLadder, KeepsRowsInOneBlockWhereItCan) {
  const Operator& op = find("rmsnorm.backward");
  const DeviceLimits h200{90, 132, 232448, 60 << 20};
  const auto first = [&](const std::string& words) -> std::string {
    const Problem problem = problem_of(op, words + ",dw=true");
    for (const Variant& variant : default_ladder(op)) {
      if (may_serve(problem, variant, h200)) return variant_text(op, variant);
    }
    return "none";
  };
  using testing::StartsWith;
  EXPECT_THAT(first("rows=512,hidden=128,T=bf16"),
              StartsWith("persistent THREADS_PER_ROW=16 ROWS_PER_BLOCK=16 VEC=8"));
  EXPECT_THAT(first("rows=512,hidden=50,T=bf16"),
              StartsWith("persistent THREADS_PER_ROW=32 ROWS_PER_BLOCK=4 VEC=2"));
  EXPECT_THAT(first("rows=512,hidden=1024,T=bf16"),
              StartsWith("persistent THREADS_PER_ROW=32 ROWS_PER_BLOCK=8 VEC=8"));
  EXPECT_THAT(first("rows=512,hidden=2048,T=bf16"),
              StartsWith("persistent THREADS_PER_ROW=128 ROWS_PER_BLOCK=8 VEC=8"));
  EXPECT_THAT(first("rows=512,hidden=4096,T=bf16"),
              StartsWith("persistent THREADS_PER_ROW=512 ROWS_PER_BLOCK=2 VEC=8"));
  EXPECT_THAT(first("rows=512,hidden=4096,T=f32"),
              StartsWith("persistent THREADS_PER_ROW=512 ROWS_PER_BLOCK=2 VEC=4"));
  EXPECT_THAT(first("rows=512,hidden=8192,T=bf16"),
              StartsWith("persistent THREADS_PER_ROW=512 ROWS_PER_BLOCK=2 VEC=8"));
  EXPECT_THAT(first("rows=512,hidden=16384,T=bf16"),
              StartsWith("persistent THREADS_PER_ROW=512 ROWS_PER_BLOCK=1 VEC=8"));
  EXPECT_THAT(first("rows=512,hidden=16400,T=bf16"),
              StartsWith("cluster THREADS=512 VEC=8 ROWS_AT_ONCE=1 STAGES=3 CLUSTER=2"));
  EXPECT_THAT(first("rows=512,hidden=65536,T=bf16"),
              StartsWith("cluster THREADS=512 VEC=8 ROWS_AT_ONCE=1 STAGES=3 CLUSTER=4"));
  EXPECT_THAT(first("rows=512,hidden=65537,T=bf16"), StartsWith("two_pass"));
}

}  // namespace
}  // namespace mgtune
