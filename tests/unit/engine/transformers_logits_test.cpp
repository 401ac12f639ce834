// Tiny models of every family: the logits are those of PyTorch's transformers.

#include <gtest/gtest.h>

#include "tests/helpers/engine_models.h"

namespace mgtune::engine {
namespace {

class TransformersLogitsTest : public ::testing::TestWithParam<const char*> {
 protected:
  double difference(SessionOptions options) {
    options.rows = 2;
    Session session = test_session(GetParam(), options);
    return largest_difference(session, expected_logits(GetParam()));
  }
};

TEST_P(TransformersLogitsTest, InFloat) { EXPECT_LT(difference({}), 1e-5); }

TEST_P(TransformersLogitsTest, WithNormsOfTheirOwnInThreeQueues) {
  SessionOptions options;
  options.fuse_norms = false;
  options.queues = 3;
  EXPECT_LT(difference(options), 1e-5);
}

// That the test finds a wrong model: logits are a few units large, and bf16 has three digits.
TEST_P(TransformersLogitsTest, RoundedToBf16TheyAreOnlyNear) {
  SessionOptions options;
  options.precision = {DType::bf16, DType::bf16, DType::f32, DType::bf16};
  const double rounded = difference(options);
  EXPECT_GT(rounded, 1e-3);
  EXPECT_LT(rounded, 0.5);
}

INSTANTIATE_TEST_SUITE_P(Models, TransformersLogitsTest,
                         ::testing::Values("gpt2", "llama", "mistral", "qwen2"));

}  // namespace
}  // namespace mgtune::engine
