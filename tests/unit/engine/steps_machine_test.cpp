// The way `steps` on the cpu device: each instruction is one launch of a kernel. It gives the
// tokens of the reference, the logits of PyTorch's transformers, and says where a kernel differs.

#include "steps/steps_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "tests/helpers/engine_models.h"
#include "tests/helpers/environment_variable.h"
#include "tests/helpers/test_folder.h"

namespace mgtune::engine {
namespace {

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

  static SessionOptions on_cpu(SessionOptions options) {
    options.machine = [](std::span<const Program> programs,
                         std::vector<std::byte> weights) -> Result<std::unique_ptr<Machine>> {
      MGTUNE_ASSIGN(auto machine, StepsMachine::create(programs, std::move(weights), {"cpu"}));
      return std::unique_ptr<Machine>(std::move(machine));
    };
    return options;
  }
  static StepsMachine& steps_of(Session& session) {
    return static_cast<StepsMachine&>(session.machine());
  }

  // Beginning with the token 1, which begins all texts of stories260K.
  static std::vector<std::int32_t> generate(Session& session, int count) {
    std::vector<std::int32_t> tokens = {1};
    while (static_cast<int>(tokens.size()) <= count) {
      const Status status = session.step(std::span(&tokens.back(), 1));
      EXPECT_TRUE(status.ok()) << status.message();
      tokens.push_back(must(session.next_tokens())[0]);
    }
    return tokens;
  }

  static inline std::unique_ptr<TestFolder> folder_;
  static inline std::optional<Variable> cache_, database_;
};

TEST_F(StepsMachineTest, GivesTheTokensOfTheReference) {
  Session reference = test_session("stories260K", {});
  Session steps = test_session("stories260K", on_cpu({}));
  EXPECT_EQ(steps_of(steps).host_count(), 0U);
  EXPECT_EQ(generate(steps, 40), generate(reference, 40));
}

}  // namespace
}  // namespace mgtune::engine
