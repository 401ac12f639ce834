// The way `steps` on the cpu device: each instruction is one launch of a kernel. It gives the
// tokens of the reference and the logits of PyTorch's transformers, and each instruction writes
// what the reference writes.

#include "steps/steps_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "family/variant.h"
#include "generate/generator.h"
#include "graph/graph_machine.h"
#include "program/text_form.h"
#include "reference/sampler.h"
#include "system/file_system.h"
#include "tests/helpers/engine_models.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/long_lane.h"
#include "tests/helpers/test_folder.h"
#include "tokenizer/tokenizer.h"
#include "tune/model_kernels.h"

namespace mgtune::engine {
namespace {

constexpr Precision kBf16Weights = {DType::bf16, DType::f32, DType::f32, DType::f32};
constexpr Precision kBf16 = {DType::bf16, DType::bf16, DType::f32, DType::bf16};

// The builds of all tests lie in one folder: compiling takes longer than computing.
class StepsMachineTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TestFolder>();
    cache_.emplace("MGTUNE_CACHE_DIR", folder_->file("cache"));
    database_.emplace("MGTUNE_DB", folder_->file("results.db"));
  }
  static void TearDownTestSuite() {
    database_.reset();
    cache_.reset();
    folder_.reset();
  }

  static SessionOptions on_cpu(std::uint32_t rows = 1) {
    SessionOptions options;
    options.rows = rows;
    options.machine = steps_factory({"cpu"});
    return options;
  }
  static StepsMachine& steps_of(Session& session) {
    return static_cast<StepsMachine&>(session.machine());
  }

  // Beginning with the token 1, which begins all texts of stories260K.
  static std::vector<std::int32_t> first_tokens(Session& session, int count) {
    std::vector<std::int32_t> tokens = {1};
    while (static_cast<int>(tokens.size()) <= count) {
      const Status status = session.step(std::span(&tokens.back(), 1));
      EXPECT_TRUE(status.ok()) << status.message();
      tokens.push_back(must(session.next_tokens())[0]);
    }
    return tokens;
  }

  // Expects every instruction of two steps to write what the reference writes, as far as rounding
  // allows. Returns the largest error.
  static double expect_equal_instructions(Session& session) {
    double largest = 0;
    for (int i = 0; i < 2; ++i) {
      const std::vector<std::int32_t> tokens(session.rows(), 1 + i);
      EXPECT_TRUE(session.step(tokens).ok());
      // One more step, with the tokens and positions that the last one has left.
      const Program& program = session.programs()[0];
      const auto differences = must(steps_of(session).step_compared(program, {}));
      EXPECT_GE(differences.size(), program.instructions.size());
      for (const BufferDifference& difference : differences) {
        const Buffer& buffer = program.buffers[difference.buffer];
        EXPECT_LE(difference.error, acceptable_error(buffer.dtype))
            << buffer.name << " after instruction " << difference.instruction;
        largest = std::max(largest, difference.error);
      }
      EXPECT_TRUE(session.set_position(session.position() + 1).ok());
    }
    return largest;
  }

  static inline std::unique_ptr<TestFolder> folder_;
  static inline std::optional<Variable> cache_, database_;
};

// The story is that of tests/unit/engine/golden_text_test.cpp.
TEST_F(StepsMachineTest, TellsTheStoryThatLlama2cExpects) {
  Session session = test_session("stories260K", on_cpu());
  EXPECT_EQ(steps_of(session).host_count(), 0U);
  const auto tokenizer = must(open_tokenizer(model_path("stories260K/tok512.bin"), 512));
  const std::string golden =
      must(FileSystem::real().read_file(model_path("stories260K/golden.txt")));
  const std::vector<std::int32_t> prompt = must(tokenizer->encode("Once upon a time"));
  std::string text = "Once upon a time";
  GenerateOptions options;
  const std::size_t tokens = in_long_lane(200, 30);
  options.tokens = static_cast<std::uint32_t>(tokens + 1 - prompt.size());
  must(generate(session, *tokenizer, prompt, options,
                [&](std::string_view piece) { text += piece; }));
  EXPECT_EQ(text, in_long_lane(golden, golden.substr(0, text.size())));
  EXPECT_GT(text.size(), tokens);
}

// Rounded weights change the text only after more than 150 tokens.
TEST_F(StepsMachineTest, GivesTheSameTokensWithWeightsInBf16) {
  if (!in_long_lane(true, false)) GTEST_SKIP() << "scripts/test.sh --all runs this";
  const int count = 150;
  Session reference = test_session("stories260K", {});
  SessionOptions options = on_cpu();
  options.precision = kBf16Weights;
  Session steps = test_session("stories260K", options);
  EXPECT_EQ(steps_of(steps).host_count(), 0U);
  EXPECT_EQ(first_tokens(steps, count), first_tokens(reference, count));
}

TEST_F(StepsMachineTest, ComparesEveryInstructionWithTheReference) {
  Session session = test_session("stories260K", on_cpu());
  EXPECT_GT(expect_equal_instructions(session), 0);  // sums are added in another order
}

// A head of 64 elements in bf16 is attention.decode's; it has a window here.
TEST_F(StepsMachineTest, ComparesAttentionOnTensorCoresWithTheReference) {
  ModelConfig config;
  config.layers = 1;
  config.width = 128;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 64;
  config.inner = 72;
  config.vocabulary = 40;
  config.positions = 40;
  config.window = 3;
  SessionOptions options = on_cpu();
  options.precision = kBf16;
  Session session = must(Session::create_random(config, options, 1));
  EXPECT_EQ(steps_of(session).host_count(), 0U);
  expect_equal_instructions(session);
}

TEST_F(StepsMachineTest, GivesTheLogitsOfTransformers) {
  for (const char* const model : {"gpt2", "mistral"}) {
    Session session = test_session(model, on_cpu(2));
    EXPECT_EQ(steps_of(session).host_count(), 0U);
    EXPECT_LT(largest_difference(session, expected_logits(model)), 1e-4) << model;
  }
}

TEST_F(StepsMachineTest, LaunchesNormsOfTheirOwn) {
  if (!in_long_lane(true, false)) GTEST_SKIP() << "scripts/test.sh --all runs this";
  SessionOptions options = on_cpu(2);
  options.fuse_norms = false;
  Session session = test_session("gpt2", options);
  EXPECT_EQ(steps_of(session).host_count(), 0U);
  EXPECT_LT(largest_difference(session, expected_logits("gpt2")), 1e-4);
}

// Rows with different temperatures, one of them 0, and a number of their own for each step.
TEST_F(StepsMachineTest, SamplesWhatTheReferenceSamples) {
  SessionOptions options = on_cpu(3);
  options.sample = true;
  Session steps = test_session("stories260K", options);
  EXPECT_EQ(steps_of(steps).host_count(), 0U);
  options.machine = {};
  Session reference = test_session("stories260K", options);
  std::vector<std::int32_t> tokens = {1, 1, 1};
  for (int i = 0; i < 12; ++i) {
    const float number = static_cast<float>(i * 37 % 64) / 64;
    const std::vector<Sampling> rows = {{0.8F, 0.9F, number}, {0, 1, number}, {1.5F, 1, number}};
    std::vector<std::int32_t> next;
    for (Session* const session : {&reference, &steps}) {
      ASSERT_TRUE(session->set_sampling(rows).ok());
      ASSERT_TRUE(session->step(tokens).ok());
      const std::vector<std::int32_t> chosen = must(session->next_tokens());
      EXPECT_EQ(chosen[1], argmax(must(session->logits(1))));
      if (session == &steps) {
        EXPECT_EQ(chosen, next) << i;
      }
      next = chosen;
    }
    tokens = next;
  }
  const Program& program = steps.programs()[0];
  const std::uint32_t last = static_cast<std::uint32_t>(program.instructions.size()) - 1;
  ASSERT_EQ(program.instructions[last].opcode, Opcode::sample);
  for (const auto& difference : must(steps_of(steps).step_compared(program, std::span(&last, 1)))) {
    EXPECT_EQ(difference.error, 0) << program.buffers[difference.buffer].name;
  }
}

// Numbers that are spread evenly give each token as often as its probability says.
TEST_F(StepsMachineTest, SamplesFollowTheProbabilities) {
  const Program program = must(program_from_text(
      "mgengine program 1\nrows=8 capacity=4 positions=4 vocabulary=5 queues=1 counters=0\n"
      "buffer tokens state i32 8 @0\nbuffer sampling state f32 24 @256\n"
      "buffer logits state f32 40 @512\n"
      "sample rows=8 in=5 input=logits sampling=sampling tokens=tokens\n"));
  const auto machine = must(StepsMachine::create(std::span(&program, 1), {}, {"cpu"}));
  ASSERT_EQ(machine->host_count(), 0U);
  const auto write = [&](int buffer, const auto& values) {
    const auto& to = program.buffers[static_cast<std::size_t>(buffer)];
    ASSERT_TRUE(machine->write(to, std::as_bytes(std::span(values))).ok());
  };
  // In parts of 80 at a temperature of 1: 10, 30, 0, 20 and 20.
  std::vector<float> logits;
  for (int row = 0; row < 8; ++row) {
    for (const float part : {1.0F, 3.0F, 0.0F, 2.0F, 2.0F}) logits.push_back(std::log(part));
  }
  write(2, logits);
  const auto counts_of = [&](float temperature, float top_p) {
    std::vector<int> counts(5);
    for (int i = 0; i < 10; ++i) {
      std::vector<float> sampling;
      for (int row = 0; row < 8; ++row) {
        const float number = (static_cast<float>(i * 8 + row) + 0.5F) / 80;
        sampling.insert(sampling.end(), {temperature, top_p, number});
      }
      write(1, sampling);
      EXPECT_TRUE(machine->step(program).ok());
      std::vector<std::int32_t> tokens(8);
      EXPECT_TRUE(
          machine->read(program.buffers[0], std::as_writable_bytes(std::span(tokens))).ok());
      for (const std::int32_t token : tokens) ++counts[static_cast<std::size_t>(token)];
    }
    return counts;
  };
  EXPECT_EQ(counts_of(1, 1), (std::vector<int>{10, 30, 0, 20, 20}));
  EXPECT_EQ(counts_of(1, 0), counts_of(1, 1));
  EXPECT_EQ(counts_of(0.5F, 1), (std::vector<int>{4, 40, 0, 18, 18}));  // 1, 9, 4 and 4 parts
  EXPECT_EQ(counts_of(1, 0.8F), (std::vector<int>{0, 34, 0, 23, 23}));  // without the first token
  EXPECT_EQ(counts_of(1, 0.6F), (std::vector<int>{0, 48, 0, 32, 0}));   // the first of two equals
  EXPECT_EQ(counts_of(1, 1e-6F), (std::vector<int>{0, 80, 0, 0, 0}));
  EXPECT_EQ(counts_of(0, 1), (std::vector<int>{0, 80, 0, 0, 0}));
}

// Any variant that is right gives the same tokens.
TEST_F(StepsMachineTest, RunsAChosenVariant) {
  Session session = test_session("stories260K", on_cpu());
  const std::vector<std::int32_t> tokens = first_tokens(session, 3);
  Catalog catalog(FileSystem::real());
  const std::vector<ModelKernel> kernels = must(model_kernels(session.programs(), catalog));
  const auto kernel = std::ranges::find_if(kernels, [](const ModelKernel& one) {
    return one.problem.op->full_name() == "argmax.forward";
  });
  ASSERT_NE(kernel, kernels.end());
  const Variant other = default_ladder(kernel->problem.binding(), {}).back();
  const std::string text = variant_text(*kernel->problem.op, other);
  for (const std::string& variant : {text, std::string(), text}) {
    const Status chosen = session.machine().choose_variant(kernel->call, variant);
    ASSERT_TRUE(chosen.ok()) << chosen.message();
    ASSERT_TRUE(session.set_position(0).ok());
    EXPECT_EQ(first_tokens(session, 3), tokens);
  }
  const Status unknown = session.machine().choose_variant(kernel->call, "none A=1");
  EXPECT_EQ(unknown.code(), StatusCode::invalid_argument);
  EXPECT_THAT(unknown.message(), testing::HasSubstr("none"));
  ASSERT_TRUE(session.set_position(0).ok());
  EXPECT_EQ(first_tokens(session, 3), tokens) << "a refused variant changes nothing";
  Session reference = test_session("stories260K", {});
  EXPECT_EQ(reference.machine().choose_variant(kernel->call, text).code(), StatusCode::unsupported);
}

// The keys in 4 parts, of which the first positions leave some empty, and with a window.
TEST_F(StepsMachineTest, ComparesAttentionOverPartsWithTheReference) {
  ModelConfig config;
  config.layers = 1;
  config.width = 48;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 12;
  config.inner = 40;
  config.vocabulary = 40;
  config.positions = 200;
  config.window = 6;
  SessionOptions options = on_cpu(2);
  options.workers = 100;
  Session session = must(Session::create_random(config, options, 1));
  const auto is_partial = [](const Instruction& instruction) {
    return instruction.opcode == Opcode::attention_partial && instruction.splits == 4;
  };
  EXPECT_TRUE(std::ranges::any_of(session.programs()[0].instructions, is_partial));
  EXPECT_EQ(steps_of(session).host_count(), 0U);
  expect_equal_instructions(session);
  options = on_cpu();
  options.workers = 100;
  Session parts = test_session("stories260K", options);
  EXPECT_EQ(steps_of(parts).host_count(), 0U);
  Session reference = test_session("stories260K", {});
  EXPECT_EQ(first_tokens(parts, 8), first_tokens(reference, 8));
}

TEST_F(StepsMachineTest, CopiesAndZeros) {
  const Program program = must(program_from_text(
      "mgengine program 1\nrows=2 capacity=4 positions=4 vocabulary=5 queues=1 counters=0\n"
      "buffer x state f32 6 @0\nbuffer y state bf16 6 @256\nbuffer z state f16 6 @512\n"
      "copy rows=2 out=3 input=x output=y\nzero rows=2 out=3 output=z\n"));
  const auto machine = must(StepsMachine::create(std::span(&program, 1), {}, {"cpu"}));
  EXPECT_EQ(machine->host_count(), 0U);
  const std::vector<float> x = {1, -2, 3.140625F, 4, 5, 6};
  ASSERT_TRUE(machine->write(program.buffers[0], std::as_bytes(std::span(x))).ok());
  const std::vector<std::byte> poison(12, std::byte{0xff});
  ASSERT_TRUE(machine->write(program.buffers[2], poison).ok());
  const auto differences = must(machine->step_compared(program, {}));
  ASSERT_EQ(differences.size(), 2U);
  EXPECT_EQ(differences[0].error, 0);
  EXPECT_EQ(differences[1].error, 0);
  std::vector<std::byte> z(12);
  ASSERT_TRUE(machine->read(program.buffers[2], z).ok());
  EXPECT_EQ(z, std::vector<std::byte>(12));
  std::vector<std::byte> y(12);
  ASSERT_TRUE(machine->read(program.buffers[1], y).ok());
  EXPECT_EQ(element_as_double(y.data(), 2, DType::bf16), 3.140625);
}

// No kernel appends to caches of another dtype than the queries have.
TEST_F(StepsMachineTest, LetsTheHostExecuteWhatNoKernelDoes) {
  SessionOptions options = on_cpu();
  options.precision = {DType::f32, DType::f32, DType::f32, DType::f16};
  Session session = test_session("stories260K", options);
  EXPECT_GT(steps_of(session).host_count(), 0U);
  EXPECT_GT(steps_of(session).kernel_count(), steps_of(session).host_count());
  options.machine = {};
  Session reference = test_session("stories260K", options);
  EXPECT_EQ(first_tokens(session, 5), first_tokens(reference, 5));
}

TEST_F(StepsMachineTest, RefusesTokensAndPositionsThatDoNotExist) {
  Session session = test_session("stories260K", on_cpu());
  const Program& program = session.programs()[0];
  const auto set = [&](std::string_view name, std::int32_t value) {
    const Buffer& buffer = program.buffers[*program.find_buffer(name)];
    EXPECT_TRUE(session.machine().write(buffer, std::as_bytes(std::span(&value, 1))).ok());
  };
  set(kPositions, 0);
  set(kLengths, 1);
  set(kTokens, 512);
  EXPECT_EQ(session.machine().step(program).message(),
            "tokens of sequence 0: 512 is not from 0 to 511");
  set(kTokens, 1);
  set(kPositions, -1);
  EXPECT_THAT(session.machine().step(program).message(),
              testing::StartsWith("positions of sequence 0: -1 is not from 0 to "));
  EXPECT_EQ(session.machine().step(Program{}).code(), StatusCode::invalid_argument);
}

TEST_F(StepsMachineTest, NamesADeviceThatIsNotThere) {
  const ModelSource source = must(open_model(model_path("stories260K")));
  SessionOptions options;
  options.machine = steps_factory({"no such device"});
  const auto session = Session::create(source.config, source.tensors, options);
  EXPECT_EQ(session.status().code(), StatusCode::environment);
  EXPECT_THAT(session.status().message(), testing::HasSubstr("no such device"));
}

TEST_F(StepsMachineTest, GraphsNeedAGpu) {
  const ModelSource source = must(open_model(model_path("stories260K")));
  SessionOptions options;
  options.machine = graph_factory({"cpu"});
  const auto session = Session::create(source.config, source.tensors, options);
  EXPECT_EQ(session.status().code(), StatusCode::unsupported);
  EXPECT_THAT(session.status().message(), testing::StartsWith("the way 'graph' needs a GPU"));
}

TEST(BufferDifference, IsRelativeToWhatChanged) {
  const auto error = [](std::vector<float> before, std::vector<float> result,
                        std::vector<float> reference) {
    return relative_error(DType::f32, std::as_bytes(std::span(before)),
                          std::as_bytes(std::span(result)), std::as_bytes(std::span(reference)));
  };
  EXPECT_EQ(error({100, 1}, {100, 2}, {100, 2}), 0);
  EXPECT_DOUBLE_EQ(error({100, 1}, {100, 3}, {100, 2}), 0.5);
  EXPECT_GT(error({100, 1}, {101, 2}, {100, 2}), 0);  // written to a wrong place
  EXPECT_GT(error({100, 1}, {100, 1}, {100, 2}), 0);  // not written
  EXPECT_EQ(error({1}, {NAN}, {2}), HUGE_VAL);
  EXPECT_EQ(error({1}, {NAN}, {NAN}), 0);
  EXPECT_EQ(error({1, 1}, {-HUGE_VALF, 2}, {-HUGE_VALF, 2}), 0);
  EXPECT_EQ(error({1}, {-HUGE_VALF}, {HUGE_VALF}), HUGE_VAL);
  EXPECT_EQ(error({1}, {5}, {HUGE_VALF}), HUGE_VAL);
  EXPECT_EQ(error({1}, {1}, {0}), HUGE_VAL);
}

}  // namespace
}  // namespace mgtune::engine
