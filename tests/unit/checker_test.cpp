#include "check/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "build/builder.h"
#include "core/file_system.h"
#include "device/registry.h"
#include "dispatch/loaded_variant.h"
#include "family/operator.h"
#include "family/problem.h"
#include "family/variant.h"
#include "tests/helpers/temporary_folder.h"

namespace mgtune {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// y = factor * x, a row per block, elements handed over through shared memory; sum adds a row of y.
constexpr char kScaleJson[] = R"json({
  "format": 1,
  "dims": {"rows": "dynamic", "columns": "dynamic",
           "x_stride": {"kind": "dynamic", "default": "columns"},
           "y_stride": {"kind": "dynamic", "default": "columns"}},
  "dtypes": {"T": ["f32", "f16"]},
  "scalars": {"factor": {"dtype": "f32", "check": 3.0}},
  "tensors": {
    "x": {"role": "in", "dtype": "T", "shape": ["rows", "columns"], "strides": ["x_stride", "1"],
          "fill": "normal"},
    "y": {"role": "out", "dtype": "T", "shape": ["rows", "columns"], "strides": ["y_stride", "1"]},
    "sum": {"role": "out", "dtype": "f32", "shape": ["rows"], "optional": true}
  },
  "cost": {"bytes": "2 * rows * columns * sizeof(T)", "flops": "rows * columns"},
  "check": {"reference": "scale_reference", "measure": "relative_l2",
            "tolerance": {"f32": 1e-6, "f16": 1e-3}},
  "designs": {
    "block": {
      "source": "scale.cu",
      "params": {"BUG": ["none", "past_end", "before_start", "silent", "stale", "changes_input",
                         "infinite", "last_element", "missing_barrier", "padding",
                         "divergent_shuffle", "reads_past_end", "wrong_sum"]},
      "launches": [{"kernel": "scale<T, BUG>", "grid": ["rows"], "block": ["128"],
                    "args": ["x", "y", "sum", "factor", "columns:i64", "x_stride:i64",
                             "y_stride:i64"]}],
      "defaults": [{"BUG": "none"}]
    },
    "atomic": {
      "source": "scale.cu", "params": {"FLAG": [0]}, "order_dependent": true,
      "launches": [{"kernel": "scale_atomic<T>", "grid": ["rows"], "block": ["128"],
                    "args": ["x", "y", "sum", "factor", "columns:i64", "x_stride:i64",
                             "y_stride:i64"]}]
    },
    "undeclared_atomic": {
      "source": "scale.cu", "params": {"FLAG": [0]},
      "launches": [{"kernel": "scale_atomic<T>", "grid": ["rows"], "block": ["128"],
                    "args": ["x", "y", "sum", "factor", "columns:i64", "x_stride:i64",
                             "y_stride:i64"]}]
    },
    "ticket": {
      "source": "scale.cu", "params": {"LEFT": [0, 1, 2]},
      "workspace": {"tickets": {"dtype": "u32", "shape": ["rows"], "zero": "once"},
                    "partials": {"dtype": "f32", "shape": ["rows"], "zero": "never"}},
      "launches": [{"kernel": "scale_ticket<T, LEFT>", "grid": ["rows"], "block": ["128"],
                    "args": ["x", "y", "sum", "tickets", "partials", "factor", "columns:i64",
                             "x_stride:i64", "y_stride:i64"]}]
    },
    "picky": {
      "source": "scale.cu", "params": {"FLAG": [0]}, "constraints": ["columns % 8 == 0"],
      "launches": [{"kernel": "scale_atomic<T>", "grid": ["rows"], "block": ["128"],
                    "args": ["x", "y", "sum", "factor", "columns:i64", "x_stride:i64",
                             "y_stride:i64"]}]
    }
  }
})json";

constexpr char kScaleSource[] = R"cuda(
#include <mg/shared.cuh>
#include <mg/vec.cuh>

enum class BUG {
  none, past_end, before_start, silent, stale, changes_input, infinite, last_element,
  missing_barrier, padding, divergent_shuffle, reads_past_end, wrong_sum
};

template <typename T, BUG bug>
__global__ void scale(const T* x, T* y, float* sum, float factor, long long columns,
                      long long x_stride, long long y_stride) {
  MG_SHARED(float, tile, [128]);
  const int thread = threadIdx.x;
  const bool is_last_row = blockIdx.x == gridDim.x - 1;
  const T* const x_row = x + blockIdx.x * x_stride;
  T* const y_row = y + blockIdx.x * y_stride;
  tile[thread] = thread < columns ? factor * mg::to_float(x_row[thread]) : 0.0f;
  if (bug == BUG::divergent_shuffle && thread % 2 == 0) {
    tile[thread] += 0.0f * __shfl_xor_sync(0xffffffffu, tile[thread], 1);
  }
  if (bug != BUG::missing_barrier) __syncthreads();
  if (thread < columns && bug != BUG::silent) {
    const long long column = columns - 1 - thread;
    float value = tile[column];
    if (bug == BUG::stale) value += 0.0f * mg::to_float(y_row[column]);
    if (bug == BUG::infinite && is_last_row && column == 1) value = 1e30f * 1e30f;
    if (bug == BUG::last_element && is_last_row && thread == 0) value += 1.0f;
    y_row[column] = mg::from_float<T>(value);
  }
  const bool is_culprit = thread == 0 && is_last_row;
  if (bug == BUG::past_end && is_culprit) y_row[columns] = mg::from_float<T>(0.0f);
  if (bug == BUG::before_start && thread == 0 && blockIdx.x == 0) y[-1] = mg::from_float<T>(0.0f);
  if (bug == BUG::changes_input && is_culprit) const_cast<T*>(x_row)[2] = mg::from_float<T>(9.0f);
  if (bug == BUG::padding && thread == 0 && !is_last_row) y_row[columns] = mg::from_float<T>(0.0f);
  if (bug == BUG::reads_past_end && is_culprit) {
    const volatile T* const behind = x_row + columns;
    const T unused = const_cast<const T&>(behind[0]);
    if (mg::to_float(unused) == 12345.0f) y_row[0] = unused;
  }
  if (sum != nullptr && thread == 0) {
    float total = bug == BUG::wrong_sum ? 0.5f : 0.0f;
    for (int i = 0; i < columns; ++i) total += tile[i];
    sum[blockIdx.x] = total;
  }
}

template <typename T>
__global__ void scale_atomic(const T* x, T* y, float* sum, float factor, long long columns,
                             long long x_stride, long long y_stride) {
  MG_SHARED(float, total);
  const int thread = threadIdx.x;
  if (thread == 0) total = 0.0f;
  __syncthreads();
  if (thread < columns) {
    const float value = factor * mg::to_float(x[blockIdx.x * x_stride + thread]);
    y[blockIdx.x * y_stride + thread] = mg::from_float<T>(value);
    atomicAdd(&total, value);
  }
  __syncthreads();
  if (sum != nullptr && thread == 0) sum[blockIdx.x] = total;
}

template <typename T, int kLeft>
__global__ void scale_ticket(const T* x, T* y, float* sum, unsigned* tickets, float* partials,
                             float factor, long long columns, long long x_stride,
                             long long y_stride) {
  const int thread = threadIdx.x;
  if (thread == 0) {
    const bool is_zero = tickets[blockIdx.x] == 0;
    tickets[blockIdx.x] = kLeft == 1 ? 7 : 0;
    partials[blockIdx.x] = 0.0f;
    if (kLeft == 2 && blockIdx.x == gridDim.x - 1) partials[64] = 0.0f;
    if (!is_zero) return;
  }
  if (thread >= columns) return;
  y[blockIdx.x * y_stride + thread] =
      mg::from_float<T>(factor * mg::to_float(x[blockIdx.x * x_stride + thread]));
}
)cuda";

constexpr char kScaleReference[] = R"cuda(
#include <mg/vec.cuh>

template <typename T>
__global__ void scale_reference(const T* x, double* y, double* sum, float factor, long long rows,
                                long long columns, long long x_stride, long long y_stride) {
  for (long long row = blockIdx.x * blockDim.x + threadIdx.x; row < rows;
       row += gridDim.x * blockDim.x) {
    double total = 0;
    for (long long column = 0; column < columns; ++column) {
      const double value = static_cast<double>(factor) * mg::to_float(x[row * x_stride + column]);
      y[row * columns + column] = value;
      total += value;
    }
    if (sum != nullptr) sum[row] = total;
  }
}
)cuda";

// "scale.cu:20": where `text` first stands.
std::string line_of(const std::string& text) {
  const std::string source = kScaleSource;
  const auto end = source.begin() + static_cast<std::ptrdiff_t>(source.find(text));
  return "scale.cu:" + std::to_string(1 + std::count(source.begin(), end, '\n'));
}

Result<Operator> decode(const std::string& name, std::map<std::string, std::string> files) {
  auto sources = std::make_shared<SourceTree>();
  sources->folder = "planted";
  sources->files = std::move(files);
  return decode_operator("planted", name, sources);
}

class CheckerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cache_ = new TemporaryFolder();
    Result<std::unique_ptr<Device>> device = open_device("cpu");
    ASSERT_TRUE(device.ok()) << device.status().message();
    device_ = device->release();
  }
  static void TearDownTestSuite() {
    delete std::exchange(device_, nullptr);
    delete std::exchange(cache_, nullptr);
  }

  void SetUp() override {
    ASSERT_NE(device_, nullptr);
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    use("scale", {{"scale.json", kScaleJson},
                  {"scale.cu", kScaleSource},
                  {"reference.cu", kScaleReference}});
  }

  void use(const std::string& name, std::map<std::string, std::string> files) {
    Result<Operator> decoded = decode(name, std::move(files));
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    op_ = std::make_unique<Operator>(std::move(*decoded));
  }

  void bind(const std::map<std::string, std::string>& values) {
    Result<Problem> problem = bind_problem(*op_, values);
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    problem_ = std::move(*problem);
    loaded_.reset();
    Result<std::unique_ptr<Checker>> checker = Checker::make(*device_, builder_, problem_);
    ASSERT_TRUE(checker.ok()) << checker.status().message();
    checker_ = std::move(*checker);
  }

  Result<std::unique_ptr<LoadedVariant>> load(const std::string& text) {
    MGTUNE_ASSIGN(const Variant variant, parse_variant(*op_, text));
    MGTUNE_ASSIGN(const Slots slots,
                  compile_slots(problem_.binding(), variant, device_->info().limits));
    MGTUNE_ASSIGN(const BuildRequest request,
                  variant_build_request(*op_, variant, slots, device_->info().arch));
    MGTUNE_ASSIGN(const Build build, builder_.build(request));
    return LoadedVariant::load(*device_, problem_.binding(), variant, build);
  }

  CheckRecord check(const std::string& text) {
    Result<std::unique_ptr<LoadedVariant>> loaded = load(text);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    if (!loaded.ok()) return {Outcome::crashed, "", 0, 0};
    loaded_ = std::move(*loaded);
    Result<CheckRecord> record = checker_->check(*loaded_);
    EXPECT_TRUE(record.ok()) << record.status().message();
    return record.ok() ? *record : CheckRecord{Outcome::crashed, "", 0, 0};
  }

  void expect_wrong(const std::string& text, const std::string& part) {
    const CheckRecord record = check(text);
    EXPECT_EQ(record.outcome, Outcome::wrong);
    EXPECT_THAT(record.message, HasSubstr(part));
  }

  inline static TemporaryFolder* cache_ = nullptr;
  inline static Device* device_ = nullptr;
  Builder builder_{BuildCache(FileSystem::real(), cache_->path())};
  std::unique_ptr<Operator> op_;
  Problem problem_;
  std::unique_ptr<Checker> checker_;
  std::unique_ptr<LoadedVariant> loaded_;
};

using Values = std::map<std::string, std::string>;
const Values kSmall{{"rows", "4"}, {"columns", "100"}, {"T", "f32"}};
const Values kStrided{
    {"rows", "4"}, {"columns", "100"}, {"x_stride", "104"}, {"y_stride", "112"}, {"T", "f32"}};
const Values kSummed{{"rows", "4"}, {"columns", "100"}, {"T", "f32"}, {"sum", "true"}};

TEST_F(CheckerTest, ARightVariantPasses) {
  bind(kSmall);
  const CheckRecord record = check("block BUG=none");
  EXPECT_EQ(record.outcome, Outcome::ok) << record.message;
  EXPECT_EQ(record.message, "");
  EXPECT_GT(record.error, 0);  // one rounding of the product
  EXPECT_LT(record.error, 1e-7);
  EXPECT_EQ(record.tolerance, 1e-6);
}

TEST_F(CheckerTest, StridesOptionalOutputsAndHalfPrecisionPass) {
  bind({{"rows", "3"},
        {"columns", "77"},
        {"x_stride", "80"},
        {"y_stride", "90"},
        {"T", "f16"},
        {"sum", "true"}});
  const CheckRecord record = check("block BUG=none");
  EXPECT_EQ(record.outcome, Outcome::ok) << record.message;
  EXPECT_GT(record.error, 1e-5);
  EXPECT_EQ(record.tolerance, 1e-3);
}

TEST_F(CheckerTest, AnEmptyProblemPasses) {
  bind({{"rows", "0"}, {"columns", "100"}, {"T", "f32"}});
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);
}

TEST_F(CheckerTest, WritesOutOfBoundsAreWrong) {
  bind(kSmall);
  expect_wrong("block BUG=past_end", "y: written past its end, at byte 1600 of 1600");
  expect_wrong("block BUG=before_start", "y: written before its start, at byte -4");
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);  // what was damaged is whole again
}

TEST_F(CheckerTest, WritesBetweenStridesAreWrong) {
  bind(kStrided);
  expect_wrong("block BUG=padding", "y: the padding between its strides was written");
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);
}

TEST_F(CheckerTest, AChangedInputIsWrong) {
  bind(kStrided);
  expect_wrong("block BUG=changes_input", "x: an input was changed, first at x[3, 2]");
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);
}

TEST_F(CheckerTest, WhatIsNotWrittenIsWrong) {
  bind(kSmall);
  expect_wrong("block BUG=silent", "400 of 400 elements differ in being finite");
}

TEST_F(CheckerTest, ReadingTheOldOutputIsWrong) {
  bind(kSmall);
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);  // leaves nothing to be read
  expect_wrong("block BUG=stale", "the reference says ");
}

TEST_F(CheckerTest, InfinityIsWrong) {
  bind(kSmall);
  expect_wrong("block BUG=infinite", "y[3, 1] is inf, the reference says ");
}

TEST_F(CheckerTest, OneWrongElementIsNamed) {
  bind(kSmall);
  expect_wrong("block BUG=last_element", "y[3, 99] is ");
}

TEST_F(CheckerTest, OneWrongElementWithinTheTensorsToleranceIsNamed) {
  bind({{"rows", "2000"}, {"columns", "128"}, {"T", "f16"}});
  expect_wrong("block BUG=last_element", "one element may be off by");
}

TEST_F(CheckerTest, EveryOutputIsCompared) {
  bind(kSummed);
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);
  expect_wrong("block BUG=wrong_sum", "sum[");
  bind(kSmall);
  EXPECT_EQ(check("block BUG=wrong_sum").outcome, Outcome::ok);  // nobody asked for the sum
}

TEST_F(CheckerTest, AMissingBarrierIsNamed) {
  bind(kSmall);
  const CheckRecord record = check("block BUG=missing_barrier");
  EXPECT_EQ(record.outcome, Outcome::wrong);
  EXPECT_THAT(record.message,
              StartsWith("outputs differ between thread orders forward and reversed, first at y["));
  EXPECT_THAT(record.message, HasSubstr("a barrier is missing?"));
  if (std::string(MGTUNE_SANITIZE).find("thread") == std::string::npos) {
    EXPECT_THAT(record.message, HasSubstr("race on shared memory: thread ("));
    EXPECT_THAT(record.message, HasSubstr(line_of("tile[thread] = thread < columns")));
    EXPECT_THAT(record.message, HasSubstr(line_of("float value = tile[column]")));
  }
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);  // in order forward again
}

TEST_F(CheckerTest, AShuffleUnderDivergenceIsNamed) {
  bind(kSmall);
  const CheckRecord record = check("block BUG=divergent_shuffle");
  EXPECT_EQ(record.outcome, Outcome::launch_failed);
  EXPECT_THAT(record.message, HasSubstr("block (0,0,0)"));
  EXPECT_THAT(record.message, HasSubstr("__shfl_xor_sync"));
  EXPECT_THAT(record.message, HasSubstr(line_of("__shfl_xor_sync")));
}

TEST_F(CheckerTest, DeclaredOrderDependenceIsHeldToTheTolerance) {
  bind(kSummed);
  const CheckRecord declared = check("atomic FLAG=0");
  EXPECT_EQ(declared.outcome, Outcome::ok) << declared.message;
  expect_wrong("undeclared_atomic FLAG=0",
               "outputs differ between thread orders forward and reversed, first at sum[");
}

TEST_F(CheckerTest, AWorkspaceThatMustStayZeroedIsLookedAt) {
  bind(kSmall);
  EXPECT_EQ(check("ticket LEFT=0").outcome, Outcome::ok);
  expect_wrong("ticket LEFT=1", "workspace: byte 0 is not zero after the launch");
}

TEST_F(CheckerTest, WritesPastTheWorkspaceAreWrong) {
  bind(kSmall);
  expect_wrong("ticket LEFT=2", "workspace: written past its end");
}

TEST_F(CheckerTest, AConstraintOnTheDimsIsUnsupported) {
  bind(kSmall);
  const CheckRecord record = check("picky FLAG=0");
  EXPECT_EQ(record.outcome, Outcome::unsupported);
  EXPECT_THAT(record.message, HasSubstr("columns % 8 == 0"));
}

TEST_F(CheckerTest, AReadPastTheEndEndsTheProcess) {
  bind(kSmall);
  // AddressSanitizer sees the access itself; ThreadSanitizer stops at the handler that describes
  // it.
  EXPECT_DEATH({ check("block BUG=reads_past_end"); },
               AnyOf(HasSubstr("reads byte 1600 of a buffer of 1600 bytes"),
                     HasSubstr("heap-buffer-overflow"), HasSubstr("signal-unsafe call")));
}

TEST_F(CheckerTest, LaunchArgumentsCanBeLaunchedAgainAndAgain) {
  bind(kSummed);
  ASSERT_EQ(check("block BUG=none").outcome, Outcome::ok);
  const Result<std::vector<LaunchArguments>> arguments = checker_->launch_arguments(*loaded_, 1);
  ASSERT_TRUE(arguments.ok());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(loaded_->launch(arguments->front()).ok());
  const auto* const y = static_cast<const float*>(arguments->front().tensors[1]);
  const auto* const x = static_cast<const float*>(arguments->front().tensors[0]);
  EXPECT_EQ(y[17], 3.0F * x[17]);
  EXPECT_EQ(check("block BUG=none").outcome, Outcome::ok);
}

TEST_F(CheckerTest, EverySetOfBuffersHasTheSameInputs) {
  bind(kSummed);
  ASSERT_EQ(check("block BUG=none").outcome, Outcome::ok);
  const auto arguments = checker_->launch_arguments(*loaded_, 3);
  ASSERT_TRUE(arguments.ok());
  ASSERT_EQ(arguments->size(), 3U);
  const auto* const x = static_cast<const float*>((*arguments)[0].tensors[0]);
  for (std::size_t set = 1; set < 3; ++set) {
    const LaunchArguments& launch = (*arguments)[set];
    EXPECT_NE(launch.tensors[0], (*arguments)[set - 1].tensors[0]);
    ASSERT_TRUE(loaded_->launch(launch).ok());
    EXPECT_EQ(static_cast<const float*>(launch.tensors[1])[17], 3.0F * x[17]);
  }
  EXPECT_GT(checker_->set_bytes(), 0);
}

TEST_F(CheckerTest, TheSeedsDiffer) {
  // Zero would pass any kernel that ignores its input.
  bind(kSmall);
  ASSERT_EQ(check("block BUG=none").outcome, Outcome::ok);
  const Result<std::vector<LaunchArguments>> arguments = checker_->launch_arguments(*loaded_, 1);
  const auto* const x = static_cast<const float*>(arguments->front().tensors[0]);
  double sum = 0, squares = 0;
  for (int i = 0; i < 400; ++i) {
    sum += x[i];
    squares += static_cast<double>(x[i]) * x[i];
  }
  EXPECT_NEAR(sum / 400, 0, 0.25);
  EXPECT_NEAR(squares / 400, 1, 0.35);
}

// state += x, in place; indices from a fill kernel of reference.cu.
constexpr char kAddJson[] = R"json({
  "format": 1,
  "dims": {"count": "dynamic"},
  "flags": {"twice": "bool"},
  "tensors": {
    "x": {"role": "in", "dtype": "f64", "shape": ["count"], "fill": "uniform(1, 2)"},
    "index": {"role": "in", "dtype": "i32", "shape": ["count"], "fill": {"kernel": "fill_index"}},
    "state": {"role": "inout", "dtype": "f32", "shape": ["count"], "fill": "normal"},
    "hits": {"role": "out", "dtype": "i32", "shape": ["count"]}
  },
  "cost": {"bytes": "count", "flops": "count"},
  "check": {"reference": "add_reference", "measure": "relative_l2",
            "tolerance": {"f32": 1e-6, "i32": 0}},
  "designs": {"plain": {
    "source": "add.cu", "params": {"HITS": [1, 2]},
    "launches": [{"kernel": "add<twice, HITS>", "grid": ["ceil_div(count, 64)"], "block": ["64"],
                  "args": ["x", "index", "state", "hits", "count:i64"]}],
    "defaults": [{"HITS": 1}]}}
})json";

constexpr char kAddSource[] = R"cuda(
template <bool kTwice, int kHits>
__global__ void add(const double* x, const int* index, float* state, int* hits, long long count) {
  const long long i = blockIdx.x * 64 + threadIdx.x;
  if (i >= count) return;
  state[i] += static_cast<float>(x[index[i]] * (kTwice ? 2 : 1));
  hits[i] = kHits;
}
)cuda";

constexpr char kAddReference[] = R"cuda(
__global__ void add_reference(const double* x, const int* index, double* state, double* hits,
                              bool twice, long long count) {
  for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
       i += gridDim.x * blockDim.x) {
    state[i] += x[index[i]] * (twice ? 2 : 1);
    hits[i] = 1;
  }
}

template <typename T>
__global__ void fill_index(T* out, unsigned long long seed, long long count) {
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  for (long long i = 0; i < count; ++i) out[i] = static_cast<T>((i * 7 + seed) % count);
}
)cuda";

class InPlaceCheckerTest : public CheckerTest {
 protected:
  void SetUp() override {
    CheckerTest::SetUp();
    use("add", {{"add.json", kAddJson}, {"add.cu", kAddSource}, {"reference.cu", kAddReference}});
  }
};

TEST_F(InPlaceCheckerTest, InoutFlagsFillKernelsAndIntegersPass) {
  for (const char* twice : {"false", "true"}) {
    bind({{"count", "200"}, {"twice", twice}});
    const CheckRecord record = check("plain HITS=1");
    EXPECT_EQ(record.outcome, Outcome::ok) << record.message;
  }
}

TEST_F(InPlaceCheckerTest, IntegersAreComparedExactly) {
  bind({{"count", "200"}});
  expect_wrong("plain HITS=2", "hits[0] is 2, the reference says 1");
}

TEST_F(CheckerTest, AnUnservedFillIsUnsupported) {
  std::string json = kAddJson;
  const std::string fill = R"({"kernel": "fill_index"})";
  json.replace(json.find(fill), fill.size(), R"({"op": "other.forward", "output": "o"})");
  use("add", {{"add.json", json}, {"add.cu", kAddSource}, {"reference.cu", kAddReference}});
  const Result<Problem> problem = bind_problem(*op_, {{"count", "5"}});
  ASSERT_TRUE(problem.ok());
  const Status status = Checker::make(*device_, builder_, *problem).status();
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_THAT(status.message(), HasSubstr("tensor index"));
  EXPECT_THAT(status.message(), HasSubstr("other.forward"));
}

TEST_F(CheckerTest, AReferenceThatDoesNotCompileIsNamed) {
  use("scale",
      {{"scale.json", kScaleJson},
       {"scale.cu", kScaleSource},
       {"reference.cu", "template <typename T> __global__ void scale_reference(T* x) { x }"}});
  const Result<Problem> problem = bind_problem(*op_, kSmall);
  ASSERT_TRUE(problem.ok());
  const Status status = Checker::make(*device_, builder_, *problem).status();
  EXPECT_EQ(status.code(), StatusCode::compile_failed);
  EXPECT_THAT(status.message(), HasSubstr("reference.cu:1"));
}

TEST_F(CheckerTest, AReferenceWithOtherParametersIsNamed) {
  use("scale",
      {{"scale.json", kScaleJson},
       {"scale.cu", kScaleSource},
       {"reference.cu", "template <typename T> __global__ void scale_reference(T* x) {}"}});
  const Result<Problem> problem = bind_problem(*op_, kSmall);
  ASSERT_TRUE(problem.ok());
  EXPECT_THAT(Checker::make(*device_, builder_, *problem).status().message(),
              HasSubstr("scale_reference<float> takes 1 parameters, the operator gives it 8"));
}

std::string hash_with(const std::string& from, const std::string& to) {
  std::map<std::string, std::string> files{
      {"scale.json", kScaleJson}, {"scale.cu", kScaleSource}, {"reference.cu", kScaleReference}};
  for (auto& [path, text] : files) {
    const std::size_t place = text.find(from);
    if (place != std::string::npos) text.replace(place, from.size(), to);
  }
  const Result<Operator> op = decode("scale", files);
  EXPECT_TRUE(op.ok()) << op.status().message();
  return op.ok() ? reference_hash(*op) : "";
}

TEST(ReferenceHash, ChangesWithWhatACheckComparesAndWithNothingElse) {
  const std::string before = hash_with("", "");
  EXPECT_EQ(before.size(), 64U);
  EXPECT_EQ(hash_with("", ""), before);
  EXPECT_EQ(hash_with("float value = tile", "float  value = tile"), before);  // a variant's source
  EXPECT_NE(hash_with("double total = 0;", "double total = 1;"), before);
  EXPECT_NE(hash_with("\"f16\": 1e-3", "\"f16\": 2e-3"), before);
  EXPECT_NE(hash_with("\"fill\": \"normal\"", "\"fill\": \"uniform(0, 1)\""), before);
  EXPECT_NE(hash_with("\"check\": 3.0", "\"check\": 4.0"), before);
}

}  // namespace
}  // namespace mgtune
