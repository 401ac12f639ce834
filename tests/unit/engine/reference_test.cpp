// The way `reference` against plain formulas, what it refuses, and that nothing behind the end of a
// sequence is read.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program/text_form.h"
#include "reference/execute.h"
#include "reference/reference_machine.h"
#include "reference/sampler.h"
#include "schedule/schedule.h"
#include "tests/helpers/engine_models.h"
#include "validate/validate.h"

namespace mgtune::engine {
namespace {

using ::testing::HasSubstr;

std::vector<float> floats_of(const MachineMemory& memory, const Program& program,
                             std::string_view name) {
  const Buffer& buffer = program.buffers[*program.find_buffer(name)];
  std::vector<float> values(buffer.elements);
  std::memcpy(values.data(), memory.read(buffer).data(), values.size() * sizeof(float));
  return values;
}

void set_floats(MachineMemory& memory, const Program& program, std::string_view name,
                const std::vector<float>& values) {
  const Buffer& buffer = program.buffers[*program.find_buffer(name)];
  ASSERT_EQ(values.size(), buffer.elements);
  std::memcpy(memory.write(buffer).data(), values.data(), values.size() * sizeof(float));
}

// A program of one instruction, without weights: all inputs are scratch that the test sets.
Program one_instruction(const std::string& lines) {
  return must(program_from_text(
      "mgengine program 1\nrows=1 capacity=4 positions=4 vocabulary=4 queues=1 counters=0\n" +
      lines));
}

TEST(ReferenceTest, LinearWithNormGateAndResidual) {
  const Program program = one_instruction(
      "buffer x scratch f32 2 @0\nbuffer w scratch f32 8 @256\nbuffer b scratch f32 4 @512\n"
      "buffer n scratch f32 2 @768\nbuffer r scratch f32 2 @1024\nbuffer y scratch f32 2 @1280\n"
      "linear rows=1 in=2 out=4 norm=rms epsilon=1e-06 activation=silu_gate input=x weight=w "
      "bias=b "
      "norm_weight=n residual=r output=y\n");
  MachineMemory memory = must(MachineMemory::create(std::span(&program, 1), {}));
  set_floats(memory, program, "x", {3, 4});
  set_floats(memory, program, "n", {1, 2});
  set_floats(memory, program, "w", {1, 0, 0, 1, 1, 1, 2, -1});
  set_floats(memory, program, "b", {0.5, 0, 0, 1});
  set_floats(memory, program, "r", {10, 20});
  const Status status = execute_step(program, memory);
  ASSERT_TRUE(status.ok()) << status.message();
  const double scale = 1 / std::sqrt(12.5);
  const double x0 = 3 * scale;
  const double x1 = 8 * scale;
  const auto silu = [](double v) { return v / (1 + std::exp(-v)); };
  const std::vector<float> y = floats_of(memory, program, "y");
  EXPECT_NEAR(y[0], silu(x0 + 0.5) * (x0 + x1) + 10, 1e-5);
  EXPECT_NEAR(y[1], silu(x1) * (2 * x0 - x1 + 1) + 20, 1e-5);
}

TEST(ReferenceTest, AnEmptyPartOfTheKeysCountsForNothing) {
  // Three keys in four parts: the last part is empty.
  const Program program = one_instruction(
      "buffer lengths state i32 1 @0\nbuffer k state f32 8 @256\nbuffer v state f32 8 @512\n"
      "buffer q scratch f32 2 @0\nbuffer p scratch f32 8 @256\nbuffer s scratch f32 4 @512\n"
      "buffer y scratch f32 2 @768\nbuffer z scratch f32 2 @1024\n"
      "attention_partial rows=1 heads=1 kv_heads=1 head_dim=2 capacity=4 splits=4 scale=0.5 "
      "input=q "
      "output=p lengths=lengths keys=k values=v statistics=s\n"
      "attention_reduce rows=1 heads=1 head_dim=2 splits=4 input=p output=y statistics=s\n"
      "attention rows=1 heads=1 kv_heads=1 head_dim=2 capacity=4 scale=0.5 input=q output=z "
      "lengths=lengths keys=k values=v\n");
  MachineMemory memory = must(MachineMemory::create(std::span(&program, 1), {}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  set_floats(memory, program, "q", {1, -1});
  set_floats(memory, program, "k", {1, 0, 0, 1, 2, 2, nan, nan});
  set_floats(memory, program, "v", {1, 2, 3, 4, 5, 6, nan, nan});
  memory.write(program.buffers[0])[0] = std::byte{3};
  const Status status = execute_step(program, memory);
  ASSERT_TRUE(status.ok()) << status.message();
  const std::vector<float> y = floats_of(memory, program, "y");
  const std::vector<float> z = floats_of(memory, program, "z");
  const double a = std::exp(0.5);
  const double b = std::exp(-0.5);
  EXPECT_NEAR(z[0], (a * 1 + b * 3 + 5) / (a + b + 1), 1e-6);
  EXPECT_NEAR(z[1], (a * 2 + b * 4 + 6) / (a + b + 1), 1e-6);
  EXPECT_NEAR(y[0], z[0], 1e-6);
  EXPECT_NEAR(y[1], z[1], 1e-6);
  EXPECT_EQ(floats_of(memory, program, "s")[3], -std::numeric_limits<float>::infinity());
}

TEST(ReferenceTest, WhatLiesBehindASequenceIsNeverRead) {
  SessionOptions options;
  options.rows = 2;
  Session session = test_session("mistral", options);
  // NaN in all caches; the steps overwrite only their own positions.
  for (const Buffer& buffer : session.programs()[0].buffers) {
    if (buffer.kind != BufferKind::state || buffer.dtype != DType::f32) continue;
    const std::vector<std::byte> poison(*size_in_bytes(buffer), std::byte{0xff});
    ASSERT_TRUE(session.machine().write(buffer, poison).ok());
  }
  EXPECT_LT(largest_difference(session, expected_logits("mistral")), 1e-5);
}

TEST(ReferenceTest, StepsOutOfRangeAreRefusedAndChangeNothing) {
  Session session = test_session("gpt2", {});
  const auto message = [&](std::vector<std::int32_t> tokens) {
    return session.step(tokens).message();
  };
  EXPECT_THAT(message({96}), HasSubstr("token 96 of sequence 0 is not below 96"));
  EXPECT_THAT(message({-1}), HasSubstr("token -1 of sequence 0"));
  EXPECT_THAT(message({1, 2}), HasSubstr("2 tokens for 1 sequences"));
  EXPECT_EQ(session.position(), 0U);
  ASSERT_TRUE(session.set_position(31).ok());
  EXPECT_EQ(message({5}), "");
  EXPECT_THAT(message({5}), HasSubstr("the caches are full: they have room for 32 tokens"));
  EXPECT_FALSE(session.set_position(33).ok());
  EXPECT_FALSE(session.logits(1).ok());
}

TEST(ReferenceTest, SequencesOfABatchDoNotTouchEachOther) {
  SessionOptions options;
  Session alone = test_session("llama", options);
  options.rows = 3;
  Session batch = test_session("llama", options);
  for (const std::int32_t token : {5, 17, 90, 3}) {
    ASSERT_TRUE(alone.step(std::vector{token}).ok());
    ASSERT_TRUE(batch.step(std::vector{95 - token, token, token / 2}).ok());
    EXPECT_EQ(must(alone.logits(0)), must(batch.logits(1)));
    EXPECT_NE(must(alone.logits(0)), must(batch.logits(0)));
  }
}

TEST(ReferenceTest, GoingBackToAPositionGivesTheSameLogits) {
  Session session = test_session("qwen2", {});
  std::vector<float> first;
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(session.set_position(0).ok());
    for (const std::int32_t token : {7, 8, 9}) ASSERT_TRUE(session.step(std::vector{token}).ok());
    if (round == 0) first = must(session.logits(0));
    ASSERT_TRUE(session.step(std::vector{1}).ok());
    ASSERT_TRUE(session.set_position(2).ok());
    ASSERT_TRUE(session.step(std::vector{9}).ok());
    EXPECT_EQ(must(session.logits(0)), first);
  }
}

TEST(ReferenceTest, SamplingFollowsTheProbabilities) {
  const std::vector<float> logits = {0, std::log(2.0F), std::log(5.0F), -1000};
  EXPECT_EQ(argmax(logits), 2);
  EXPECT_EQ(argmax(std::vector<float>{1, 3, 3}), 1);
  EXPECT_EQ(argmax(std::vector<float>{std::nanf(""), 3}), 1);
  EXPECT_EQ(argmax(std::vector<float>{std::nanf(""), std::nanf("")}), 0);
  EXPECT_EQ(sample_token(logits, 0, 1, 0.01F), 2);
  EXPECT_EQ(sample_token(logits, 1, 1, 0.12F), 0);  // below 1/8
  EXPECT_EQ(sample_token(logits, 1, 1, 0.13F), 1);  // below 3/8
  EXPECT_EQ(sample_token(logits, 1, 1, 0.38F), 2);
  EXPECT_EQ(sample_token(logits, 1, 1, 0.9999F), 2);  // the last token is impossible
  // 5/8 and 2/8 reach 0.7, so the first token is cut off.
  EXPECT_EQ(sample_token(logits, 1, 0.7F, 0.28F), 1);
  EXPECT_EQ(sample_token(logits, 1, 0.7F, 0.29F), 2);
  EXPECT_EQ(sample_token(logits, 1, 0.1F, 0.99F), 2);
  // Half of four equals.
  EXPECT_EQ(sample_token(std::vector<float>(4, 3), 1, 0.5F, 0.51F), 1);
  EXPECT_EQ(sample_token(std::vector<float>(4, 3), 1, 0.5F, 0.49F), 0);
}

}  // namespace
}  // namespace mgtune::engine
