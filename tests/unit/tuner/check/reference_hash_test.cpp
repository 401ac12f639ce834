#include <gtest/gtest.h>

#include "tests/helpers/kernels/checker_fixture.h"

namespace mgtune {
namespace {

std::string hash_with(const std::string& from, const std::string& to) {
  std::map<std::string, std::string> files{
      {"scale.json", kScaleJson}, {"scale.cu", kScaleSource}, {"reference.cu", kScaleReference}};
  for (auto& [path, text] : files) {
    const std::size_t place = text.find(from);
    if (place != std::string::npos) text.replace(place, from.size(), to);
  }
  const Result<Operator> op = decode_planted("scale", files);
  EXPECT_TRUE(op.ok()) << op.status().message();
  return op.ok() ? reference_hash(*op) : "";
}

TEST(ReferenceHash, ChangesWithWhatACheckComparesAndWithNothingElse) {
  const std::string before = hash_with("", "");
  EXPECT_EQ(before.size(), 64U);
  EXPECT_EQ(hash_with("", ""), before);
  EXPECT_EQ(hash_with("float value = tile", "float  value = tile"), before);  // a variant's source
  EXPECT_NE(hash_with("double total = 0;", "double total = 1;"), before);
  EXPECT_NE(hash_with("\"f16\": 1e-3", "\"f16\": 2e-3"), before);
  EXPECT_NE(hash_with("\"fill\": \"normal\"", "\"fill\": \"uniform(0, 1)\""), before);
  EXPECT_NE(hash_with("\"check\": 3.0", "\"check\": 4.0"), before);
}

}  // namespace
}  // namespace mgtune
