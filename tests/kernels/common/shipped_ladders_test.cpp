// The default ladders of all shipped operators are short: what is fast on one GPU alone belongs to
// rules and tuned tables, which are measured.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "family/catalog.h"
#include "system/file_system.h"

namespace mgtune {
namespace {

constexpr std::size_t kMostRungsOfADesign = 8;  // kernels/README.md

// Two ladders are longer. The dims of a product are known only at a launch, so no expression can
// choose its tile, and each tile needs a rung of its own. By the operator's own estimate of times,
// eight rungs cost 3 % of gemm.forward in the mean.
const std::map<std::string, std::size_t> kLongLadders = {{"gemm.forward wgmma", 21},
                                                         {"swiglu.gate_up wgmma", 9}};

TEST(ShippedLadders, HaveAtMostEightRungsADesignButForProducts) {
  Catalog catalog(FileSystem::real());
  std::size_t designs = 0;
  for (const std::string& family : Catalog::shipped_families()) {
    const auto operators = catalog.find(family);
    ASSERT_TRUE(operators.ok()) << operators.status().message();
    for (const Operator* op : *operators) {
      for (const Design& design : op->designs) {
        ++designs;
        const auto is_long = kLongLadders.find(op->full_name() + " " + design.name);
        if (is_long != kLongLadders.end()) {
          EXPECT_EQ(design.defaults.size(), is_long->second) << "change the list above";
          continue;
        }
        EXPECT_LE(design.defaults.size(), kMostRungsOfADesign)
            << op->full_name() << ": /designs/" << design.name << "/defaults";
      }
    }
  }
  EXPECT_GE(designs, 20U);
}

}  // namespace
}  // namespace mgtune
