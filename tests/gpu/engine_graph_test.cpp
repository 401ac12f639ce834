// The ways `steps` and `graph` of the engine on a GPU: the golden text, equal bits in repeated
// runs, NaN behind the sequence, and every instruction beside the reference.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "family/variant.h"
#include "generate/generator.h"
#include "graph/graph_machine.h"
#include "reference/sampler.h"
#include "steps/steps_machine.h"
#include "system/file_system.h"
#include "tests/helpers/engine_models.h"
#include "tests/helpers/real_gpu.h"
#include "tokenizer/tokenizer.h"
#include "tune/model_kernels.h"

namespace mgtune::engine {
namespace {

constexpr Precision kAllBf16 = {DType::bf16, DType::bf16, DType::f32, DType::bf16};

class EngineOnGpu : public RealGpuTest {
 protected:
  static std::string tell(const MachineFactory& machine, float temperature = 0) {
    SessionOptions options;
    options.machine = machine;
    options.sample = temperature > 0;
    Session session = test_session("stories260K", options);
    const auto tokenizer = must(open_tokenizer(model_path("stories260K/tok512.bin"), 512));
    const std::vector<std::int32_t> prompt = must(tokenizer->encode("Once upon a time"));
    std::string text = "Once upon a time";
    GenerateOptions generation;
    generation.tokens = static_cast<std::uint32_t>(201 - prompt.size());
    generation.temperature = temperature;
    generation.top_p = 0.9F;
    must(generate(session, *tokenizer, prompt, generation,
                  [&](std::string_view piece) { text += piece; }));
    return text;
  }

  // A model with the sizes of a layer of Llama-3.2-1B.
  static ModelConfig wide() {
    ModelConfig config;
    config.layers = 2;
    config.width = 2048;
    config.heads = 32;
    config.kv_heads = 8;
    config.head_dim = 64;
    config.inner = 8192;
    config.vocabulary = 4096;
    config.positions = 256;
    return config;
  }

  // All caches are NaN, the logits of every step are kept.
  static std::vector<float> logits_of(const MachineFactory& machine, int steps) {
    SessionOptions options;
    options.precision = kAllBf16;
    options.machine = machine;
    Session session = must(Session::create_random(wide(), options, 3));
    for (const mgtune::engine::Buffer& buffer : session.programs()[0].buffers) {
      if (buffer.kind != BufferKind::state) continue;
      const std::vector<std::byte> poison(*size_in_bytes(buffer), std::byte{0xff});
      EXPECT_TRUE(session.machine().write(buffer, poison).ok());
    }
    std::vector<float> all;
    for (int i = 0; i < steps; ++i) {
      const Status status = session.step(std::vector<std::int32_t>{i * 31 % 4096});
      EXPECT_TRUE(status.ok()) << status.message();
      const std::vector<float> logits = must(session.logits(0));
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
  }

  // The token is one that `how` allows, as far as rounding moves the limits by 0.002 %: they may
  // lie at another one of tokens with nearly the same probability.
  static void expect_sampled(const std::vector<float>& logits, const Sampling& how,
                             std::int32_t token) {
    constexpr double kRounding = 2e-5;
    const double largest = logits[static_cast<std::size_t>(argmax(logits))];
    std::vector<double> weights;
    for (const float logit : logits) {
      weights.push_back(std::exp((logit - largest) / how.temperature));
    }
    std::vector<double> sorted = weights;
    std::ranges::sort(sorted, std::greater());
    double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0);
    const double wanted = how.top_p * sum;
    double smallest = 0;
    sum = 0;
    for (const double weight : sorted) {
      if (sum >= wanted) break;
      sum += weight;
      smallest = weight;
    }
    const auto chosen = static_cast<std::size_t>(token);
    EXPECT_GE(weights[chosen], smallest * (1 - kRounding));
    double before = 0;
    for (std::size_t i = 0; i < chosen; ++i) {
      if (weights[i] >= smallest) before += weights[i];
    }
    EXPECT_LE(before / sum, how.uniform + kRounding);
    EXPECT_GE((before + weights[chosen]) / sum, how.uniform - kRounding);
  }

  static std::string golden() {
    return must(FileSystem::real().read_file(model_path("stories260K/golden.txt")));
  }
};

TEST_F(EngineOnGpu, StepsTellTheGoldenText) { EXPECT_EQ(tell(steps_factory({})), golden()); }

TEST_F(EngineOnGpu, GraphTellsTheGoldenText) { EXPECT_EQ(tell(graph_factory({})), golden()); }

// The reference in f32 tells the golden text from nothing. Rounded weights change it only after
// more than 150 tokens.
TEST_F(EngineOnGpu, GraphTellsTheGoldenTextWithWeightsInBf16) {
  SessionOptions options;
  options.precision.weights = DType::bf16;
  options.machine = graph_factory({});
  Session graph = test_session("stories260K", options);
  Session reference = test_session("stories260K", {});
  std::vector<std::int32_t> token = {1};
  for (int i = 0; i < 150; ++i) {
    ASSERT_TRUE(graph.step(token).ok());
    ASSERT_TRUE(reference.step(token).ok());
    token = must(graph.next_tokens());
    ASSERT_EQ(token, must(reference.next_tokens())) << i;
  }
}

TEST_F(EngineOnGpu, GraphGivesTheLogitsOfTransformers) {
  for (const char* const model : {"gpt2", "mistral"}) {
    SessionOptions options;
    options.rows = 2;
    options.machine = graph_factory({});
    Session session = test_session(model, options);
    EXPECT_LT(largest_difference(session, expected_logits(model)), 1e-4) << model;
  }
}

// Attention over parts of the keys, as programs for several workers have it.
TEST_F(EngineOnGpu, GraphSplitsAttention) {
  SessionOptions options;
  options.workers = 132;
  options.machine = graph_factory({});
  Session graph = test_session("stories260K", options);
  Session reference = test_session("stories260K", {});
  EXPECT_EQ(graph.programs()[0].instructions[2].opcode, Opcode::attention_partial);
  std::vector<std::int32_t> token = {1}, expected = {1};
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(graph.step(token).ok());
    ASSERT_TRUE(reference.step(expected).ok());
    token = must(graph.next_tokens());
    expected = must(reference.next_tokens());
    ASSERT_EQ(token, expected) << i;
  }
}

// The host writes only the random numbers. The reference samples the same text.
TEST_F(EngineOnGpu, GraphSamples) {
  const std::string text = tell(graph_factory({}), 0.8F);
  EXPECT_NE(text, golden());
  EXPECT_EQ(tell(graph_factory({}), 0.8F), text);
  EXPECT_EQ(tell(steps_factory({}), 0.8F), text);
  EXPECT_EQ(tell({}, 0.8F), text);
}

// A whole vocabulary of Llama 3, at every temperature and top-p, beside the reference.
TEST_F(EngineOnGpu, SamplesFromALargeVocabulary) {
  ModelConfig config = wide();
  config.layers = 1;
  config.vocabulary = 128256;
  SessionOptions options;
  options.precision = kAllBf16;
  options.rows = 8;
  options.sample = true;
  options.machine = graph_factory({});
  Session session = must(Session::create_random(config, options, 3));
  std::vector<std::int32_t> tokens(8, 5);
  int seen = 0;
  for (int i = 0; i < 6; ++i) {
    std::vector<Sampling> rows;
    for (int row = 0; row < 8; ++row) {
      const float number = static_cast<float>((i * 8 + row) * 29 % 64) / 64;
      rows.push_back(
          {row == 0 ? 0.0F : 0.3F * static_cast<float>(row), row % 2 == 0 ? 0.9F : 1.0F, number});
    }
    ASSERT_TRUE(session.set_sampling(rows).ok());
    ASSERT_TRUE(session.step(tokens).ok());
    tokens = must(session.next_tokens());
    for (std::uint32_t row = 0; row < 8; ++row) {
      const Sampling& how = rows[row];
      const std::vector<float> logits = must(session.logits(row));
      if (row == 0) {
        EXPECT_EQ(tokens[row], argmax(logits));
      } else {
        expect_sampled(logits, how, tokens[row]);
      }
      seen += tokens[row] == argmax(logits) ? 0 : 1;
    }
  }
  EXPECT_GT(seen, 20);
}

TEST_F(EngineOnGpu, GraphAndStepsGiveEqualBitsInEveryRun) {
  const std::vector<float> first = logits_of(graph_factory({}), 40);
  EXPECT_TRUE(std::ranges::none_of(first, [](float logit) { return logit != logit; }));
  EXPECT_EQ(logits_of(graph_factory({}), 40), first);
  EXPECT_EQ(logits_of(steps_factory({}), 40), first);
}

// A variant that is right chooses the same tokens. A refused one leaves the graphs as they are.
TEST_F(EngineOnGpu, GraphRunsAChosenVariant) {
  SessionOptions options;
  options.machine = graph_factory({});
  Session session = test_session("stories260K", options);
  const auto tokens_of = [&] {
    EXPECT_TRUE(session.set_position(0).ok());
    const std::vector<std::int32_t> first = {1};
    EXPECT_TRUE(session.steps(first, 50).ok());
    return must(session.next_tokens());
  };
  const std::vector<std::int32_t> tokens = tokens_of();
  Catalog catalog(FileSystem::real());
  for (const ModelKernel& kernel : must(model_kernels(session.programs(), catalog))) {
    if (kernel.problem.op->full_name() != "argmax.forward") continue;
    const Variant other = default_ladder(kernel.problem.binding(), {}).back();
    const std::string text = variant_text(*kernel.problem.op, other);
    for (const std::string& variant : {text, std::string(), text}) {
      const Status chosen = session.machine().choose_variant(kernel.call, variant);
      ASSERT_TRUE(chosen.ok()) << chosen.message();
      EXPECT_EQ(tokens_of(), tokens);
    }
    EXPECT_FALSE(session.machine().choose_variant(kernel.call, "none A=1").ok());
    EXPECT_EQ(tokens_of(), tokens);
  }
}

// Also at the last position, and where the caches have room for less than the replays.
TEST_F(EngineOnGpu, TimingTheInstructionsIsOneStep) {
  const auto logits_after = [](bool timed, std::uint32_t capacity) {
    SessionOptions options;
    options.precision = kAllBf16;
    options.capacity = capacity;
    options.machine = graph_factory({});
    Session session = must(Session::create_random(wide(), options, 3));
    const std::vector<std::int32_t> token = {7};
    for (std::uint32_t i = 0; i + 1 < capacity; ++i) EXPECT_TRUE(session.step(token).ok());
    if (timed) {
      EXPECT_EQ(must(session.timed_step(token)).size(), session.programs()[0].instructions.size());
    } else {
      EXPECT_TRUE(session.step(token).ok());
    }
    return must(session.logits(0));
  };
  for (const std::uint32_t capacity : {2U, 30U}) {
    EXPECT_EQ(logits_after(true, capacity), logits_after(false, capacity)) << capacity;
  }
}

TEST_F(EngineOnGpu, EveryInstructionIsNearTheReference) {
  SessionOptions options;
  options.precision = kAllBf16;
  options.machine = steps_factory({});
  Session session = must(Session::create_random(wide(), options, 3));
  ASSERT_TRUE(session.step(std::vector<std::int32_t>{5}).ok());
  const Program& program = session.programs()[0];
  auto& machine = static_cast<StepsMachine&>(session.machine());
  EXPECT_EQ(machine.host_count(), 0U);
  for (const BufferDifference& difference : must(machine.step_compared(program, {}))) {
    const auto& buffer = program.buffers[difference.buffer];
    EXPECT_LE(difference.error, acceptable_error(buffer.dtype))
        << buffer.name << " after instruction " << difference.instruction;
  }
}

}  // namespace
}  // namespace mgtune::engine
