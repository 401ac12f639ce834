#include "launch/launch_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/helpers/operators/golden_operators.h"
#include "tests/helpers/operators/toy_operators.h"

namespace mgtune {
namespace {

using testing::HasSubstr;

LaunchProgram compiled(const Operator& op, const Binding& binding, const std::string& variant,
                       std::int64_t blocks_per_sm = 1) {
  const Variant parsed = variant_of(op, variant);
  Result<Slots> slots = compile_slots(binding, parsed, kH200);
  EXPECT_TRUE(slots.ok()) << slots.status().message();
  (*slots)[kSlotBuildBlocksPerSm] = blocks_per_sm;
  EXPECT_TRUE(evaluate_lets(op.designs[std::size_t(parsed.design)], Stage::load, *slots).ok());
  Result<LaunchProgram> program = LaunchProgram::compile(op, parsed, kH200, *slots);
  EXPECT_TRUE(program.ok()) << program.status().message();
  return std::move(program).value();
}

template <typename T>
T argument(const LaunchFrame& frame, std::size_t index) {
  T value;
  std::memcpy(&value, frame.pointers[index], sizeof(T));
  return value;
}

TEST(LaunchProgram, EncodesArgumentsInTheirDeclaredTypes) {
  const Operator op = toy_norm();
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  const LaunchProgram program = compiled(op, binding, "row THREADS=128 VEC=4");
  alignas(16) std::array<float, 4> x{}, y{};
  const std::array<std::int64_t, 2> dims = {7, -1};
  const std::array<void*, 3> tensors = {x.data(), y.data(), nullptr};
  std::array<ScalarValue, 1> scalars;
  scalars[0].f32 = 0.25F;
  const LaunchArguments arguments{dims, tensors, scalars, nullptr, nullptr};

  LaunchFrame frame;
  ASSERT_TRUE(program.begin(dims, frame).ok());
  ASSERT_TRUE(program.check_arguments(arguments, frame).ok());
  ASSERT_TRUE(program.admits(tensors, frame));
  KernelLaunch launch;
  const Result<bool> launched = program.geometry(0, frame, launch);
  ASSERT_TRUE(launched.ok() && *launched);
  EXPECT_EQ(launch.grid, (std::array<std::uint32_t, 3>{7, 1, 1}));
  EXPECT_EQ(launch.block, (std::array<std::uint32_t, 3>{128, 1, 1}));
  ASSERT_TRUE(program.encode(0, arguments, frame).ok());
  EXPECT_EQ(argument<void*>(frame, 0), x.data());
  EXPECT_EQ(argument<void*>(frame, 2), nullptr);
  EXPECT_EQ(argument<std::int64_t>(frame, 3), 7);
  EXPECT_EQ(argument<std::int32_t>(frame, 4), 64);  // x_stride's default
  EXPECT_EQ(argument<float>(frame, 5), 0.25F);
  EXPECT_EQ(program.argument_bytes(0), (std::vector<std::size_t>{8, 8, 8, 8, 4, 4}));
}

TEST(LaunchProgram, RefusesAnArgumentThatItsTypeCannotHold) {
  const Operator op = toy_norm();
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  const LaunchProgram program = compiled(op, binding, "row THREADS=128 VEC=1");
  const std::array<std::int64_t, 2> dims = {7, std::int64_t{1} << 31};
  std::array<ScalarValue, 1> scalars{};
  const std::array<void*, 3> tensors{};
  LaunchFrame frame;
  ASSERT_TRUE(program.begin(dims, frame).ok());
  const Status status = program.encode(0, {dims, tensors, scalars, nullptr, nullptr}, frame);
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("x_stride = 2147483648, which i32 cannot hold"));
}

TEST(LaunchProgram, ChecksDims) {
  const Operator op = toy_norm();
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  const LaunchProgram program = compiled(op, binding, "row THREADS=128 VEC=1");
  const auto message = [&](std::vector<std::int64_t> dims) {
    LaunchFrame frame;
    return program.begin(dims, frame).message();
  };
  EXPECT_EQ(message({1}), "toy.norm: 1 dims passed, 2 declared");
  EXPECT_EQ(message({-1, 64}), "toy.norm: dim 'rows' has no default");
  EXPECT_EQ(message({-2, 64}), "toy.norm: dim 'rows' is -2");
  EXPECT_EQ(message({4, -3}), "toy.norm: dim 'x_stride' is -3");
  EXPECT_EQ(message({1000001, -1}),
            "toy.norm rows=1000001 x_stride=64: the constraint rows <= 1000000 does not hold");
  EXPECT_EQ(message({0, -1}), "");
}

TEST(LaunchProgram, ChecksTensorsAgainstTheBinding) {
  const Operator op = toy_norm();
  const Binding with = bound(op, {{"hidden", "64"}, {"T", "f32"}, {"rstd", "true"}});
  const Binding without = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  alignas(16) std::array<float, 8> memory{};
  std::array<ScalarValue, 1> scalars{};
  const auto message = [&](const Binding& binding, std::vector<void*> tensors,
                           std::int64_t rows = 1) {
    const LaunchProgram program = compiled(op, binding, "row THREADS=128 VEC=1");
    const std::array<std::int64_t, 2> dims = {rows, -1};
    LaunchFrame frame;
    EXPECT_TRUE(program.begin(dims, frame).ok());
    return program.check_arguments({dims, tensors, scalars, nullptr, nullptr}, frame).message();
  };
  void* good = memory.data();
  void* odd = reinterpret_cast<char*>(memory.data()) + 2;
  EXPECT_EQ(message(without, {good, good, nullptr}), "");
  EXPECT_EQ(message(with, {good, good, good}), "");
  EXPECT_EQ(message(without, {good, good, good}),
            "toy.norm: tensor 'rstd' is passed, but the plan is without it");
  EXPECT_EQ(message(with, {good, good, nullptr}), "toy.norm: tensor 'rstd' is null");
  EXPECT_EQ(message(without, {nullptr, good, nullptr}), "toy.norm: tensor 'x' is null");
  EXPECT_EQ(message(without, {nullptr, nullptr, nullptr}, 0), "") << "empty tensors may be null";
  EXPECT_EQ(message(without, {odd, good, nullptr}),
            "toy.norm: tensor 'x' is not aligned to 4 bytes");
  EXPECT_EQ(message(without, {good, good}),
            "toy.norm: 2 tensors and 1 scalars passed, 3 and 1 declared");
}

TEST(LaunchProgram, AdmitsByConstraintAndAlignment) {
  const Operator op = toy_norm();
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  const LaunchProgram program = compiled(op, binding, "row THREADS=128 VEC=4");
  alignas(16) std::array<float, 8> memory{};
  const std::array<void*, 3> aligned = {memory.data(), memory.data() + 4, nullptr};
  const std::array<void*, 3> offset = {memory.data() + 1, memory.data(), nullptr};
  LaunchFrame frame;
  ASSERT_TRUE(program.begin(std::vector<std::int64_t>{3, 68}, frame).ok());
  EXPECT_TRUE(program.admits(aligned, frame));
  EXPECT_TRUE(program.admits({}, frame));
  EXPECT_FALSE(program.admits(offset, frame));
  Status reason;
  EXPECT_FALSE(program.admits(offset, frame, &reason));
  EXPECT_EQ(reason.message(), "tensor 'x' is not aligned to 16 bytes");
  ASSERT_TRUE(program.begin(std::vector<std::int64_t>{3, 67}, frame).ok());
  EXPECT_FALSE(program.admits(aligned, frame, &reason));
  EXPECT_EQ(reason.message(), "the constraint x_stride % VEC == 0 does not hold");
}

TEST(LaunchProgram, SkipsEmptyGridsAndFalseConditions) {
  const Operator op = toy_split();
  const Binding binding = bound(op, {{"width", "64"}, {"T", "f32"}});
  const LaunchProgram program = compiled(op, binding, "split THREADS=64 WAVES=2");
  ASSERT_EQ(program.kernels(), 2U);
  const auto launched = [&](std::int64_t batch, std::int64_t length, std::size_t kernel) {
    LaunchFrame frame;
    EXPECT_TRUE(program.begin(std::vector<std::int64_t>{batch, length}, frame).ok());
    EXPECT_TRUE(program.admits({}, frame));
    KernelLaunch launch;
    const Result<bool> result = program.geometry(kernel, frame, launch);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return *result;
  };
  EXPECT_TRUE(launched(2, 320, 0));
  EXPECT_TRUE(launched(2, 320, 1));
  EXPECT_FALSE(launched(2, 32, 1)) << "one split: nothing to combine";
  EXPECT_FALSE(launched(0, 320, 0)) << "a grid with a zero";
}

TEST(LaunchProgram, RefusesImpossibleGeometry) {
  const Operator op = toy_split();
  const Binding binding = bound(op, {{"width", "64"}, {"T", "f32"}});
  const LaunchProgram program = compiled(op, binding, "split THREADS=64 WAVES=1");
  LaunchFrame frame;
  ASSERT_TRUE(program.begin(std::vector<std::int64_t>{65536, 32}, frame).ok());
  ASSERT_TRUE(program.admits({}, frame));
  KernelLaunch launch;
  const Result<bool> result = program.geometry(0, frame, launch);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.status().message(),
              HasSubstr("kernel split asks for a grid of 1 x 65536 x 1"));
}

TEST(LaunchProgram, LaysOutTheWorkspaceWithZeroedBuffersInFront) {
  const Operator op = toy_split();
  const Binding binding = bound(op, {{"width", "64"}, {"T", "f32"}});
  const LaunchProgram program = compiled(op, binding, "split THREADS=64 WAVES=1");
  LaunchFrame frame;
  ASSERT_TRUE(program.begin(std::vector<std::int64_t>{100, 64}, frame).ok());
  ASSERT_TRUE(program.admits({}, frame));
  const Result<LoadedVariant::WorkspaceSize> one_split = program.size_workspace(frame);
  ASSERT_TRUE(one_split.ok());
  EXPECT_EQ(one_split->zeroed_bytes, 512);  // 100 tickets of 4 bytes, rounded up
  EXPECT_EQ(one_split->bytes, 512 + 512);   // and 100 sums; slots / batch = 1: no partial

  ASSERT_TRUE(program.begin(std::vector<std::int64_t>{10, 64}, frame).ok());
  ASSERT_TRUE(program.admits({}, frame));
  const Result<LoadedVariant::WorkspaceSize> size = program.size_workspace(frame);
  ASSERT_TRUE(size.ok());
  EXPECT_EQ(size->zeroed_bytes, 256);
  EXPECT_EQ(size->bytes, 256 + 256 + 2 * 10 * 64 * 4);
  alignas(256) static std::array<unsigned char, 8192> memory;
  program.place_workspace(memory.data(), 1024, frame);
  EXPECT_EQ(frame.buffers[2], memory.data());  // ticket
  EXPECT_EQ(frame.buffers[0], memory.data() + 1024);
  EXPECT_EQ(frame.buffers[1], memory.data() + 1024 + 5120);
  EXPECT_TRUE(program.zeroed_each_launch(1));
}

// A map over x, and the kernel takes it instead of x.
constexpr char kMap[] = R"json("tensor_maps": {"x_map": {"tensor": "x",
    "extent": ["hidden", "rows"], "stride": ["x_stride"], "box": ["32", "min(rows, VEC)"],
    "swizzle": "64B", "l2": "256B"}}, "args": ["x_map")json";

Operator norm_with_map() {
  return decode_toy("toy.norm", replaced(kToyNorm, "\"args\": [\"x\"", kMap));
}

TEST(LaunchProgram, DescribesTensorMapsForEachLaunch) {
  const Operator op = norm_with_map();
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "bf16"}});
  const LaunchProgram program = compiled(op, binding, "row THREADS=128 VEC=4");
  EXPECT_EQ(program.argument_bytes(0).front(), 128U);
  ASSERT_EQ(program.tensor_maps(0), 1U);
  alignas(16) std::array<float, 4> x{}, y{};
  const std::array<void*, 3> tensors = {x.data(), y.data(), nullptr};
  const std::array<ScalarValue, 1> scalars{};
  LaunchFrame frame;
  for (const std::int64_t rows : {7, 3}) {
    const std::array<std::int64_t, 2> dims = {rows, 72};
    const LaunchArguments arguments{dims, tensors, scalars, nullptr, nullptr};
    ASSERT_TRUE(program.begin(dims, frame).ok());
    TensorMapRequest request;
    const Status status = program.tensor_map(0, 0, arguments, frame, request);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(request.memory, x.data());
    EXPECT_EQ(request.dtype, DType::bf16);
    EXPECT_EQ(request.rank, 2U);
    EXPECT_EQ(request.extent[0], 64U);
    EXPECT_EQ(request.extent[1], static_cast<std::uint64_t>(rows));
    EXPECT_EQ(request.stride_bytes[0], 144U);
    EXPECT_EQ(request.box[0], 32U);
    EXPECT_EQ(request.box[1], static_cast<std::uint32_t>(std::min<std::int64_t>(rows, 4)));
    EXPECT_EQ(request.swizzle, TensorMap::Swizzle::bytes_64);
    EXPECT_EQ(request.l2, TensorMap::L2::bytes_256);
    ASSERT_TRUE(program.encode(0, arguments, frame).ok());
    EXPECT_EQ(frame.pointers[0], &frame.tensor_maps[0]);
  }
}

TEST(LaunchProgram, ATensorMapOfNoSizeIsNamed) {
  const Operator op = norm_with_map();
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  const LaunchProgram program = compiled(op, binding, "row THREADS=128 VEC=4");
  const std::array<void*, 3> tensors{};
  const std::array<std::int64_t, 2> dims = {0, -1};
  LaunchFrame frame;
  ASSERT_TRUE(program.begin(dims, frame).ok());
  TensorMapRequest request;
  const Status status = program.tensor_map(
      0, 0, LaunchArguments{dims, tensors, {}, nullptr, nullptr}, frame, request);
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("the tensor map x_map of kernel norm"));
}

TEST(LaunchProgram, OlderDevicesHaveNoTensorMaps) {
  const Operator op = norm_with_map();
  const Binding binding = bound(op, {{"hidden", "64"}, {"T", "f32"}});
  const Variant variant = variant_of(op, "row THREADS=128 VEC=4");
  DeviceLimits a100 = kH200;
  a100.compute_capability = 80;
  Result<Slots> slots = compile_slots(binding, variant, a100);
  ASSERT_TRUE(slots.ok());
  const Result<LaunchProgram> program = LaunchProgram::compile(op, variant, a100, *slots);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), StatusCode::unsupported);
  EXPECT_THAT(program.status().message(), HasSubstr("kernel norm of toy.norm takes tensor maps"));
}

}  // namespace
}  // namespace mgtune
