// The text of a typed header. tests/cli/cli_new_test compiles one and runs it.

#include "header/typed_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "family/catalog.h"

namespace mgtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(TypedHeaderTest, DimsAreAStructAndTensorsHaveTheTypesOfTheirElements) {
  Catalog catalog(FileSystem::real());
  const Result<std::vector<const Operator*>> operators = catalog.find("rmsnorm.forward");
  ASSERT_TRUE(operators.ok()) << operators.status().message();
  const Result<std::string> text =
      typed_header(*operators, "norm.h", "mgtune header rmsnorm.forward");
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_THAT(*text,
              AllOf(HasSubstr("#ifndef MGTUNE_NORM_H_"),
                    HasSubstr("int64_t x_stride MGR_DEFAULT(-1); /* -1: hidden */"),
                    HasSubstr("#define RMSNORM_FORWARD_DIMS_INIT {0, -1}"),
                    HasSubstr("bool with_rstd MGR_DEFAULT(false);"),
                    HasSubstr("rmsnorm_forward_bf16_f32_launch("), HasSubstr("const mgr_bf16_t* x"),
                    HasSubstr("std::span<const mgr_bf16_t> x"),
                    HasSubstr("mgr::typed::extent({all.rows, made.hidden}, {all.x_stride, 1})")));
}

}  // namespace
}  // namespace mgtune
