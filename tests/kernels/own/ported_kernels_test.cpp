// Kernels as they are written outside of mgtune, from the files of tests/families to the check of
// every variant on the cpu device.

#include <gtest/gtest.h>

#include <string>

#include "family/catalog.h"
#include "space/space.h"
#include "tests/helpers/all_variants.h"
#include "tests/helpers/kernels/checker_fixture.h"
#include "tests/helpers/replaced.h"
#include "tests/helpers/test_paths.h"

namespace mgtune {
namespace {

class PortedKernelsTest : public CheckerTest {
 protected:
  void use_family(const std::string& family) {
    Catalog catalog(FileSystem::real());
    const auto found = catalog.find(source_path("tests/families/" + family));
    ASSERT_TRUE(found.ok()) << found.status().message();
    op_ = std::make_unique<Operator>(*found.value().front());
    bind(op_->emulation_problems.front());
  }

  std::string first_rung() const {
    return variant_text(*op_, default_ladder(problem_.binding(), device_->info().limits).front());
  }

  // Checks every `step`-th admissible variant.
  int check_variants(std::size_t step) {
    int checked = 0;
    std::size_t index = 0;
    for (const Variant& variant : all_variants(Space(problem_, device_->info().limits))) {
      if (index++ % step != 0) continue;
      const std::string text = variant_text(*op_, variant);
      const CheckRecord record = check(text);
      EXPECT_EQ(record.outcome, Outcome::ok) << text << ": " << record.message;
      ++checked;
    }
    return checked;
  }
};

TEST_F(PortedKernelsTest, Convolution) {
  use_family("convolution");
  EXPECT_EQ(check_variants(25), 4);
}

TEST_F(PortedKernelsTest, PointsInAPolygon) {
  use_family("pnpoly");
  EXPECT_EQ(check_variants(6), 4);
}

// Otherwise the test above would pass with a kernel that reads zeros.
TEST_F(PortedKernelsTest, AConstantThatNobodyFillsIsNoticed) {
  use_family("convolution");
  op_->designs[0].constants.clear();
  expect_wrong(first_rung(), "output");
}

TEST_F(PortedKernelsTest, AConstantThatIsTooSmallIsRefusedWhenItIsLoaded) {
  use_family("pnpoly");
  SourceTree sources = *op_->sources;
  sources.files["pnpoly.cu"] =
      replaced(sources.files["pnpoly.cu"], "d_vertices[VERTICES]", "d_vertices[VERTICES - 1]");
  op_->sources = std::make_shared<const SourceTree>(std::move(sources));
  const Status status = load(first_rung()).status();
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_EQ(status.message(),
            "tensor 'polygon' does not fit into the constant d_vertices: it has 96 bytes, and the "
            "variable has 88");
}

}  // namespace
}  // namespace mgtune
