// The five faults of tests/families/culprits on a real GPU: what each does to the process that runs
// it, and that the 59 variants beside them are measured as if nothing had been. Prints the tables.

#include "tests/helpers/culprits.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "tests/helpers/real_gpu.h"

namespace mgtune {
namespace {

class CulpritsOnGpu : public RealGpuTest {
 protected:
  const TestFolder cache_;
  MgtuneProgram mgtune_{cache_.path()};
};

TEST_F(CulpritsOnGpu, FiveOfSixtyFourFailAndNothingElseIsBlamed) {
  const Ended ended =
      mgtune_.run({"sweep", "--gpu", "0", "--kernel", kCulpritsFamily, "--budget", "64"});
  std::cout << ended << "\n"
            << mgtune_.run({"show", "failures"}).out << "\n"
            << mgtune_.run({"show", "variants"}).out;
  expect_culprits_alone(ended, mgtune_.database());
}

// What a crash or a hang leaves behind on the GPU would show in the times of those that come next,
// which are others in another order.
TEST_F(CulpritsOnGpu, WhoComesAfterACulpritIsNotSlower) {
  std::map<std::string, double> in_order, shuffled;
  for (const char* strategy : {"exhaustive", "random"}) {
    const std::string database = mgtune_.folder().file(std::string(strategy) + ".db");
    const Ended ended = mgtune_.run({"sweep", "--gpu", "0", "--kernel", kCulpritsFamily, "--budget",
                                     "64", "--strategy", strategy, "--db", database});
    expect_culprits_alone(ended, database);
    Result<Store> store = Store::open(database, Store::Mode::read_only);
    ASSERT_TRUE(store.ok()) << store.status().message();
    for (const OutcomeView& row : *store->outcomes()) {
      if (fault_of(row.variant) != "none" || !row.measurement) continue;
      (std::string(strategy) == "random" ? shuffled : in_order)[row.variant] =
          row.measurement->median_ns;
    }
  }
  std::vector<double> differences;
  for (const auto& [variant, ns] : in_order) {
    differences.push_back(std::abs(shuffled[variant] / ns - 1));
  }
  ASSERT_EQ(differences.size(), 59U);
  std::ranges::sort(differences);
  std::cout << "59 variants, measured once in each order: " << 100 * differences[29]
            << " % apart in the median, " << 100 * differences.back() << " % at most\n";
  EXPECT_LT(differences[29], 0.03);
  EXPECT_LT(differences.back(), 0.25);
}

}  // namespace
}  // namespace mgtune
