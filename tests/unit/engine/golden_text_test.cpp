// stories260K tells the story that llama2.c's own test expects: temperature 0, 200 tokens in all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generate/generator.h"
#include "system/file_system.h"
#include "tests/helpers/engine_models.h"
#include "tokenizer/tokenizer.h"

namespace mgtune::engine {
namespace {

constexpr std::uint32_t kStoryTokens = 200;  // without the one that begins the text

class GoldenTextTest : public ::testing::Test {
 protected:
  // The tokens of the story and its text.
  std::vector<std::int32_t> tell(const SessionOptions& options, std::string_view prompt) {
    Session session = test_session("stories260K", options);
    std::vector<std::int32_t> tokens = must(tokenizer_->encode(prompt));
    text_ = prompt;
    GenerateOptions generation;
    generation.tokens = kStoryTokens + 1 - static_cast<std::uint32_t>(tokens.size());
    const Generated generated = must(generate(session, *tokenizer_, tokens, generation,
                                              [&](std::string_view piece) { text_ += piece; }));
    tokens.insert(tokens.end(), generated.tokens.begin(), generated.tokens.end());
    return tokens;
  }

  const std::string golden_ =
      must(FileSystem::real().read_file(model_path("stories260K/golden.txt")));
  const std::unique_ptr<Tokenizer> tokenizer_ =
      must(open_tokenizer(model_path("stories260K/tok512.bin"), 512));
  std::string text_;
};

TEST_F(GoldenTextTest, InFloatTokenForToken) {
  EXPECT_EQ(tell({}, "Once upon a time").size(), kStoryTokens + 1);
  EXPECT_EQ(text_, golden_);
}

TEST_F(GoldenTextTest, FromNothing) {
  tell({}, "");
  EXPECT_EQ(text_, golden_);
}

TEST_F(GoldenTextTest, WithEveryOtherScheduleToo) {
  SessionOptions options;
  options.queues = 4;
  options.workers = 64;  // so that attention is split
  options.fuse_norms = false;
  tell(options, "Once upon a time");
  EXPECT_EQ(text_, golden_);
}

TEST_F(GoldenTextTest, WithWeightsInBf16ForAtLeast150Tokens) {
  const std::vector<std::int32_t> exact = tell({}, "Once upon a time");
  SessionOptions options;
  options.precision.weights = DType::bf16;
  const std::vector<std::int32_t> rounded = tell(options, "Once upon a time");
  const auto first_other = std::ranges::mismatch(exact, rounded).in1 - exact.begin();
  EXPECT_GT(first_other, 150);
  EXPECT_NE(exact, rounded);  // the weights were rounded
}

}  // namespace
}  // namespace mgtune::engine
