// Lowering and scheduling: the programs of a model have the same results whatever the options are,
// share their state, and take little scratch memory.

#include "schedule/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "program/operation.h"
#include "program/text_form.h"
#include "schedule/dependencies.h"
#include "tests/helpers/engine_programs.h"
#include "validate/validate.h"

namespace mgtune::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Buffer> buffers_of(const Program& program, BufferKind kind) {
  std::vector<Buffer> found;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.kind == kind) found.push_back(buffer);
  }
  return found;
}

TEST(ScheduleTest, AllProgramsOfAModelShareWeightsAndState) {
  LowerOptions options;
  const LoweredModel plain = must(lower(smallest_model(), options));
  options.positions = 4;
  options.splits = 2;
  options.fuse_norms = false;
  options.sample = true;
  const LoweredModel other = must(lower(smallest_model(), options));
  const Program scheduled = must(schedule(other.program, 3));
  for (const BufferKind kind : {BufferKind::weight, BufferKind::state, BufferKind::output}) {
    EXPECT_EQ(buffers_of(plain.program, kind), buffers_of(scheduled, kind));
  }
}

TEST(ScheduleTest, AProgramDoesAllWorkOnce) {
  const LoweredModel model = must(lower(smallest_model(), {}));
  std::map<std::uint32_t, int> uses;
  std::uint64_t bytes = 0;
  for (const Instruction& instruction : model.program.instructions) {
    if (instruction.has(Operand::weight)) ++uses[instruction.at(Operand::weight)];
    if (instruction.opcode == Opcode::linear) bytes += instruction.bytes;
  }
  std::uint64_t weights = 0;
  for (std::uint32_t i = 0; i < model.program.buffers.size(); ++i) {
    const Buffer& buffer = model.program.buffers[i];
    if (buffer.kind != BufferKind::weight || buffer.name.find("norm") != std::string::npos)
      continue;
    if (buffer.name == "rotary_table") continue;
    // The embedding is the head too.
    EXPECT_EQ(uses[i], buffer.name == "embedding.weight" ? 2 : 1) << buffer.name;
    weights += *size_in_bytes(buffer);
  }
  EXPECT_EQ(bytes, weights);
}

TEST(ScheduleTest, ScratchMemoryIsReused) {
  LowerOptions options;
  options.rows = 8;
  ModelConfig config = smallest_model();
  config.layers = 20;
  config.width = 64;
  const LoweredModel model = must(lower(config, options));
  const Program program = must(schedule(model.program, 1));
  // The residual stream is added to in place, so there is only one.
  int streams = 0;
  for (const Buffer& buffer : buffers_of(program, BufferKind::scratch)) {
    streams += buffer.name.find("stream") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(streams, 1);
  // No more than the stream and what one layer has beside it.
  const std::uint64_t stream = 8 * 64 * sizeof(float);
  EXPECT_LE(*arena_bytes(program, BufferKind::scratch), 2 * stream);
  EXPECT_GT(*arena_bytes(model.program, BufferKind::scratch), 40 * stream);
}

TEST(ScheduleTest, SplitsAndNormsOfTheirOwnChangeNothingButRounding) {
  const LoweredModel plain = must(lower(smallest_model(), {}));
  RandomRunner runner(plain);
  const auto logits_of = [&](const Program& program) {
    const RandomRunner::Outcome outcome = runner.run(program, 1);
    EXPECT_EQ(outcome.failure, "");
    // The logits are the last buffer but the state of `sampling`.
    std::vector<float> logits(program.vocabulary);
    const std::size_t sampling = 3 * sizeof(float);
    std::memcpy(
        logits.data(),
        outcome.memory.data() + outcome.memory.size() - sampling - logits.size() * sizeof(float),
        logits.size() * sizeof(float));
    return logits;
  };
  const std::vector<float> expected = logits_of(plain.program);
  for (const std::uint32_t splits : {1U, 2U, 3U, 8U, 20U}) {
    LowerOptions options;
    options.splits = splits;
    options.fuse_norms = splits % 2 == 0;
    const std::vector<float> logits =
        logits_of(must(schedule(must(lower(smallest_model(), options)).program, 1)));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(logits[i], expected[i], 1e-6 + 1e-5 * std::abs(expected[i]));
    }
  }
}

TEST(ScheduleTest, TheDeepestModelIsScheduledAndValidated) {
  ModelConfig config = smallest_model();
  config.layers = 1000;
  const Program program = must(schedule(must(lower(config, {})).program, 1));
  EXPECT_EQ(program.instructions.size(), 5003U);
  EXPECT_TRUE(validate(program).ok()) << validate(program).message();
}

TEST(ScheduleTest, DependenciesFollowTheMemory) {
  const Program program = must(program_from_text(
      "mgengine program 1\nrows=1 capacity=1 positions=1 vocabulary=1 queues=1 counters=0\n"
      "buffer a scratch f32 4 @0\nbuffer b scratch f32 4 @256\nbuffer c scratch f32 4 @0\n"
      "zero rows=1 out=4 output=a\n"
      "copy rows=1 out=4 input=a output=b\n"
      "zero rows=1 out=4 output=c\n"  // takes the memory of a
      "copy rows=1 out=4 input=c output=b\n"));
  EXPECT_THAT(dependencies(program),
              ElementsAre(ElementsAre(), ElementsAre(0), ElementsAre(0, 1), ElementsAre(0, 1, 2)));
}

TEST(ScheduleTest, ListSchedulingUsesQueuesForWhatIsIndependent) {
  std::string text =
      "mgengine program 1\nrows=1 capacity=1 positions=1 vocabulary=1 queues=1 counters=0\n"
      "buffer w weight f32 16 @0\n";
  for (int chain = 0; chain < 3; ++chain) {
    for (int step = 0; step < 3; ++step) {
      text += "buffer c" + std::to_string(chain) + "s" + std::to_string(step) + " scratch f32 4 @" +
              std::to_string(256 * (3 * chain + step)) + "\n";
    }
  }
  for (int chain = 0; chain < 3; ++chain) {
    const std::string buffer = "c" + std::to_string(chain) + "s";
    text += "zero rows=1 out=4 output=" + buffer + "0\n";
    for (int step = 1; step < 3; ++step) {
      text += "linear rows=1 in=4 out=4 weight=w input=" + buffer + std::to_string(step - 1) +
              " output=" + buffer + std::to_string(step) + "\n";
    }
  }
  const Program program = must(schedule(must(program_from_text(text)), 3));
  std::vector<int> in_queue(3);
  for (const Instruction& instruction : program.instructions) {
    if (instruction.opcode != Opcode::barrier) ++in_queue[instruction.queue];
  }
  EXPECT_THAT(in_queue, ElementsAre(3, 3, 3));
  EXPECT_TRUE(validate(program).ok()) << validate(program).message();
}

TEST(ScheduleTest, BucketsAndSplits) {
  EXPECT_THAT(position_buckets(32), ElementsAre(32));
  EXPECT_THAT(position_buckets(2048), ElementsAre(256, 1024, 2048));
  EXPECT_EQ(attention_splits(2048, 1, 8, 132), 17U);
  EXPECT_EQ(attention_splits(64, 1, 8, 132), 1U);
  EXPECT_EQ(attention_splits(2048, 8, 8, 1), 1U);
  EXPECT_EQ(attention_splits(131072, 1, 1, 100000), kMaxSplits);
}

TEST(ScheduleTest, ImpossibleOptionsAreRefused) {
  const auto message = [](const LowerOptions& options) {
    const Result<LoweredModel> model = lower(smallest_model(), options);
    return model.ok() ? "lowered" : model.status().message();
  };
  LowerOptions options;
  options.rows = 9;
  EXPECT_THAT(message(options), HasSubstr("9 sequences: a program computes 1 to 8"));
  options = {};
  options.capacity = 9;
  EXPECT_THAT(message(options), HasSubstr("room for 9 positions: the model was made for 8"));
  options.capacity = 4;
  options.positions = 5;
  EXPECT_THAT(message(options), HasSubstr("a bucket of 5 positions"));
  options = {};
  options.precision.weights = DType::i32;
  EXPECT_THAT(message(options), HasSubstr("i32 cannot hold weights"));
  const LoweredModel model = must(lower(smallest_model(), {}));
  EXPECT_FALSE(schedule(model.program, 0).ok());
  EXPECT_FALSE(schedule(with_random_queues(model.program, 3, 1), 2).ok());
}

}  // namespace
}  // namespace mgtune::engine
