#include "api/boundary.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>

namespace mgtune {
namespace {

// As version 2 of an options struct that had its first field alone in version 1.
struct Options {
  std::size_t struct_size;
  int first;
  int second;
};
constexpr std::size_t kFirstBytes = offsetof(Options, second);

TEST(ReadOptions, WhatAnOlderStructLacksIsZeroAndIsNotRead) {
  const Options older{kFirstBytes, 7, 77};
  const Result<Options> read = read_options(&older, kFirstBytes);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->first, 7);
  EXPECT_EQ(read->second, 0);
}

TEST(ReadOptions, NoStructIsSmallerThanTheFirstVersions) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kFirstBytes - 1}) {
    const Options options{size, 7, 0};
    const Status status = read_options(&options, kFirstBytes).status();
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << size;
    EXPECT_EQ(status.message(), "struct_size of the options is " + std::to_string(size) +
                                    "; it is sizeof the struct, at least " +
                                    std::to_string(kFirstBytes));
  }
}

TEST(ReadOptions, NothingMeansTheDefaults) {
  const Result<Options> read = read_options(static_cast<const Options*>(nullptr), kFirstBytes);
  EXPECT_EQ(read->first, 0);
}

TEST(Guarded, ExceptionsStopAtTheBoundary) {
  EXPECT_EQ(guarded([]() -> Status { throw std::bad_alloc(); }), MGR_OUT_OF_MEMORY);
  EXPECT_EQ(guarded([]() -> Status { throw std::runtime_error("thrown"); }), MGR_INTERNAL);
  EXPECT_STREQ(mgr_last_error(), "thrown");
  EXPECT_EQ(guarded([]() -> Status { return not_found("nothing"); }), MGR_NOT_FOUND);
  EXPECT_STREQ(mgr_last_error(), "nothing");
}

}  // namespace
}  // namespace mgtune
