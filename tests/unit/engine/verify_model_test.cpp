// verify_model() compares in every precision, and finds a machine that computes something else.

#include "verify/verify_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>

#include "reference/reference_machine.h"
#include "steps/steps_machine.h"
#include "tests/helpers/engine_models.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/test_folder.h"

namespace mgtune::engine {
namespace {

// A way whose weights are wrong: half of a matrix of each layer is zero.
MachineFactory with_wrong_weights(const MachineFactory& right) {
  return [right](std::span<const Program> programs, std::vector<std::byte> weights) {
    for (const Buffer& buffer : programs[0].buffers) {
      if (buffer.kind != BufferKind::weight || !buffer.name.ends_with("down.weight")) continue;
      const std::uint64_t half = *size_in_bytes(buffer) / 2;
      std::memset(weights.data() + buffer.base, 0, half);
    }
    return right(programs, std::move(weights));
  };
}

class VerifyModelTest : public ::testing::Test {
 protected:
  static Verification verify(const std::string& model, DType dtype, const MachineFactory& machine,
                             const MachineFactory& witness = {}) {
    const ModelSource source = must(open_model(model_path(model)));
    SessionOptions options;
    options.precision = {dtype, dtype, DType::f32, dtype};
    options.machine = machine;
    return must(verify_model(source.config, source.tensors, options, 8, witness));
  }

  const TestFolder folder_;
  const Variable cache_{"MGTUNE_CACHE_DIR", folder_.file("cache")};
  const Variable database_{"MGTUNE_DB", folder_.file("results.db")};
};

TEST_F(VerifyModelTest, AcceptsRoundingInEveryPrecision) {
  for (const char* const model : {"gpt2", "llama", "mistral", "qwen2", "stories260K"}) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const Verification result = verify(model, dtype, ReferenceMachine::create);
      EXPECT_TRUE(result.is_good(dtype)) << model << ' ' << to_string(dtype);
      EXPECT_LT(result.error(), acceptable_logit_error(dtype) / 2);
      EXPECT_EQ(result.compared_buffers, 0U);
    }
  }
}

TEST_F(VerifyModelTest, FindsWrongWeightsInEveryPrecision) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Verification result =
        verify("llama", dtype, with_wrong_weights(ReferenceMachine::create));
    EXPECT_FALSE(result.is_good(dtype)) << to_string(dtype);
    EXPECT_EQ(result.not_finite, "");
  }
}

// The way graph is compared with the way steps. Here the way steps stands for both.
TEST_F(VerifyModelTest, TheWitnessComparesInstructionsAndBits) {
  const MachineFactory steps = steps_factory({"cpu"});
  const Verification same = verify("gpt2", DType::f32, steps, steps);
  EXPECT_TRUE(same.is_good(DType::f32));
  EXPECT_TRUE(same.has_bits_of_steps.value());
  EXPECT_GT(same.compared_buffers, 0U);
  // In f32 the sums of a kernel have another order than those of the reference.
  const Verification other = verify("gpt2", DType::f32, ReferenceMachine::create, steps);
  EXPECT_FALSE(other.has_bits_of_steps.value());
  EXPECT_FALSE(other.is_good(DType::f32));
  EXPECT_GT(other.compared_buffers, 0U);
}

// The caches have 32 positions: the last of them is for the step whose instructions are compared.
TEST_F(VerifyModelTest, ComparesInstructionsWhereTheCachesEnd) {
  const ModelSource source = must(open_model(model_path("gpt2")));
  SessionOptions options;
  options.machine = steps_factory({"cpu"});
  const Verification result = must(verify_model(source.config, source.tensors, options, 32));
  EXPECT_EQ(result.steps, 31U);
  EXPECT_GT(result.compared_buffers, 0U);
}

}  // namespace
}  // namespace mgtune::engine
