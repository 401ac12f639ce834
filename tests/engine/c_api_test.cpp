// The C interface of libmgengine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mgengine/mgengine.h>

#include "tests/helpers/engine_models.h"

namespace mgtune::engine {
namespace {

using ::testing::HasSubstr;

class CApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.struct_size = sizeof(options_);
    options_.way = "reference";
  }
  void TearDown() override { mge_free(model_); }

  mge_status_t load(const std::string& name) {
    return mge_load(model_path(name).c_str(), &options_, &model_);
  }

  mge_options_t options_ = {};
  mge_model_t* model_ = nullptr;
};

TEST_F(CApiTest, LogitsAreThoseOfTransformers) {
  options_.sequences = 2;
  ASSERT_EQ(load("mistral"), MGE_OK) << mge_last_error();
  mge_info_t info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(mge_info(model_, &info), MGE_OK);
  EXPECT_EQ(info.sequences, 2U);
  EXPECT_EQ(info.capacity, 32U);
  ASSERT_EQ(info.vocabulary, 96U);
  const ExpectedLogits expected = expected_logits("mistral");
  std::vector<float> logits(96);
  for (std::size_t i = 0; i < expected.tokens_each; ++i) {
    const std::int32_t tokens[] = {expected.tokens[i], expected.tokens[expected.tokens_each + i]};
    ASSERT_EQ(mge_step(model_, tokens, 2), MGE_OK);
    ASSERT_EQ(mge_logits(model_, 1, logits.data(), 96), MGE_OK);
    const std::size_t begin = (expected.tokens_each + i) * 96;
    for (std::size_t k = 0; k < 96; ++k) {
      ASSERT_NEAR(logits[k], expected.logits[begin + k], 1e-4);
    }
    std::int32_t next[2] = {-1, -1};
    ASSERT_EQ(mge_next_tokens(model_, next, 2), MGE_OK);
    EXPECT_EQ(next[1], std::ranges::max_element(logits) - logits.begin());
  }
}

TEST_F(CApiTest, MistakesHaveAStatusAndAMessage) {
  EXPECT_EQ(load("nowhere"), MGE_BAD_FILE);
  EXPECT_THAT(mge_last_error(), HasSubstr("models/nowhere: there is no such model"));
  options_.sequences = 9;
  EXPECT_EQ(load("gpt2"), MGE_INVALID_ARGUMENT);
  EXPECT_THAT(mge_last_error(), HasSubstr("9 sequences"));
  options_.sequences = 1;
  options_.dtype = "f8";
  EXPECT_EQ(load("gpt2"), MGE_INVALID_ARGUMENT);
  EXPECT_THAT(mge_last_error(), HasSubstr("must be one of: f32, bf16, f16"));
  options_.dtype = "bf16";
  options_.way = "magic";
  EXPECT_EQ(load("gpt2"), MGE_INVALID_ARGUMENT);
  EXPECT_THAT(mge_last_error(), HasSubstr("must be one of: auto, graph, steps, reference"));
  options_.way = "graph";
  options_.device = "cpu";
  EXPECT_EQ(load("gpt2"), MGE_UNSUPPORTED);
  options_.way = "reference";
  EXPECT_EQ(load("gpt2"), MGE_INVALID_ARGUMENT);
  EXPECT_THAT(mge_last_error(), HasSubstr("uses no device, but the device 'cpu' is named"));
  options_.device = nullptr;
  options_.struct_size = 1;
  EXPECT_EQ(load("gpt2"), MGE_INVALID_ARGUMENT);
  EXPECT_EQ(mge_load(nullptr, nullptr, &model_), MGE_INVALID_ARGUMENT);
  EXPECT_EQ(model_, nullptr);
  options_.struct_size = sizeof(options_);
  ASSERT_EQ(load("gpt2"), MGE_OK);
  const std::int32_t token = 96;
  EXPECT_EQ(mge_step(model_, &token, 1), MGE_INVALID_ARGUMENT);
  EXPECT_THAT(mge_last_error(), HasSubstr("token 96 of sequence 0 is not below 96"));
  EXPECT_EQ(mge_step(nullptr, &token, 1), MGE_INVALID_ARGUMENT);
  EXPECT_EQ(mge_step(model_, nullptr, 1), MGE_INVALID_ARGUMENT);
  EXPECT_EQ(mge_set_position(model_, 33), MGE_INVALID_ARGUMENT);
  float logit = 0;
  EXPECT_EQ(mge_logits(model_, 0, &logit, 1), MGE_INVALID_ARGUMENT);
  EXPECT_THAT(mge_last_error(), HasSubstr("count is 1, but it must be 96"));
}

// Without a way, a device that is named is used.
TEST_F(CApiTest, ADeviceThatIsNotThereIsAnEnvironment) {
  for (const char* const way : {static_cast<const char*>(nullptr), "auto", "steps"}) {
    options_.way = way;
    options_.device = "63";
    EXPECT_EQ(load("gpt2"), MGE_ENVIRONMENT);
    EXPECT_THAT(mge_last_error(), HasSubstr("63"));
    options_.device = "nonsense";
    EXPECT_NE(load("gpt2"), MGE_OK);
    EXPECT_THAT(mge_last_error(), HasSubstr("nonsense"));
  }
}

TEST_F(CApiTest, NothingIsReadBeforeTheFirstStep) {
  ASSERT_EQ(load("gpt2"), MGE_OK) << mge_last_error();
  std::vector<float> logits(96);
  std::int32_t token = 1;
  EXPECT_EQ(mge_logits(model_, 0, logits.data(), 96), MGE_INVALID_ARGUMENT);
  EXPECT_THAT(mge_last_error(), HasSubstr("before the first step"));
  EXPECT_EQ(mge_next_tokens(model_, &token, 1), MGE_INVALID_ARGUMENT);
  EXPECT_EQ(mge_set_position(model_, 1), MGE_INVALID_ARGUMENT);
  EXPECT_THAT(mge_last_error(), HasSubstr("position 1 was not reached: the caches hold 0 tokens"));
  for (int i = 0; i < 3; ++i) ASSERT_EQ(mge_step(model_, &token, 1), MGE_OK);
  EXPECT_EQ(mge_set_position(model_, 1), MGE_OK);
  EXPECT_EQ(mge_set_position(model_, 3), MGE_OK);
  EXPECT_EQ(mge_set_position(model_, 0), MGE_OK);
  ASSERT_EQ(mge_step(model_, &token, 1), MGE_OK);
  EXPECT_EQ(mge_set_position(model_, 2), MGE_INVALID_ARGUMENT) << "a token of the old sequence";
  EXPECT_EQ(mge_logits(model_, 0, logits.data(), 96), MGE_OK);
}

}  // namespace
}  // namespace mgtune::engine
