// The binary and the text form of a program: both give back what they were given, at the limits of
// every field, and refuse everything else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "program/binary_form.h"
#include "program/operation.h"
#include "program/text_form.h"

namespace mgtune::engine {
namespace {

using ::testing::HasSubstr;

Program small_program() {
  Program program;
  program.rows = 2;
  program.capacity = 16;
  program.positions = 16;
  program.vocabulary = 32;
  program.buffers = {{"tokens", BufferKind::state, DType::i32, 2, 0},
                     {"table", BufferKind::weight, DType::bf16, 128, 0},
                     {"x", BufferKind::scratch, DType::f32, 8, 256}};
  Instruction embed;
  embed.opcode = Opcode::embed;
  embed.rows = 2;
  embed.in = 32;
  embed.out = 4;
  embed.at(Operand::tokens) = 0;
  embed.at(Operand::weight) = 1;
  embed.at(Operand::output) = 2;
  program.instructions = {embed, Instruction()};
  return program;
}

// Every field has its largest value, or another one that no other field has.
Program extreme_program() {
  Program program = small_program();
  constexpr auto kMax = std::numeric_limits<std::uint32_t>::max();
  program.rows = kMax;
  program.capacity = kMax - 1;
  program.positions = kMax - 2;
  program.vocabulary = kMax - 3;
  program.queues = kMax - 4;
  program.counters = kMax - 5;
  program.buffers[1].elements = std::numeric_limits<std::uint64_t>::max();
  program.buffers[2].base = std::numeric_limits<std::uint64_t>::max() - 1;
  Instruction all;
  all.opcode = Opcode::linear;
  all.norm = Norm::layer;
  all.activation = Activation::gelu_tanh;
  all.rotation = Rotation::pairs;
  std::uint32_t number = kMax;
  for (const SizeField& field : kSizeFields) all.*field.member = number--;
  all.queue = number--;
  all.layer = number--;
  all.signal = number--;
  all.epsilon = std::numeric_limits<float>::min();
  all.scale = std::numeric_limits<float>::max();
  all.bytes = std::numeric_limits<std::uint64_t>::max();
  for (std::uint32_t i = 0; i < kOperandCount; ++i) all.operands[i] = i % 3;
  for (Wait& wait : all.waits) wait = {number--, number--};
  program.instructions.push_back(all);
  return program;
}

void expect_bytes_refused(const std::string& bytes, const std::string& message) {
  const Result<Program> program = program_from_bytes(bytes);
  ASSERT_FALSE(program.ok());
  EXPECT_THAT(program.status().message(), HasSubstr(message));
}

void expect_text_refused(const std::string& from, const std::string& to,
                         const std::string& message) {
  std::string text = program_text(small_program());
  const std::size_t place = text.find(from);
  ASSERT_NE(place, text.npos) << from;
  text.replace(place, from.size(), to);
  const Result<Program> program = program_from_text(text);
  ASSERT_FALSE(program.ok());
  EXPECT_THAT(program.status().message(), HasSubstr(message));
}

TEST(ProgramFormsTest, BothFormsGiveBackTheProgram) {
  for (const Program& program : {Program(), small_program(), extreme_program()}) {
    const std::string bytes = program_bytes(program);
    EXPECT_EQ(bytes.size(), kHeaderBytes + program.buffers.size() * kBufferRecordBytes +
                                program.instructions.size() * kInstructionRecordBytes +
                                (program.buffers.empty() ? 0 : 12));
    const Result<Program> from_bytes = program_from_bytes(bytes);
    ASSERT_TRUE(from_bytes.ok()) << from_bytes.status().message();
    EXPECT_EQ(*from_bytes, program);
    const Result<Program> from_text = program_from_text(program_text(program));
    ASSERT_TRUE(from_text.ok()) << from_text.status().message();
    EXPECT_EQ(*from_text, program);
  }
}

TEST(ProgramFormsTest, TheTextIsReadable) {
  EXPECT_EQ(program_text(small_program()),
            "mgengine program 1\n"
            "rows=2 capacity=16 positions=16 vocabulary=32 queues=1 counters=0\n"
            "buffer tokens state i32 2 @0\n"
            "buffer table weight bf16 128 @0\n"
            "buffer x scratch f32 8 @256\n"
            "embed rows=2 in=32 out=4 output=x weight=table tokens=tokens\n"
            "barrier\n");
}

TEST(ProgramFormsTest, RecordsLieWhereTheReadmeSays) {
  const std::string bytes = program_bytes(small_program());
  EXPECT_EQ(bytes.substr(0, 8), "MGENGPRG");
  EXPECT_EQ(bytes[8], 1);
  EXPECT_EQ(bytes[12], 3);
  EXPECT_EQ(bytes[64 + 32 + 4], 5);           // the length of "table"
  EXPECT_EQ(bytes[64 + 3 * 32 + 8], 2);       // rows of embed
  EXPECT_EQ(bytes[64 + 3 * 32 + 64 + 4], 2);  // its output
  EXPECT_EQ(bytes.substr(bytes.size() - 12), "tokenstablex");
}

TEST(ProgramFormsTest, DamagedBytesAreRefusedWithTheirPlace) {
  const std::string bytes = program_bytes(small_program());
  expect_bytes_refused("", "does not begin with MGENGPRG");
  expect_bytes_refused(bytes.substr(0, 20), "cut short");
  expect_bytes_refused(bytes.substr(0, bytes.size() - 1), "its header tells of");
  const auto changed = [&](std::size_t offset, char byte) {
    std::string copy = bytes;
    copy[offset] = byte;
    return copy;
  };
  expect_bytes_refused(changed(8, 2), "version 2");
  expect_bytes_refused(changed(50, 1), "reserved bytes");
  expect_bytes_refused(changed(64 + 6, 9), "buffer 0: unknown kind 9");
  expect_bytes_refused(changed(64 + 7, 10), "buffer 0: unknown dtype 10");
  expect_bytes_refused(changed(64 + 3, 1), "buffer 0: its name lies outside");
  expect_bytes_refused(changed(64 + 96, 11), "instruction 0: unknown opcode 11");
  expect_bytes_refused(changed(64 + 96 + 64 + 4, 3), "instruction 0: output is buffer 3");
}

TEST(ProgramFormsTest, WrongTextIsRefusedWithItsLine) {
  expect_text_refused("program 1", "program 2", "line 1: ");
  expect_text_refused("capacity=16", "capacities=16", "line 2: capacity= comes here");
  expect_text_refused("bf16", "bf17", "line 4: 'bf17' is no dtype");
  expect_text_refused("scratch", "scratsh", "did you mean 'scratch'");
  expect_text_refused("embed", "embet", "line 6: 'embet' is unknown; did you mean 'embed'");
  expect_text_refused("in=32", "in=-1", "'-1' is no number");
  expect_text_refused("output=x", "output=y", "there is no buffer 'y'");
  expect_text_refused("tokens=tokens", "tokens", "is not NAME=VALUE");
  expect_text_refused("buffer x ", "buffer table ", "a second buffer 'table'");
  expect_text_refused("barrier", "barrier wait=1:1,2:1,3:1,4:1,5:1", "more than 4 waits");
}

TEST(ProgramFormsTest, RandomDamageCrashesNothing) {
  std::mt19937 random(1);
  const std::string bytes = program_bytes(extreme_program());
  const std::string text = program_text(extreme_program());
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    for (const std::string& original : {bytes, text}) {
      std::string copy = original;
      for (std::uint32_t i = 0; i <= random() % 3; ++i) {
        copy[random() % copy.size()] = static_cast<char>(random());
      }
      if (random() % 8 == 0) copy.resize(random() % copy.size());
      accepted += program_from_bytes(copy).ok() ? 1 : 0;
      accepted += program_from_text(copy).ok() ? 1 : 0;
    }
  }
  EXPECT_GT(accepted, 0);  // the damage is small enough to reach all checks
}

TEST(ProgramFormsTest, EveryOpcodeUsesEachOperandOnce) {
  for (std::size_t i = 0; i < kOpcodeWords.size(); ++i) {
    std::set<Operand> seen;
    for (const OperandUse& use : operand_uses(static_cast<Opcode>(i))) {
      EXPECT_TRUE(seen.insert(use.operand).second) << kOpcodeWords[i];
    }
    EXPECT_EQ(seen.empty(), static_cast<Opcode>(i) == Opcode::barrier);
  }
}

}  // namespace
}  // namespace mgtune::engine
