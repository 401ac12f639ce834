#include "core/status.h"

#include <gtest/gtest.h>

#include <set>

namespace mgtune {
namespace {

TEST(Status, OkHasNoMessageAndOneWord) {
  const Status ok;
  EXPECT_TRUE(ok.ok());
  EXPECT_EQ(ok.code(), StatusCode::ok);
  EXPECT_EQ(ok.message(), "");
  EXPECT_EQ(sizeof(Status), sizeof(void*));
}

TEST(Status, CopyIsIndependent) {
  Status first = io_error("disk full");
  const Status second = first;
  first = Status();
  EXPECT_TRUE(first.ok());
  EXPECT_EQ(second.code(), StatusCode::io);
  EXPECT_EQ(second.message(), "disk full");
}

TEST(Status, AssignmentToItselfKeepsIt) {
  Status status = corrupt("x");
  const Status& same = status;
  status = same;
  EXPECT_EQ(status.message(), "x");
}

TEST(Status, ContextGoesInFront) {
  const Status status = not_found("no such file").with_context("a.json");
  EXPECT_EQ(status.code(), StatusCode::not_found);
  EXPECT_EQ(status.message(), "a.json: no such file");
  EXPECT_TRUE(Status().with_context("a.json").ok());
}

TEST(Status, EveryCodeHasItsOwnWord) {
  std::set<std::string_view> words;
  for (int code = 0; code <= static_cast<int>(StatusCode::internal); ++code) {
    words.insert(to_string(static_cast<StatusCode>(code)));
  }
  EXPECT_EQ(words.size(), static_cast<std::size_t>(StatusCode::internal) + 1);
  EXPECT_FALSE(words.contains("unknown"));
}

Result<int> half(int number) {
  if (number % 2 != 0) return invalid_argument("odd");
  return number / 2;
}

Result<int> quarter(int number) {
  MGTUNE_ASSIGN(const int once, half(number));
  MGTUNE_ASSIGN(const int twice, half(once));
  return twice;
}

Status is_even(int number) {
  MGTUNE_TRY(half(number).status());
  return {};
}

TEST(Result, HoldsAValueOrTheReasonThereIsNone) {
  EXPECT_EQ(*half(8), 4);
  EXPECT_TRUE(half(8).status().ok());
  EXPECT_EQ(half(7).status().message(), "odd");
}

TEST(Result, MacrosReturnTheFirstFailure) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).status().message(), "odd");
  EXPECT_TRUE(is_even(2).ok());
  EXPECT_EQ(is_even(3).code(), StatusCode::invalid_argument);
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
}

}  // namespace
}  // namespace mgtune
