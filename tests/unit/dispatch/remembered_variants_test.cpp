#include "dispatch/remembered_variants.h"

#include <gtest/gtest.h>

#include <array>

namespace mgtune {
namespace {

std::uint64_t key_of(std::int64_t m, std::int64_t n, std::uintptr_t offset = 0) {
  const std::array<std::int64_t, 2> dims = {m, n};
  const std::array<void*, 3> tensors = {reinterpret_cast<void*>(4096),
                                        reinterpret_cast<void*>(8192 + offset), nullptr};
  return RememberedVariants::key(dims, tensors);
}

TEST(RememberedVariants, FindTheLatestVariantOfAShape) {
  RememberedVariants remembered;
  EXPECT_EQ(remembered.find(key_of(8, 16)), std::nullopt);
  remembered.remember(key_of(8, 16), 0);
  EXPECT_EQ(remembered.find(key_of(8, 16)), 0U);
  EXPECT_EQ(remembered.find(key_of(16, 8)), std::nullopt);
  remembered.remember(key_of(8, 16), 9);
  EXPECT_EQ(remembered.find(key_of(8, 16)), 9U);
}

TEST(RememberedVariants, KnowTheAlignmentOfThePointers) {
  RememberedVariants remembered;
  remembered.remember(key_of(8, 16, 4), 1);
  remembered.remember(key_of(8, 16), 2);
  EXPECT_EQ(remembered.find(key_of(8, 16, 4)), 1U);
  EXPECT_EQ(remembered.find(key_of(8, 16, 2)), std::nullopt);
  EXPECT_EQ(remembered.find(key_of(8, 16)), 2U);
  EXPECT_EQ(remembered.find(key_of(8, 16, 512)), 2U) << "256 bytes are enough";
}

// Every shape is found or forgotten, never mistaken for another one.
TEST(RememberedVariants, ForgetWhenOtherShapesCome) {
  RememberedVariants remembered;
  for (std::int64_t m = 0; m < 5000; ++m) remembered.remember(key_of(m, 1), std::size_t(m % 10));
  int found = 0;
  for (std::int64_t m = 0; m < 5000; ++m) {
    const auto variant = remembered.find(key_of(m, 1));
    if (!variant) continue;
    EXPECT_EQ(*variant, std::size_t(m % 10));
    ++found;
  }
  EXPECT_GT(found, 48) << "of 64 places";
}

}  // namespace
}  // namespace mgtune
