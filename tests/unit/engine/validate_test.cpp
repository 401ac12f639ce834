// The validator: it accepts what the schedule makes, names what is wrong with known bad programs,
// and accepts none of thousands of mutated programs that a runner finds bad.

#include "validate/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program/operation.h"
#include "program/text_form.h"
#include "schedule/schedule.h"
#include "tests/helpers/engine_programs.h"

namespace mgtune::engine {
namespace {

using ::testing::HasSubstr;

LoweredModel lowered_smallest(std::uint32_t splits, bool fuse_norms, bool sample) {
  LowerOptions options;
  options.rows = 2;
  options.splits = splits;
  options.fuse_norms = fuse_norms;
  options.sample = sample;
  return must(lower(smallest_model(), options));
}

// Two chains that meet. Everything that the validator checks can go wrong in it.
constexpr std::string_view kTwoQueues =
    "mgengine program 1\n"
    "rows=1 capacity=4 positions=4 vocabulary=6 queues=2 counters=2\n"
    "buffer tokens state i32 1 @0\n"
    "buffer positions state i32 1 @256\n"
    "buffer lengths state i32 1 @512\n"
    "buffer e weight f32 24 @0\n"
    "buffer x scratch f32 4 @0\n"
    "buffer a scratch f32 4 @256\n"
    "buffer b scratch f32 4 @512\n"
    "buffer logits output f32 6 @0\n"
    "embed rows=1 in=6 out=4 output=x weight=e tokens=tokens signal=0\n"
    "copy rows=1 out=4 input=x output=a\n"
    "copy queue=1 rows=1 out=4 input=x output=b wait=0:1 signal=1\n"
    "linear rows=1 in=4 out=6 input=a output=logits weight=e wait=1:1\n"
    "argmax rows=1 in=6 input=logits tokens=tokens positions=positions lengths=lengths\n";

std::string validator_says(const std::string& text) {
  const Result<Program> program = program_from_text(text);
  if (!program.ok()) return "the text is wrong: " + program.status().message();
  const Status status = validate(*program);
  return status.ok() ? "accepted" : status.message();
}

std::string validator_says(std::string_view from, std::string_view to) {
  std::string text(kTwoQueues);
  const std::size_t place = text.find(from);
  EXPECT_NE(place, text.npos) << from;
  return validator_says(text.replace(place, from.size(), to));
}

TEST(ValidateTest, AcceptsWhatTheScheduleMakes) {
  for (const std::uint32_t splits : {0U, 3U}) {
    for (const bool flag : {false, true}) {
      const LoweredModel model = lowered_smallest(splits, flag, flag);
      EXPECT_TRUE(validate(model.program).ok()) << validate(model.program).message();
      for (const std::uint32_t queues : {1U, 2U, 7U}) {
        const Program program = must(schedule(model.program, queues));
        EXPECT_TRUE(validate(program).ok()) << validate(program).message();
      }
      for (std::uint32_t seed = 0; seed < 20; ++seed) {
        const Program program = with_random_queues(model.program, 2 + seed, seed);
        EXPECT_TRUE(validate(program).ok()) << validate(program).message();
      }
    }
  }
}

TEST(ValidateTest, NamesWhatIsWrongWithTheOrder) {
  EXPECT_EQ(validator_says(std::string(kTwoQueues)), "accepted");
  EXPECT_THAT(
      validator_says(" wait=0:1", ""),
      HasSubstr("instruction 0 (embed) and instruction 2 (copy) race: both use the memory of x"));
  EXPECT_THAT(validator_says("output=b wait", "output=a wait"),
              HasSubstr("instruction 1 (copy) and instruction 2 (copy) race"));
  EXPECT_THAT(validator_says("buffer b scratch f32 4 @512", "buffer b scratch f32 4 @256"),
              HasSubstr("race: both use the memory of a"));
  EXPECT_THAT(validator_says("input=a output=logits", "input=b output=logits"), "accepted");
  EXPECT_THAT(validator_says("wait=0:1 signal=1", "wait=1:1 signal=1"),
              HasSubstr("wait for each other for ever after 2 of 5"));
  EXPECT_THAT(validator_says("wait=1:1", "wait=1:2"),
              HasSubstr("instruction 3 (linear): it waits for counter 1 to reach 2, but 1 "
                        "instructions signal it"));
  EXPECT_THAT(validator_says("wait=1:1", "wait=1:0"), HasSubstr("to reach 0"));
  EXPECT_THAT(validator_says("wait=1:1", "wait=2:1"),
              HasSubstr("it waits for counter 2, but there are only 2"));
  EXPECT_THAT(validator_says("wait=1:1", "wait=1:1,1:1"), HasSubstr("waits for counter 1 twice"));
  EXPECT_THAT(validator_says("signal=1", "signal=2"), HasSubstr("it signals counter 2"));
  EXPECT_THAT(validator_says("queue=1", "queue=2"), HasSubstr("queue is 2, but there are only 2"));
  EXPECT_THAT(validator_says("input=x output=a", "input=b output=a"),
              HasSubstr("instruction 1 (copy) and instruction 2 (copy) race"));
  EXPECT_THAT(
      validator_says("linear rows=1 in=4 out=6 input=a output=logits weight=e wait=1:1", "barrier"),
      HasSubstr("instruction 4 (argmax): it reads logits, which is not written before"));
  EXPECT_THAT(validator_says("buffer a scratch f32 4 @256", "buffer a scratch f32 4 @0"),
              HasSubstr("output and input share memory"));
  EXPECT_THAT(
      validator_says("argmax", "argmax rows=1 in=6 input=logits tokens=tokens\nargmax"),
      HasSubstr("instruction 5 (argmax): it uses tokens after instruction 4 (argmax) has set "
                "them for the next step"));
  // A wait for one of two signallers orders neither.
  EXPECT_THAT(validator_says("output=a\n", "output=a signal=1\n"), "accepted");
  EXPECT_THAT(validator_says("copy rows=1 out=4 input=x output=a\n",
                             "copy rows=1 out=4 input=x output=a signal=0\n"),
              "accepted");  // both signallers are in one queue, so the first is the one
}

TEST(ValidateTest, AWaitForSomeOfSeveralQueuesOrdersNothing) {
  // The linear instruction waits for one of two signals, and its input may be the other's output.
  std::string text(kTwoQueues);
  const auto change = [&](std::string_view from, std::string_view to) {
    text.replace(text.find(from), from.size(), to);
  };
  change("input=a output=logits", "input=b output=logits");
  change("copy rows=1 out=4 input=x output=a", "copy rows=1 out=4 input=x output=a signal=1");
  EXPECT_THAT(validator_says(text),
              HasSubstr("instruction 2 (copy) and instruction 3 (linear) race"));
  change("wait=1:1", "wait=1:2");
  EXPECT_EQ(validator_says(text), "accepted");

  // The same with the first signaller in the other queue.
  text = kTwoQueues;
  change("copy rows=1 out=4 input=x output=a",
         "copy queue=1 rows=1 out=4 input=x output=a wait=0:1 signal=1");
  change("copy queue=1 rows=1 out=4 input=x output=b wait=0:1",
         "copy rows=1 out=4 input=x output=b");
  EXPECT_THAT(validator_says(text),
              HasSubstr("instruction 1 (copy) and instruction 3 (linear) race"));
}

TEST(ValidateTest, NamesWhatIsWrongWithBuffersAndSizes) {
  EXPECT_THAT(validator_says("rows=1 cap", "rows=9 cap"), HasSubstr("rows must be from 1 to 8"));
  EXPECT_THAT(validator_says("positions=4", "positions=5"),
              HasSubstr("positions must be from 1 to the capacity"));
  EXPECT_THAT(validator_says("vocabulary=6", "vocabulary=7"),
              HasSubstr("buffer logits: it must be output f32 with 7 elements"));
  EXPECT_THAT(validator_says("queues=2", "queues=0"), HasSubstr("queues must be"));
  EXPECT_THAT(validator_says("f32 4 @256", "f32 0 @256"),
              HasSubstr("buffer a: it has no elements"));
  EXPECT_THAT(validator_says("f32 4 @256", "f32 4 @255"), HasSubstr("no multiple of 256"));
  EXPECT_THAT(validator_says("f32 4 @256", "f32 4 @18446744073709551360"), HasSubstr("63 bits"));
  EXPECT_THAT(validator_says("f32 4 @256", "i64 4 @256"), HasSubstr("its dtype is i64"));
  EXPECT_THAT(validator_says("f32 4 @256", "i32 4 @256"),
              HasSubstr("output is i32, but it must be f32, f16 or bf16"));
  EXPECT_THAT(validator_says("f32 4 @256", "f32 5 @256"),
              HasSubstr("output has 5 elements, but the instruction needs 4"));
  EXPECT_THAT(validator_says("i32 1 @256", "i32 1 @0"),
              HasSubstr("tokens and positions share memory"));
  EXPECT_THAT(validator_says("a scratch", "a weight"),
              HasSubstr("instruction 1 (copy): output is written, but it is a weight"));
  EXPECT_THAT(validator_says("a scratch f32 4 @256", "a state f32 4 @768"),
              HasSubstr("output must not be of the kind state"));
  EXPECT_THAT(validator_says("a scratch", "a output"), "accepted");
  EXPECT_THAT(validator_says("embed rows=1 in=6", "embed rows=1 in=5"),
              HasSubstr("in is 5, but the vocabulary has 6"));
  EXPECT_THAT(validator_says("copy rows=1", "copy rows=2"),
              HasSubstr("rows is 2, but the program has 1"));
  EXPECT_THAT(validator_says("copy rows=1", "copy rows=1 heads=1"),
              HasSubstr("heads has no meaning here"));
  EXPECT_THAT(validator_says("copy rows=1", "copy rows=1 scale=1"),
              HasSubstr("only attention has a scale"));
  EXPECT_THAT(validator_says("copy rows=1", "copy rows=1 residual=x"),
              HasSubstr("residual has no meaning here"));
  EXPECT_THAT(validator_says("input=x output=a", "output=a"), HasSubstr("input is missing"));
  EXPECT_THAT(validator_says("input=x output=a", "input=a output=a"),
              HasSubstr("output and input share memory"));
  EXPECT_THAT(validator_says("linear rows=1", "linear rows=1 norm=rms epsilon=1"),
              HasSubstr("the norm has no norm_weight"));
  EXPECT_THAT(validator_says("linear rows=1", "linear rows=1 epsilon=nan"),
              HasSubstr("epsilon is set"));
  EXPECT_THAT(validator_says("linear rows=1", "linear rows=1 keys=x"),
              HasSubstr("heads must not be zero"));
  EXPECT_THAT(validator_says("tokens=tokens positions", "tokens=lengths positions"),
              HasSubstr("tokens must be the buffer 'tokens'"));
  EXPECT_THAT(validator_says("buffer logits output f32 6 @0",
                             "buffer logits output f32 6 @0\nbuffer more output f32 1 @256"),
              HasSubstr("no instruction writes the output more"));
}

// Changes one thing of a program, which may make it wrong in any way.
class Mutation {
 public:
  explicit Mutation(std::uint32_t seed) : random_(seed) {}

  void apply(Program& program) {
    const std::uint32_t count = static_cast<std::uint32_t>(program.instructions.size());
    const std::uint32_t index = pick(count);
    Instruction& instruction = program.instructions[index];
    switch (pick(12)) {
      case 0: {  // another buffer, or none
        const std::uint32_t buffers = static_cast<std::uint32_t>(program.buffers.size());
        const std::uint32_t buffer = pick(buffers + 1);
        instruction.operands[pick(kOperandCount)] = buffer == buffers ? kNone : buffer;
        return;
      }
      case 1: {  // the operand of another instruction
        const std::uint32_t operand = pick(kOperandCount);
        instruction.operands[operand] = program.instructions[pick(count)].operands[operand];
        return;
      }
      case 2:
        change(instruction.*kSizeFields[pick(kSizeFields.size())].member);
        return;
      case 3:
        std::swap(instruction, program.instructions[pick(count)]);
        return;
      case 4:
        program.instructions.erase(program.instructions.begin() + index);
        return;
      case 5:
        program.instructions.insert(program.instructions.begin() + pick(count),
                                    Instruction(instruction));
        return;
      case 6:
        instruction.queue = pick(program.queues);
        return;
      case 7:
        instruction.signal = pick(3) == 0 ? kNone : pick(program.counters + 1);
        return;
      case 8: {
        Wait& wait = instruction.waits[pick(kMaxWaits)];
        wait = pick(2) == 0 ? Wait() : Wait{pick(program.counters + 1), pick(3)};
        return;
      }
      case 9:
        mutate_buffer(program.buffers[pick(static_cast<std::uint32_t>(program.buffers.size()))]);
        return;
      case 10:
        mutate_words(instruction);
        return;
      default:
        mutate_numbers(program);
    }
  }

  std::uint32_t pick(std::size_t count) {
    return count == 0 ? 0 : static_cast<std::uint32_t>(random_() % count);
  }

 private:
  void change(std::uint32_t& number) {
    switch (pick(4)) {
      case 0:
        number = pick(13);
        return;
      case 1:
        number += 1 + pick(2);
        return;
      case 2:
        number *= 2;
        return;
      default:
        number = static_cast<std::uint32_t>(random_());
    }
  }

  void mutate_buffer(Buffer& buffer) {
    switch (pick(4)) {
      case 0:
        buffer.base = kBufferAlignment * pick(12);
        return;
      case 1:
        buffer.elements = pick(2) == 0 ? pick(100) : std::uint64_t{random_()} << pick(33);
        return;
      case 2:
        buffer.dtype = kDTypes[pick(kDTypes.size())];
        return;
      default:
        buffer.kind = static_cast<BufferKind>(pick(kBufferKindWords.size()));
    }
  }

  void mutate_words(Instruction& instruction) {
    switch (pick(5)) {
      case 0:
        instruction.opcode = static_cast<Opcode>(pick(kOpcodeWords.size()));
        return;
      case 1:
        instruction.norm = static_cast<Norm>(pick(kNormWords.size()));
        return;
      case 2:
        instruction.activation = static_cast<Activation>(pick(kActivationWords.size()));
        return;
      case 3:
        instruction.rotation = static_cast<Rotation>(pick(kRotationWords.size()));
        return;
      default:
        instruction.epsilon = pick(2) == 0 ? 0 : -1;
    }
  }

  void mutate_numbers(Program& program) {
    switch (pick(4)) {
      case 0:
        change(program.rows);
        return;
      case 1:
        change(program.positions);
        return;
      case 2:
        program.queues = pick(8);
        return;
      default:
        program.counters = pick(program.counters + 4);
    }
  }

  std::mt19937 random_;
};

// That the runner finds bad programs: without it, nothing would follow from the next test.
TEST(ValidateTest, TheRunnerSeesThatWaitsAreNeeded) {
  const LoweredModel model = lowered_smallest(3, false, false);
  RandomRunner runner(model);
  const Program good = with_random_queues(model.program, 4, 1);
  EXPECT_TRUE(runner.is_deterministic(good, 10));
  int seen = 0;
  for (std::size_t i = 0; i < good.instructions.size(); ++i) {
    Program bad = good;
    bad.instructions[i].waits = {};
    if (runner.is_deterministic(bad, 10)) continue;
    ++seen;
    EXPECT_FALSE(validate(bad).ok()) << program_text(bad);
  }
  EXPECT_GT(seen, 5);
}

TEST(ValidateTest, NoBadMutantIsAccepted) {
  int accepted = 0;
  int mutants = 0;
  for (std::uint32_t variant = 0; variant < 6; ++variant) {
    const LoweredModel model =
        lowered_smallest(variant % 2 == 0 ? 0 : 3, variant % 3 == 0, variant == 4);
    RandomRunner runner(model);
    const Program good = variant < 2 ? must(schedule(model.program, 1))
                                     : with_random_queues(model.program, 1 + variant, variant);
    ASSERT_TRUE(runner.is_deterministic(good, 5));
    for (std::uint32_t seed = 0; seed < 900; ++seed) {
      Program mutant = good;
      Mutation mutation(seed * 8 + variant);
      for (std::uint32_t i = 0; i <= seed % 3; ++i) mutation.apply(mutant);
      ++mutants;
      if (!validate(mutant).ok()) continue;
      ++accepted;
      // The arena of the weights must not have grown: the runner has only those of the model.
      if (arena_bytes(mutant, BufferKind::weight) > arena_bytes(good, BufferKind::weight)) continue;
      ASSERT_TRUE(runner.is_deterministic(mutant, 4)) << seed << '\n' << program_text(mutant);
    }
  }
  EXPECT_EQ(mutants, 5400);
  EXPECT_GT(accepted, 500);  // mutations that do no harm, such as another queue with waits
}

}  // namespace
}  // namespace mgtune::engine
