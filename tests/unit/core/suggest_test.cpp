#include <gtest/gtest.h>

#include <vector>

#include "core/text.h"

namespace mgtune {
namespace {

const std::vector<std::string> kWords = {"rmsnorm", "swiglu", "attention", "L4"};

TEST(Suggest, FindsEveryKindOfEdit) {
  const std::string expected = "; did you mean 'rmsnorm'?";
  EXPECT_EQ(did_you_mean("rmsnom", kWords), expected);    // one missing
  EXPECT_EQ(did_you_mean("rmssnorm", kWords), expected);  // one too many
  EXPECT_EQ(did_you_mean("rnsnorm", kWords), expected);   // one changed
  EXPECT_EQ(did_you_mean("rmsonrm", kWords), expected);   // neighbours swapped
}

TEST(Suggest, KeepsSilentWhenNothingIsNear) {
  EXPECT_EQ(did_you_mean("softmax", kWords), "");
  EXPECT_EQ(did_you_mean("", kWords), "");
  EXPECT_EQ(did_you_mean("rmsnorm", {}), "");
}

TEST(Suggest, ShortWordsMayDifferByOne) {
  EXPECT_EQ(did_you_mean("L44", kWords), "; did you mean 'L4'?");
  EXPECT_EQ(did_you_mean("K5", kWords), "");
}

TEST(Suggest, WhatMustBeOneOfAListIsListed) {
  const std::vector<std::string> words = {"html", "md"};
  EXPECT_EQ(must_be_one_of("htm", words), "; did you mean 'html'? It must be one of: html, md");
  EXPECT_EQ(must_be_one_of("pdf", words), "; it must be one of: html, md");
}

TEST(Suggest, TheNearestWinsAndTheFirstOfEquals) {
  const std::vector<std::string> words = {"hiddem", "hidden", "hiddex"};
  EXPECT_EQ(did_you_mean("hiddenn", words), "; did you mean 'hidden'?");
  EXPECT_EQ(did_you_mean("hiddet", words), "; did you mean 'hiddem'?");
}

}  // namespace
}  // namespace mgtune
