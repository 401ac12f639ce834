// The default ladders of all shipped operators are short: what is fast on one GPU alone belongs to
// rules and tuned tables, which are measured.

#include <gtest/gtest.h>

#include <string>

#include "family/catalog.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

constexpr std::size_t kMostRungsOfADesign = 8;  // kernels/README.md

TEST(ShippedLadders, HaveAtMostEightRungsADesign) {
  Catalog catalog(FileSystem::real());
  std::size_t designs = 0;
  for (const std::string& family : Catalog::shipped_families()) {
    const auto operators = catalog.find(family);
    ASSERT_TRUE(operators.ok()) << operators.status().message();
    for (const Operator* op : *operators) {
      for (const Design& design : op->designs) {
        ++designs;
        EXPECT_LE(design.defaults.size(), kMostRungsOfADesign)
            << op->full_name() << ": /designs/" << design.name << "/defaults";
      }
    }
  }
  EXPECT_GE(designs, 20U);
}

}  // namespace
}  // namespace mgtune
